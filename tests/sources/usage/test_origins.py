"""Usage from a server of several clusters, from pairs of servers and from repeated scrapes.

Every case is a namespace of its own in one real Prometheus. Its counters rise by 0.4 cores, so that
anything that is added up shows as 0.8; its working sets are 100 MiB, of another cluster 900 MiB.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from kubestow.model import usage
from kubestow.model.usage import Usage
from kubestow.sources import prometheus as sources
from kubestow.sources.prometheus import Matcher, PrometheusClient, PrometheusSettings
from kubestow.sources.prometheus.origins import REPLICAS, SeveralClustersError, list_values
from kubestow.sources.usage import UsageQuery, read_prometheus_usage
from testenv import prometheus_servers

BEGIN_S, STEP_S, SCRAPE_S, SCRAPES = 1_760_000_100, 300, 75, 48
END_S = BEGIN_S + SCRAPES * SCRAPE_S
MIB = 2**20
CPU, MEMORY = "container_cpu_usage_seconds_total", "container_memory_working_set_bytes"


def container(
    namespace: str, labels: str, *, pod: str = "web-0", mib: int = 100, shift_s: int = 0
) -> list[str]:
    """Return the samples of one container: 0.4 cores, and some MiB."""
    given = f'namespace="{namespace}",pod="{pod}",container="app",{labels}'
    lines = []
    for number in range(SCRAPES):
        at = BEGIN_S + 1 + shift_s + number * SCRAPE_S
        lines.append(f"{CPU}{{{given}}} {0.4 * (at - BEGIN_S)!r} {at}")
        lines.append(f"{MEMORY}{{{given}}} {mib * MIB} {at}")
    return lines


def owner(namespace: str, labels: str = "", pod: str = "web-0") -> list[str]:
    given = f'namespace="{namespace}",pod="{pod}",owner_kind="StatefulSet",owner_name="web"'
    return [f"kube_pod_owner{{{given}{labels}}} 1 {END_S - 60}"]


def nodes() -> list[str]:
    sizes = {"prod": 8, "staging": 2}
    return [
        f'kube_node_status_allocatable{{cluster="{cluster}",node="n1",resource="{name}"}} {amount} '
        f"{END_S - 60}"
        for cluster, cpu in sizes.items()
        for name, amount in (("cpu", cpu), ("memory", 2**34))
    ]


def samples() -> str:
    same, other = 'id="/pod1/a",name="a"', 'id="/pod2/b",name="b"'
    lines = nodes()
    lines += container("clusters", f'{same},cluster="prod"')
    lines += container("clusters", f'{other},cluster="staging"', mib=900)
    lines += container("hashed", f'{same},cluster="prod"', pod="web-6f-x")
    lines += container("hashed", f'{other},cluster="staging"', pod="web-7c-y", mib=900)
    lines += container("half", f'{same},cluster="prod"') + container("half", other, mib=900)
    for label in REPLICAS:
        lines += container(f"pair{REPLICAS.index(label)}", f'{same},{label}="a"')
        lines += container(f"pair{REPLICAS.index(label)}", f'{same},{label}="b"', shift_s=9)
    lines += container("bare-pair", 'replica="a"') + container("bare-pair", 'replica="b"')
    lines += container("jobs", f'{same},job="kubelet",metrics_path="/metrics/cadvisor"')
    lines += container("jobs", f'{same},job="cadvisor",endpoint="https"', shift_s=5)
    lines += container("monitor", f'{same},monitor="a"') + container(
        "monitor", f'{same},monitor="b"'
    )
    lines += container("stage", f'{same},stage="a"') + container("stage", f'{other},stage="b"')
    lines += container("bare-stage", 'stage="a"') + container("bare-stage", 'stage="b"')
    lines += container("external", f'{same},dc="a"', pod="web-0")
    lines += container("external", f'{other},dc="b"', pod="web-1")
    lines += owner("external", ',dc="a"') + owner("external", ',dc="b"', "web-1")
    lines += container("pools", f'{same},pool="a"', pod="web-0") + owner("pools")
    lines += container("pools", f'{other},pool="b"', pod="web-1") + owner("pools", "", "web-1")
    lines += container("restarted", same) + container("restarted", 'id="/pod1/z",name="z"')
    lines += container("one", same) + container("two", other, mib=900)
    return "\n".join([*lines, ""])


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not prometheus_servers.is_there():
        pytest.skip(prometheus_servers.MISSING)
    data = tmp_path_factory.mktemp("origins") / "data"
    prometheus_servers.load(data, samples())
    with prometheus_servers.serve(data) as address:
        yield address


def read(url: str, *namespaces: str, origin: str = "") -> tuple[Usage, usage.Inventory]:
    chosen = (sources.parse_matcher(origin),) if origin else ()
    query = UsageQuery(END_S, 3600.0, STEP_S, namespaces=namespaces, origin=chosen)
    with PrometheusClient(PrometheusSettings(url)) as client:
        return read_prometheus_usage(client, query)


def read_one(table: Usage) -> tuple[float, float]:
    """Return the cores and MiB of the only row, which never change after the first steps."""
    assert len(table.pods) == 1
    cores, sizes = table.cpu_cores[0][1:], table.memory_bytes[0][1:]
    assert np.ptp(cores) < 1e-9
    return round(float(cores[0]), 9), float(sizes[0]) / MIB


@pytest.mark.parametrize(
    ("namespace", "label", "values"),
    [
        ("clusters", "cluster", ("prod", "staging")),
        ("hashed", "cluster", ("prod", "staging")),
        ("half", "cluster", ("prod", "")),
        ("stage", "stage", ("a", "b")),
        ("bare-stage", "stage", ("a", "b")),
        ("external", "dc", ("a", "b")),
    ],
    ids=["same pod", "same namespace", "one without label", "unknown label that splits a pod",
         "unknown label without ids", "unknown label on the inventory, too"],
)  # fmt: skip
def test_usage_of_several_clusters_is_refused_with_the_values_seen(
    url: str, namespace: str, label: str, values: tuple[str, ...]
) -> None:
    with pytest.raises(SeveralClustersError) as refused:
        read(url, namespace)
    assert (refused.value.label, refused.value.values) == (label, values)
    assert f"several clusters: {label} is {list_values(values)}" in str(refused.value)


@pytest.mark.parametrize(("cluster", "mib", "cores"), [("prod", 100, "8"), ("staging", 900, "2")])
def test_a_chosen_cluster_has_its_own_usage_and_nodes(
    url: str, cluster: str, mib: int, cores: str
) -> None:
    table, inventory = read(url, "clusters", origin=f"cluster={cluster}")
    assert read_one(table) == (0.4, mib)
    assert {name: str(given["cpu"]) for name, given in inventory.nodes.items()} == {"n1": cores}


def test_a_label_that_series_lack_can_be_chosen_by_its_absence(url: str) -> None:
    table, _ = read(url, "half", origin="cluster=")
    assert read_one(table) == (0.4, 900)


def test_clusters_that_are_chosen_together_are_noted(url: str) -> None:
    table, _ = read(url, "hashed", origin="cluster=~prod|staging")
    assert table.notes[0] == "cluster is prod or staging: read as one cluster, as chosen"


@pytest.mark.parametrize("label", REPLICAS)
def test_a_pair_of_servers_counts_once(url: str, label: str) -> None:
    table, _ = read(url, f"pair{REPLICAS.index(label)}")
    assert read_one(table) == (0.4, 100)
    assert table.notes[0] == (
        f"the same usage is there several times, and counts once: {label} (1 containers: a or b)"
    )


@pytest.mark.parametrize(
    ("namespace", "named"),
    [("bare-pair", "replica"), ("monitor", "monitor"), ("jobs", "job (1 containers: cadvisor or")],
    ids=["without ids", "unknown label with the same ids", "two scrape jobs"],
)
def test_copies_of_a_series_count_once(url: str, namespace: str, named: str) -> None:
    table, _ = read(url, namespace)
    assert read_one(table) == (0.4, 100)
    assert named in table.notes[0]


def test_a_label_of_nodes_is_no_cluster(url: str) -> None:
    table, _ = read(url, "pools")
    assert [str(key.of) for key in table.keys] == ["pools/StatefulSet/web"]
    assert sorted(table.pods) == ["web-0", "web-1"]


def test_two_runs_of_a_container_in_one_step_add_up(url: str) -> None:
    table, _ = read(url, "restarted")
    assert read_one(table) == (0.8, 100)


def test_the_same_pod_name_in_two_namespaces_does_not_mix(url: str) -> None:
    table, _ = read(url, "one", "two")
    sizes = {
        table.keys[place].namespace: float(row[2]) / MIB
        for place, row in zip(table.owners, table.memory_bytes, strict=True)
    }
    assert sizes == {"one": 100, "two": 900}
    assert np.allclose(table.cpu_cores[:, 1:], 0.4)


def test_a_pattern_selects_namespaces(url: str) -> None:
    table, _ = read(url, "o?e", "tw*")
    assert {key.namespace for key in table.keys} == {"one", "two"}


def test_many_values_are_listed_in_short() -> None:
    assert list_values([str(n) for n in range(12)]) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 or 2 more"


def test_a_matcher_of_another_label_does_not_choose_a_cluster(url: str) -> None:
    query = UsageQuery(END_S, 3600.0, namespaces=("clusters",), origin=(Matcher("job", "=", ""),))
    with (
        PrometheusClient(PrometheusSettings(url)) as client,
        pytest.raises(SeveralClustersError),
    ):
        read_prometheus_usage(client, query)
