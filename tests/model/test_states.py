"""The cluster in arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import clusters, nodes, pods, states
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


def _three_nodes() -> states.ClusterState:
    result = (
        node("a", {"zone": "1"}, cpu="4", memory="8Gi"),
        node("b", {"zone": "2"}, cpu="4", memory="8Gi"),
        node("c", {"zone": "1"}, cpu="4", memory="8Gi"),
    )
    return states.from_cluster(clusters.Cluster(nodes=result))


def _labelled(name: str, app: str, **more: Any) -> pods.Pod:
    spec = pods.PodSpec((container(cpu="1", memory="1Gi"),))
    return pods.Pod(name, spec, labels={"app": app, "tier": "x"}, **more)


def test_nodes_come_and_go_while_pods_on_the_others_stay_counted() -> None:
    state = _three_nodes()
    state.place(_labelled("p", "web"), 0)
    state.place(_labelled("q", "web"), 2)
    state.place(_labelled("r", "db"), 2)
    # b goes, d comes and offers something new
    new = node("d", {"zone": "3"}, cpu="2", memory="4Gi", **{"example.com/gpu": "1"})
    kept = np.array([0, 2], dtype=np.int64)
    after = state.with_nodes(kept, clusters.Cluster(nodes=(state.nodes[0], state.nodes[2], new)))
    assert after.names == ("a", "c", "d")
    assert after.rows == {"a": 0, "c": 1, "d": 2}
    assert after.requested[:, after.columns["cpu"]].tolist() == [1000, 2000, 0]
    assert after.requested[:, after.columns["pods"]].tolist() == [1, 2, 0]
    assert after.nonzero[:, 0].tolist() == [1000, 2000, 0]
    assert "example.com/gpu" in after.columns
    web = from_labels({"app": "web"})
    assert after.count_matching(web, "default").tolist() == [1, 1, 0]
    assert after.label("zone").values == ("1", "3")
    after.place(_labelled("s", "web"), 2)
    after.remove(_labelled("p", "web"), 0)
    assert after.count_matching(web, "default").tolist() == [0, 1, 1]


def test_the_state_after_changes_of_nodes_equals_a_fresh_one() -> None:
    state = _three_nodes()
    placed = [(_labelled(f"p{i}", "web" if i % 2 else "db"), i % 3) for i in range(7)]
    for result, row in placed:
        state.place(result, row)
    kept = np.array([2, 0], dtype=np.int64)
    after = state.with_nodes(kept, clusters.Cluster(nodes=(state.nodes[2], state.nodes[0])))
    fresh = states.from_cluster(clusters.Cluster(nodes=after.nodes))
    for result, row in placed:
        if row != 1:
            fresh.place(result, 0 if row == 2 else 1)
    assert np.array_equal(after.requested, fresh.requested)
    assert np.array_equal(after.nonzero, fresh.nonzero)
    for app in ("web", "db"):
        chosen = from_labels({"app": app})
        expected = fresh.count_matching(chosen, "default")
        assert np.array_equal(after.count_matching(chosen, "default"), expected)


def test_a_node_can_be_replaced_by_one_with_other_marks() -> None:
    state = _three_nodes()
    assert not state.marks.cordoned.any()
    state.replace_node(1, replace(state.nodes[1], unschedulable=True))
    assert state.marks.cordoned.tolist() == [False, True, False]
    tainted = replace(state.nodes[2], taints=(nodes.Taint("k"),))
    state.replace_node(2, tainted)
    assert [state.marks.taints[code] for code in state.marks.codes] == [(), (), tainted.taints]


def test_only_pods_that_match_stay_and_share_the_namespace_are_counted() -> None:
    state = _three_nodes()
    state.place(_labelled("p", "web"), 0)
    state.place(_labelled("q", "web", namespace="other"), 0)
    state.place(_labelled("r", "web", terminating=True), 0)
    state.place(_labelled("s", "db"), 1)
    web, both = from_labels({"app": "web"}), from_labels({"tier": "x"})
    assert state.count_matching(web, "default").tolist() == [1, 0, 0]
    assert state.count_matching(web, "other").tolist() == [1, 0, 0]
    assert state.count_matching(both, "default").tolist() == [1, 1, 0]
    assert state.count_matching(None, "default").tolist() == [0, 0, 0]
    assert state.count_matching(from_labels({}), "default").tolist() == [1, 1, 0]
