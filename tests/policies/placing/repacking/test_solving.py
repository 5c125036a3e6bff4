"""Bounds and the exact search with constraints."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kubestow import testing
from kubestow.policies.placing import packing, profiles, repacking
from kubestow.policies.placing.repacking import bounds, constraints
from tests.policies.placing import recorded
from tests.policies.placing.repacking.drawn import draw_problem, is_allowed

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def problem_of(*objects: dict[str, Any]) -> repacking.Repacking:
    return repacking.make_repacking(recorded.build(objects), "made")


def apart(app: str, key: str = HOST) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"podAntiAffinity": required}


def spread(app: str, key: str, skew: int = 1) -> list[dict[str, Any]]:
    selector = {"matchLabels": {"app": app}}
    return [
        {
            "maxSkew": skew,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selector,
        }
    ]


def within(seconds: float) -> Callable[[], float]:
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


def best_of(problem: repacking.Repacking) -> repacking.Filling:
    fillings = [repacking.fill(problem, packing.HEURISTICS.get(n)) for n in packing.HEURISTICS]
    return min(fillings, key=lambda filling: filling.cost)


def solved(problem: repacking.Repacking) -> repacking.Solution:
    return repacking.solve(problem, best_of(problem), within(60.0), np.random.default_rng(0))


def test_pods_that_keep_apart_need_a_node_each() -> None:
    web = {"app": "web"}
    pods = [
        testing.pod(f"web-{i}", cpu="100m", labels=web, affinity=apart("web")) for i in range(4)
    ]
    problem = problem_of(*(testing.node(f"n{i}", cpu="16") for i in range(6)), *pods)
    read = constraints.read_constraints(problem)
    assert bounds.conflict_bound(problem, read) == 4
    solution = solved(problem)
    assert solution.optimal
    assert len(solution.filling.used) == 4


def test_a_hard_spread_over_nodes_reaches_as_many_as_it_must() -> None:
    # 5 pods, skew 2, 6 nodes: while a node is empty none holds more than 2, so ceil(5 / 2) = 3
    pods = [
        testing.pod(
            f"p{i}", cpu="1", labels={"app": "p"}, topologySpreadConstraints=spread("p", HOST, 2)
        )
        for i in range(5)
    ]
    problem = problem_of(*(testing.node(f"n{i}", cpu="16") for i in range(6)), *pods)
    assert bounds.spread_bound(problem, constraints.read_constraints(problem)) == 3
    solution = solved(problem)
    assert (len(solution.filling.used), solution.optimal) == (3, True)


def test_pods_confined_to_zones_add_up() -> None:
    # one core of four per zone: without the selectors one node would do
    nodes = [testing.node(f"n{z}{i}", labels={ZONE: z}) for z in "abc" for i in range(2)]
    pods = [testing.pod(f"p{z}", cpu="1", nodeSelector={ZONE: z}) for z in "abc"]
    problem = problem_of(*nodes, *pods)
    assert bounds.separate_bound(problem) == 3
    assert bounds.conflict_bound(problem, constraints.read_constraints(problem)) == 3
    assert repacking.bound(problem, best_of(problem), within(1.0)).optimal


def test_pods_that_must_be_together_share_a_zone() -> None:
    # four pods of 3 cores that attract each other: zone b has room for two of them only
    near = {"podAffinity": apart("p", ZONE)["podAntiAffinity"]}
    pods = [testing.pod(f"p{i}", cpu="3", labels={"app": "p"}, affinity=near) for i in range(4)]
    nodes = [testing.node(f"a{i}", cpu="4", labels={ZONE: "a"}) for i in range(4)]
    nodes += [testing.node("b0", cpu="8", labels={ZONE: "b"})]
    solution = solved(problem_of(*nodes, *pods))
    assert (len(solution.filling.used), solution.optimal) == (4, True)


def test_what_cannot_be_placed_together_is_proven() -> None:
    pods = [
        testing.pod(f"w{i}", cpu="1", labels={"app": "w"}, affinity=apart("w")) for i in range(3)
    ]
    solution = solved(problem_of(testing.node("n1"), testing.node("n2"), *pods))
    assert solution.filling.unplaced == 1
    assert solution.impossible
    assert not solution.optimal


@pytest.mark.parametrize("seed", range(200, 230))
def test_no_bound_is_beaten_by_any_packing(seed: int) -> None:
    problem = draw_problem(seed)
    best = best_of(problem)
    solution = solved(problem)
    assert is_allowed(problem, solution.filling.rows)
    quick = repacking.bound(problem, best, lambda: 0.0)
    bound = max(solution.bound.value, quick.bound.value)
    costs = [best.cost, solution.filling.cost]
    for strategy, weight in itertools.product((profiles.LEAST, profiles.MOST), (1, 100)):
        setting = repacking.Setting(strategy=strategy, fit=weight)
        costs.append(repacking.play(problem, setting.profile("default-scheduler")).by_name.cost)
    complete = [count for unplaced, count in costs if unplaced == 0]
    assert min(complete, default=bound) >= bound
    if solution.impossible:
        assert not complete


@pytest.mark.parametrize("seed", range(300, 312))
def test_the_optimum_equals_that_of_all_assignments(seed: int) -> None:
    rng = np.random.default_rng(seed)
    constraint = (
        {"affinity": apart("p")},
        {"topologySpreadConstraints": spread("p", HOST)},
        {"topologySpreadConstraints": spread("p", ZONE)},
        {"affinity": apart("q")},
    )[seed % 4]
    nodes = [testing.node(f"n{i}", cpu="4", labels={ZONE: "ab"[i % 2]}) for i in range(3)]
    pods = [
        testing.pod(f"p{i}", cpu=str(rng.integers(1, 3)), labels={"app": "p"}, **constraint)
        for i in range(2)
    ]
    pods += [
        testing.pod(f"q{i}", cpu=str(rng.integers(1, 3)), labels={"app": "q"}) for i in range(3)
    ]
    problem = problem_of(*nodes, *pods)
    used = [
        len(set(rows))
        for rows in itertools.product(range(3), repeat=5)
        if is_allowed(problem, np.array(rows))
    ]
    solution = solved(problem)
    if not used:
        assert solution.filling.unplaced
        return
    assert (len(solution.filling.used), solution.optimal) == (min(used), True)
