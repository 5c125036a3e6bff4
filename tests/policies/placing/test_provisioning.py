"""How many nodes pending pods need, and whether a node can go."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import clusters, nodes, pods, selectors, states
from kubestow.policies.placing import provisioning
from kubestow.policies.placing.profiles import catalog, versions
from kubestow.policies.placing.scheduler import scheduler
from tests.model import make

SCHEDULER = scheduler.Scheduler(
    catalog.make_profile("kube-scheduler"), versions.scheduler_features("1.37")
)
TEMPLATE = make.node("t", cpu="4", memory="8Gi")


def pod(name: str, cpu: str, memory: str = "1Gi", **spec: object) -> pods.Pod:
    return make.pod(make.container(cpu=cpu, memory=memory), name=name, **spec)


def needed(
    pending: list[pods.Pod], most: int = 100, daemons: list[pods.Pod] | None = None
) -> object:
    return provisioning.nodes_needed(pending, TEMPLATE, daemons or [], SCHEDULER, most)


def test_pods_are_packed_the_largest_first() -> None:
    # 3 + 1, 3 + 1, 2: three nodes of 4 cores; in order of arrival 1 + 1 + 2 would need four
    waiting = [pod("a", "1"), pod("b", "1"), pod("c", "2"), pod("d", "3"), pod("e", "3")]
    assert needed(waiting) == (3, 5)


def test_daemons_take_their_part_of_every_new_node() -> None:
    waiting = [pod(f"p{i}", "2") for i in range(4)]
    assert needed(waiting) == (2, 4)
    assert needed(waiting, daemons=[pod("agent", "500m")]) == (4, 4)  # 3.5 cores are left of each


def test_pods_that_fit_on_no_node_need_none() -> None:
    assert needed([pod("huge", "5")]) == (0, 0)
    assert needed([pod("huge", "5"), pod("small", "1")]) == (1, 1)


def test_there_are_never_more_nodes_than_allowed() -> None:
    assert needed([pod(f"p{i}", "3") for i in range(5)], most=2) == (2, 2)
    assert needed([pod("p", "1")], most=0) == (0, 0)
    assert needed([]) == (0, 0)


@given(st.lists(st.integers(100, 4000), max_size=8))
def test_the_nodes_are_enough_and_no_more_than_one_per_pod(sizes: list[int]) -> None:
    waiting = [pod(f"p{i}", f"{size}m", "1Mi") for i, size in enumerate(sizes)]
    count, taken = provisioning.nodes_needed(waiting, TEMPLATE, [], SCHEDULER, 100)
    assert taken == len(sizes)
    assert -(-sum(sizes) // 4000) <= count <= len(sizes)


def cluster(*pending: nodes.Node) -> states.ClusterState:
    return states.from_cluster(clusters.Cluster(nodes=pending))


def test_a_node_can_go_if_its_pods_fit_elsewhere() -> None:
    state = cluster(make.node("a", cpu="4", memory="8Gi"), make.node("b", cpu="4", memory="8Gi"))
    moving, staying = [pod("p", "1"), pod("q", "1")], pod("s", "2")
    for pending in moving:
        state.place(pending, 0)
    state.place(staying, 1)
    before = state.requested.copy()
    assert provisioning.can_move(moving, state, 0, SCHEDULER)
    assert np.array_equal(state.requested, before)
    assert not state.nodes[0].unschedulable
    state.place(pod("t", "1"), 1)  # now one of them is left over
    before = state.requested.copy()
    assert not provisioning.can_move(moving, state, 0, SCHEDULER)
    assert np.array_equal(state.requested, before)


def test_pods_do_not_stand_in_their_own_way() -> None:
    # One pod per zone, and both nodes are in the same zone: the pod conflicts with nobody else.
    zone = {nodes.ZONE_LABEL: "z"}
    state = cluster(
        make.node("a", zone, cpu="4", memory="8Gi"), make.node("b", zone, cpu="4", memory="8Gi")
    )
    term = pods.PodAffinityTerm(nodes.ZONE_LABEL, selectors.from_labels({"app": "x"}))
    alone = pods.Pod(
        "p",
        pods.PodSpec((make.container(cpu="1", memory="1Gi"),), required_apart=(term,)),
        labels={"app": "x"},
    )
    state.place(alone, 0)
    assert provisioning.can_move([alone], state, 0, SCHEDULER)
    assert state.count_matching(selectors.from_labels({"app": "x"}), "default").tolist() == [1, 0]


def test_pods_that_would_fit_by_now_need_no_node() -> None:
    state = cluster(make.node("a", cpu="2", memory="8Gi"))
    urgent = make.pod(make.container(cpu="2", memory="1Gi"), name="urgent", priority=5)
    waiting = [pod("p", "1"), urgent, pod("q", "1")]
    before = state.requested.copy()
    left = provisioning.unplaceable(waiting, state, SCHEDULER)
    assert [pending.name for pending in left] == ["p", "q"]  # the urgent one takes the whole node
    left = provisioning.unplaceable([pod("p", "1"), pod("q", "1")], state, SCHEDULER)
    assert left == []
    assert np.array_equal(state.requested, before)
