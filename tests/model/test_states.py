"""The cluster in arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import clusters, pods, states
from kubestow.model.selectors import LabelSelector, from_labels
from tests.model.make import container, node, pod

NODES = tuple(
    node(f"n{i}", {"zone": zone} if zone else {}, cpu="8", memory="8Gi")
    for i, zone in enumerate(("a", "b", "a", None))
)
PORT = pods.HostPort(80)
PODS = [
    replace(pod(container(cpu="1", memory="1Gi"), name="web"), labels={"app": "web"}),
    replace(pod(container(cpu="2"), name="leaving"), labels={"app": "web"}, terminating=True),
    replace(pod(replace(container(cpu="500m"), host_ports=(PORT,)), name="port"), namespace="x"),
]


def snapshot(state: states.ClusterState) -> tuple[list[object], ...]:
    counts = [group.counts.tolist() for group in state.groups if group.counts.any()]
    taken = state.port_taken(PORT).tolist()
    return state.requested.tolist(), state.nonzero.tolist(), counts, taken


@given(st.lists(st.tuples(st.sampled_from(PODS), st.integers(0, 3)), max_size=6))
def test_removing_pods_undoes_placing_them(moves: list[tuple[pods.Pod, int]]) -> None:
    state = states.from_cluster(clusters.Cluster(NODES))
    before = snapshot(state)
    for wanted, row in moves:
        state.place(wanted, row)
    assert (snapshot(state) == before) is (not moves)
    for wanted, row in moves:
        state.remove(wanted, row)
    assert snapshot(state) == before


def test_siblings_are_counted_by_namespace_without_those_that_leave() -> None:
    state = states.from_cluster(clusters.Cluster(NODES))
    for wanted in PODS:
        state.place(wanted, 1)
    web = from_labels({"app": "web"})
    assert state.count_matching(web, "default").tolist() == [0, 1, 0, 0]
    assert state.count_matching(LabelSelector(), "x").tolist() == [0, 1, 0, 0]
    assert state.count_matching(None, "default").tolist() == [0, 0, 0, 0]


def test_domains_sum_over_equal_labels_and_leave_out_nodes_without() -> None:
    state = states.from_cluster(clusters.Cluster(NODES))
    zones = state.label("zone")
    totals = zones.totals(np.array([1, 2, 4, 8]))
    assert totals.tolist() == [5, 2]
    assert zones.spread_back(totals).tolist() == [5, 2, 5, 0]
    assert state.label("rack").spread_back(np.zeros(0, dtype=np.int64)).tolist() == [0, 0, 0, 0]
