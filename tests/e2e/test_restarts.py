"""Everything is killed in turn while 500 pods roll out; in the end all is as it should be."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kubestow.live.admission import handlers, manifests
from kubestow.live.stores import decisions, engines
from kubestow.live.stores.containers import ContainerKey
from kubestow.policies.placing import catalogs, extender_configurations
from testenv import authorities, clusters, commands, nodes, workloads
from testenv.processes import Process
from testenv.prometheus_servers import free_port
from tests.live.admission import make

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

REPLICAS, LATER, NODES = 500, 100, 20
LEARNED = {"cpu": "20m", "memory": "40M"}
ASKED = {"cpu": "50m", "memory": "64Mi"}
OFFER = {"cpu": "16", "memory": "32Gi", "pods": "110"}
_REMIND_S = 5.0  # longer than it takes to start what is placed
_SETTLE_S = 2.0  # around an outage in which a pod may have been placed without us


@dataclass(slots=True)
class Outages:
    """When one of our servers was away, in seconds since the epoch."""

    found: list[tuple[float, float]] = field(default_factory=list)

    def touches(self, time_s: float) -> bool:
        """Tell whether a time lies in an outage, or close to one."""
        return any(low - _SETTLE_S <= time_s <= high + _SETTLE_S for low, high in self.found)


@pytest.fixture
def webhook(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path, tmp_path: Path
) -> Iterator[tuple[Process, str, str]]:
    """Run a webhook that gives pods of this namespace what was learned."""
    merge = "application/merge-patch+json"
    labels = {"metadata": {"labels": {"kubestow.io/managed": "true"}}}
    cluster.request("PATCH", f"/api/v1/namespaces/{namespace}", labels, content=merge)
    store = f"sqlite:///{tmp_path}/admission.db"
    make.keep(store, ContainerKey(namespace, "id", "web", "main"), **LEARNED)
    authority = authorities.Authority(tmp_path / "webhook", "webhook-ca")
    pair, port = authority.server("webhook", ("127.0.0.1",)), free_port()
    name = f"kubestow-{namespace}"
    configuration = manifests.webhook_configuration(name, "kubestow-system", "web")
    for each in configuration["webhooks"]:
        url = f"https://127.0.0.1:{port}{handlers.PATH}"
        each["clientConfig"] = {"url": url, "caBundle": authority.bundle()}
    base = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    files = ("--certificates=files", str(pair.certificate), str(pair.key))
    options = (f"--store={store}", *files, f"--kubeconfig={kubeconfig}")
    with commands.serve(tmp_path, "admission", *options, port=port, tls=True) as (process, url):
        cluster.request("POST", base, configuration)
        try:
            yield process, url, store
        finally:
            cluster.request("DELETE", f"{base}/{name}")


@pytest.fixture
def extender(
    cluster: clusters.Cluster, kubeconfig: Path, tmp_path: Path
) -> Iterator[tuple[Process, str, str]]:
    """Run an extender that the scheduler asks."""
    store = f"sqlite:///{tmp_path}/extender.db"
    options = ("--term=clbp", f"--kubeconfig={kubeconfig}", "--loads-every=0s", f"--store={store}")
    with commands.serve(tmp_path, "extender", *options) as (process, url):
        cluster.configure_scheduler(extender_configurations.write(catalogs.profile("clbp"), url))
        yield process, url, store
    cluster.configure_scheduler({})


def _kill_ours(process: Process, url: str, outages: Outages) -> None:
    began_s = time.time()
    process.kill()
    time.sleep(0.5)
    process.start()
    process.wait_until(commands.is_ready(url), 60.0)
    outages.found.append((began_s, time.time()))


def _kill_theirs(cluster: clusters.Cluster, name: str, outages: Outages) -> None:
    began_s = time.time()
    cluster.processes[name].kill()
    time.sleep(0.3)
    if name in (clusters.API, clusters.ETCD):
        cluster.restart_api()
        outages.found.append((began_s, time.time()))
    else:
        cluster.processes[name].start()


def _pods(cluster: clusters.Cluster, namespace: str) -> list[dict[str, Any]]:
    with contextlib.suppress(RuntimeError):
        return workloads.pods(cluster, namespace)
    return []


def _wait_until_all_run(
    cluster: clusters.Cluster, namespace: str, wanted: int, seconds: float
) -> None:
    until, remind_s = time.monotonic() + seconds, time.monotonic() + _REMIND_S
    while True:
        found = _pods(cluster, namespace)
        states = Counter((pod["status"].get("phase"), "nodeName" in pod["spec"]) for pod in found)
        if states == {("Running", True): wanted}:
            return
        assert time.monotonic() < until, f"pods by phase, and whether they have a node: {states}"
        if time.monotonic() > remind_s:
            workloads.remind_kubelets(cluster, found)
            remind_s = time.monotonic() + _REMIND_S
        time.sleep(0.5)


def _scheduled_s(pod: dict[str, Any]) -> float:
    (condition,) = (c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled")
    return dt.datetime.fromisoformat(condition["lastTransitionTime"]).timestamp()


def _created_s(pod: dict[str, Any]) -> float:
    return dt.datetime.fromisoformat(pod["metadata"]["creationTimestamp"]).timestamp()


def test_a_rollout_converges_while_everything_is_killed_in_turn(
    cluster: clusters.Cluster,
    namespace: str,
    webhook: tuple[Process, str, str],
    extender: tuple[Process, str, str],
) -> None:
    nodes.make(cluster, [nodes.document(f"node{i}", OFFER) for i in range(NODES)])
    labels = {"kubestow.io/managed": "true", "kubestow.io/id": "web"}
    deployment = workloads.deployment("web", REPLICAS, ASKED, labels=labels)
    workloads.create(cluster, namespace, deployment)
    no_webhook, no_extender = Outages(), Outages()
    clusters.wait_for(lambda: len(_pods(cluster, namespace)) > 20, 60.0)
    _kill_ours(extender[0], extender[1], no_extender)
    _kill_theirs(cluster, clusters.API, no_webhook)
    _kill_ours(webhook[0], webhook[1], no_webhook)
    # Not KWOK: a new one does not take over nodes whose leases its predecessor holds.
    for name in (clusters.SCHEDULER, clusters.CONTROLLERS, clusters.ETCD):
        _kill_theirs(cluster, name, no_webhook)
    _wait_until_all_run(cluster, namespace, REPLICAS, 180.0)
    # A second wave after the last restart: everybody has to be at work again.
    workloads.create(cluster, namespace, workloads.deployment("more", LATER, ASKED, labels=labels))
    _kill_ours(extender[0], extender[1], no_extender)
    _wait_until_all_run(cluster, namespace, REPLICAS + LATER, 120.0)

    found = _pods(cluster, namespace)
    assert len({pod["metadata"]["uid"] for pod in found}) == REPLICAS + LATER
    assert all(c["restartCount"] == 0 for p in found for c in p["status"]["containerStatuses"])
    _check_changes(found, no_webhook)
    extender[0].stop()  # writes what waits
    _check_records(found, namespace, extender[2], no_extender)


def _check_changes(found: list[dict[str, Any]], outages: Outages) -> None:
    """No pod was changed twice, and none is unchanged that was made while the webhook was there."""
    for pod in found:
        requested = pod["spec"]["containers"][0]["resources"]["requests"]
        if requested != LEARNED:
            assert requested == ASKED
            assert outages.touches(_created_s(pod)), pod["metadata"]["name"]


def _check_records(
    found: list[dict[str, Any]], namespace: str, store: str, outages: Outages
) -> None:
    """Every pod that was placed while the extender was there has its record."""
    placed = Counter(pod["spec"]["nodeName"] for pod in found)
    assert sum(placed.values()) == REPLICAS + LATER
    missing = 0
    with engines.open_store(store) as opened:
        for pod in found:
            records = decisions.newest(opened, f"pod/{namespace}/{pod['metadata']['name']}")
            if not records:
                missing += 1
                assert outages.touches(_scheduled_s(pod)), pod["metadata"]["name"]
    assert missing < REPLICAS + LATER
