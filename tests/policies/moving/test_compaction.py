"""Draining nodes with low requests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kubestow.model import clusters, nodes, pods, states
from kubestow.policies.moving import compaction, plans, registry
from kubestow.policies.placing.profiles import catalog, versions
from kubestow.policies.placing.scheduler import scheduler
from tests.model import make

SCHEDULER = scheduler.Scheduler(
    catalog.make_profile("most-allocated"), versions.scheduler_features("1.37")
)
PLENTY = plans.MoveBudget(most=100, allowed={})


def cluster(*counts: int, unschedulable: tuple[int, ...] = ()) -> clusters.Cluster:
    """Return nodes of 10 cores with given numbers of pods of one core each."""
    made: list[nodes.Node] = []
    result: list[pods.Pod] = []
    for number, count in enumerate(counts):
        node = make.node(f"n{number}", cpu="10", memory="100Gi")
        made.append(replace(node, unschedulable=number in unschedulable))
        for index in range(count):
            pod = make.pod(make.container(cpu="1", memory="1Gi"), name=f"p{number}-{index}")
            result.append(replace(pod, node_name=node.name))
    return clusters.Cluster(nodes=tuple(made), pods=tuple(result))


def plan(
    result: clusters.Cluster,
    budget: plans.MoveBudget = PLENTY,
    budget_of: str = "",
    *,
    threshold: float = 0.2,
    most_moves: int = 20,
) -> plans.MovePlan:
    state = states.from_cluster(result)
    before = state.requested.copy(), state.nonzero.copy(), state.nodes
    running: dict[int, list[plans.Movable]] = {}
    for pod in result.bound:
        running.setdefault(state.rows[pod.node_name], []).append(plans.Movable(pod, budget_of))
    mover = registry.MOVERS.get("compact").make(compaction.CompactParameters(threshold, most_moves))
    planned = mover.plan(state, running, SCHEDULER, budget)
    assert np.array_equal(state.requested, before[0])
    assert np.array_equal(state.nonzero, before[1])
    assert state.nodes == before[2]
    return planned


def test_the_emptiest_node_is_emptied_if_its_pods_fit_elsewhere() -> None:
    planned = plan(cluster(8, 1, 1, 9), threshold=0.2)
    assert planned.emptied == ("n1",)
    assert planned.moves == ("default/p1-0",)
    (record,) = planned.records
    assert (record.kind, record.outcome, record.numbers["requested"]) == ("moving", "emptied", 0.1)


def test_nodes_above_the_threshold_stay() -> None:
    assert plan(cluster(8, 3, 9), threshold=0.2) == plans.MovePlan()


def test_a_node_stays_if_its_pods_do_not_all_fit() -> None:
    planned = plan(cluster(10, 1, 10))
    assert planned.moves == ()
    assert planned.records[0].rejected == {"n1": "its pods would not all be placed elsewhere"}


def test_no_more_pods_are_moved_than_allowed() -> None:
    result = cluster(5, 3, 9)
    assert plan(result, threshold=0.5, most_moves=2).moves == ()
    assert len(plan(result, threshold=0.5, most_moves=3).moves) == 3
    planned = plan(result, plans.MoveBudget(1, {}), threshold=0.5)
    assert planned.records[0].rejected == {"n1": "has 3 pods, 1 may be moved"}


@pytest.mark.parametrize(("allowed", "moved"), [(1, 0), (2, 2)])
def test_disruption_budgets_are_kept(allowed: int, moved: int) -> None:
    budget = plans.MoveBudget(100, {"shop/web": allowed})
    planned = plan(cluster(5, 2, 9), budget, "shop/web", threshold=0.3)
    assert len(planned.moves) == moved
    if not moved:
        expected = "the disruption budget of shop/web allows 1 of 2"
        assert planned.records[0].rejected == {"n1": expected}


def test_cordoned_and_empty_nodes_are_left_alone() -> None:
    assert plan(cluster(5, 1, 0, 9, unschedulable=(1,))) == plans.MovePlan()
