"""The extender with the real kube-scheduler: the experiment of Shi 2023 (5.3), faults, records."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubestow.live.stores import decisions, engines
from kubestow.model.decisions import DecisionRecord
from kubestow.policies.placing import extender_configuration
from kubestow.policies.placing.profiles import catalog
from testenv import clusters, commands, nodes, resource_metrics, workloads

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

NETWORK, DISK = "kubestow.io/network", "kubestow.io/disk-io"
# Table 5.1: 4 cores, 8 GB, 30 Mbit/s, 120 MB/s, 100 GB.
OFFER = {
    "cpu": "4",
    "memory": "8Gi",
    "pods": "110",
    NETWORK: "30M",
    DISK: "120M",
    "ephemeral-storage": "100Gi",
}
# Table 5.8, with memory and disk as the digest of the thesis worked them out.
_MORE = {"memory": "400M", "ephemeral-storage": "4500M"}
COMPUTE = {"cpu": "600m", NETWORK: "2M", DISK: "10M", **_MORE}
NETWORKED = {"cpu": "200m", NETWORK: "5M", DISK: "10M", **_MORE}
WRITING = {"cpu": "200m", NETWORK: "2M", DISK: "20M", **_MORE}
UNITS = {"cpu": 4000.0, NETWORK: 30e6, DISK: 120e6}
AMOUNTS = {
    "compute": {"cpu": 600.0, NETWORK: 2e6, DISK: 10e6},
    "network": {"cpu": 200.0, NETWORK: 5e6, DISK: 10e6},
    "disk": {"cpu": 200.0, NETWORK: 2e6, DISK: 20e6},
}
PODS = [
    *(workloads.pod(f"compute-{i}", COMPUTE) for i in range(5)),
    *(workloads.pod(f"network-{i}", NETWORKED) for i in range(5)),
    *(workloads.pod(f"disk-{i}", WRITING) for i in range(5)),
]
# The placement with the least sum of deviations (digest of the thesis, 5.3), in percent.
LEAST = {"cpu": 4.72, NETWORK: 4.72, DISK: 3.93}


@pytest.fixture
def stock(cluster: clusters.Cluster) -> Iterator[None]:
    """Give the scheduler its own configuration back."""
    yield
    cluster.configure_scheduler({})


def _extend(
    cluster: clusters.Cluster, term: str, url: str, decision: str = catalog.SHORTLIST
) -> None:
    profile = catalog.profile_of_term(term, decision)
    cluster.configure_scheduler(extender_configuration.write_extender_configuration(profile, url))


def _deviations(placed: dict[str, str]) -> dict[str, float]:
    """Return the standard deviation over the three nodes of what is requested, in percent."""
    loads: dict[str, dict[str, float]] = {f"node{i}": dict.fromkeys(UNITS, 0.0) for i in (1, 2, 3)}
    for name, node in placed.items():
        for resource, amount in AMOUNTS[name.split("-")[0]].items():
            loads[node][resource] += 100.0 * amount / UNITS[resource]
    return {
        resource: statistics.pstdev(load[resource] for load in loads.values()) for resource in UNITS
    }


def _experiment(
    cluster: clusters.Cluster, namespace: str, url: str, pods: list[Any]
) -> dict[str, float]:
    nodes.make(cluster, [nodes.document(f"node{i}", OFFER) for i in (1, 2, 3)])
    clusters.wait_for(lambda: "kubestow_extender_nodes 3.0" in _metrics(url), 30.0)
    workloads.create(cluster, namespace, *pods)
    workloads.wait_until_placed(cluster, namespace, len(pods))
    return _deviations(workloads.placed(cluster, namespace))


def _metrics(url: str) -> str:
    return httpx.get(f"{url}/metrics", trust_env=False).text


def _records(store: str, subject: str) -> tuple[DecisionRecord, ...]:
    opened = engines.open_store(store)
    try:
        return decisions.newest_decisions(opened, subject)
    finally:
        opened.close()


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("decision", catalog.DECISIONS)
@pytest.mark.parametrize("burst", [0, 1])
def test_clbp_reaches_the_least_deviations_of_the_experiment(
    cluster: clusters.Cluster,
    namespace: str,
    kubeconfig: Path,
    tmp_path: Path,
    burst: int,
    decision: str,
) -> None:
    options = ["--term=clbp", f"--kubeconfig={kubeconfig}", "--loads-every=0s"]
    options.append(f"--decision={decision}")
    with commands.serve(tmp_path, "extender", *options) as (_, url):
        _extend(cluster, "clbp", url, decision)
        actual = _experiment(cluster, namespace, url, PODS)
    assert all(actual[resource] <= most for resource, most in LEAST.items()), (burst, actual)


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("term", ["clbp", "vector-dot", "adaptive"])
def test_terms_place_shuffled_pods_through_the_real_scheduler(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path, tmp_path: Path, term: str
) -> None:
    shuffled = random.Random(1).sample(PODS, len(PODS))
    store = f"sqlite:///{tmp_path / 'store.db'}"
    options = (f"--term={term}", f"--kubeconfig={kubeconfig}", "--loads-every=0s", "--store", store)
    with commands.serve(tmp_path, "extender", *options) as (_, url):
        _extend(cluster, term, url)
        _experiment(cluster, namespace, url, shuffled)
    # No decision without a record, and the record says where the pod went.
    for name, node in workloads.placed(cluster, namespace).items():
        (record,) = _records(store, f"pod/{namespace}/{name}")
        assert (record.kind, record.policy) == ("placing", term)
        assert node in {candidate.name for candidate in record.candidates}


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("term", ["clbp", "load-aware"])
def test_load_that_requests_do_not_tell_of_is_seen_through_metrics(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path, tmp_path: Path, term: str
) -> None:
    nodes.make(cluster, [nodes.document(f"node{i}", OFFER) for i in (1, 2, 3)])
    options = (f"--term={term}", f"--kubeconfig={kubeconfig}", "--loads-every=1s")
    made = [workloads.pod(f"web-{i}", {"cpu": "300m", "memory": "100M"}) for i in range(6)]
    with resource_metrics.serve(cluster) as metrics:
        metrics.set_node("node1", 2200, 2**30)  # 55 % of 4 cores, and nothing requested
        metrics.set_node("node2", 200, 2**30)
        metrics.set_node("node3", 200, 2**30)
        with commands.serve(tmp_path, "extender", *options) as (_, url):
            read = 'kubestow_extender_load_reads_total{result="read"}'
            clusters.wait_for(lambda: read in _metrics(url), 30.0)
            _extend(cluster, term, url)
            workloads.create(cluster, namespace, *made)
            workloads.wait_until_placed(cluster, namespace, len(made))
            actual = sorted(workloads.placed(cluster, namespace).values())
        workloads.remove_pods(cluster, namespace)
        cluster.configure_scheduler({})
        workloads.create(cluster, namespace, *made)
        workloads.wait_until_placed(cluster, namespace, len(made))
    # Six pods of 7.5 % on two nodes at 5 % end far below the one at 55 %.
    assert actual == ["node2"] * 3 + ["node3"] * 3
    # By requests alone all nodes are equal.
    stock = sorted(workloads.placed(cluster, namespace).values())
    assert stock == ["node1"] * 2 + ["node2"] * 2 + ["node3"] * 2


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize(
    ("used_m", "expected"), [(200, "node5"), (2200, "elsewhere")], ids=["idle", "busy"]
)
def test_a_wish_counts_between_nodes_that_are_about_as_good(
    cluster: clusters.Cluster,
    namespace: str,
    kubeconfig: Path,
    tmp_path: Path,
    used_m: int,
    expected: str,
) -> None:
    names = [f"node{i}" for i in range(6)]
    nodes.make(cluster, [nodes.document(name, OFFER) for name in names])
    wish = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["node5"]}
    preferred = [{"weight": 1, "preference": {"matchExpressions": [wish]}}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    pod = workloads.pod("picky", {"cpu": "100m", "memory": "100M"}, affinity=affinity)
    options = ("--term=load-aware", f"--kubeconfig={kubeconfig}", "--loads-every=1s")
    with resource_metrics.serve(cluster) as metrics:
        for name in names:
            metrics.set_node(name, used_m if name == "node5" else 200, 2**30)
        with commands.serve(tmp_path, "extender", *options) as (_, url):
            read = 'kubestow_extender_load_reads_total{result="read"}'
            clusters.wait_for(lambda: read in _metrics(url), 30.0)
            _extend(cluster, "load-aware", url)
            workloads.create(cluster, namespace, pod)
            workloads.wait_until_placed(cluster, namespace, 1)
    (actual,) = workloads.placed(cluster, namespace).values()
    assert (actual == "node5") is (expected == "node5")


@pytest.mark.usefixtures("stock")
def test_scheduling_goes_on_while_the_extender_is_dead_and_after_its_return(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    options = ("--term=clbp", f"--kubeconfig={kubeconfig}", "--loads-every=0s")
    nodes.make(cluster, [nodes.document(f"node{i}", OFFER) for i in (1, 2, 3)])
    with commands.serve(tmp_path, "extender", *options) as (process, url):
        _extend(cluster, "clbp", url)
        workloads.create(cluster, namespace, *PODS[:5])
        workloads.wait_until_placed(cluster, namespace, 5)
        process.kill()
        workloads.create(cluster, namespace, *PODS[5:10])
        workloads.wait_until_placed(cluster, namespace, 10)
        process.start()
        process.wait_until(commands.is_ready(url), 60.0)
        workloads.create(cluster, namespace, *PODS[10:])
        workloads.wait_until_placed(cluster, namespace, 15)
        counted = _metrics(url)
    assert 'kubestow_extender_calls_total{outcome="answered",verb="filter"} 5.0' in counted


@pytest.mark.usefixtures("stock")
def test_full_nodes_are_refused_with_a_reason_that_kubectl_shows(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    options = ("--term=clbp", f"--kubeconfig={kubeconfig}", "--loads-every=0s")
    nodes.make(cluster, [nodes.document("node1", OFFER)])
    with commands.serve(tmp_path, "extender", *options) as (_, url):
        _extend(cluster, "clbp", url)
        # 3.2 of 4 cores are 80 %, and equality does not pass.
        workloads.create(cluster, namespace, workloads.pod("full", {"cpu": "3200m"}))
        events = f"/api/v1/namespaces/{namespace}/events"

        def refused() -> bool:
            actual = cluster.request("GET", events)["items"]
            return any("cpu would be at 80.0%" in event["message"] for event in actual)

        clusters.wait_for(refused, 30.0)


@pytest.mark.usefixtures("stock")
def test_pods_can_be_bound_by_the_extender(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path, tmp_path: Path
) -> None:
    options = ("--term=clbp", f"--kubeconfig={kubeconfig}", "--loads-every=0s", "--bind")
    nodes.make(cluster, [nodes.document(f"node{i}", OFFER) for i in (1, 2)])
    with commands.serve(tmp_path, "extender", *options) as (_, url):
        configuration = extender_configuration.write_extender_configuration(
            catalog.profile_of_term("clbp", catalog.SHORTLIST), url
        )
        configuration["extenders"][0]["bindVerb"] = "bind"
        cluster.configure_scheduler(configuration)
        workloads.create(cluster, namespace, *PODS[:3])
        workloads.wait_until_placed(cluster, namespace, 3)
        counted = _metrics(url)
    assert 'kubestow_extender_calls_total{outcome="answered",verb="bind"} 3.0' in counted
