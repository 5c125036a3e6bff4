"""Packing heuristics as terms choose what the packing loop chooses."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.model import states
from kubestow.policies.placing.packing import adaptive, heuristics, instances
from kubestow.policies.placing.terms import protocol, registry
from kubestow.policies.placing.terms.packing import VectorTerm
from tests.policies.placing.term_scenes import every, make_pod, make_state

NAMES = ("vector-dot", "k8s-vector-dot", "adaptive")
THREE = ("cpu", "memory", "example.com/gpu")


def draw_state(rng: np.random.Generator, *, filled: bool) -> states.ClusterState:
    """Return eight nodes of different sizes, optionally with pods on them."""
    capacities = rng.integers(500, 1500, (8, 3))
    state = make_state(*capacities.tolist(), names=THREE)
    if filled:
        for _ in range(10):
            amounts = rng.integers(1, 120, 3).tolist()
            state.place(make_pod(*amounts, names=THREE), int(rng.integers(8)))
    return state


def pack_one(name: str, state: states.ClusterState, demand: list[int]) -> int:
    """Return the node the packing loop chooses for one item among nodes that are there."""
    columns = [state.columns[resource] for resource in THREE]
    capacity = state.allocatable[:, columns].astype(np.float64)
    used = state.requested[:, columns].astype(np.float64)
    instance = instances.make_instance(
        [demand],
        capacity,
        limits=[0] * len(capacity),
        existing=instances.Existing(capacity, used),
    )
    return int(heuristics.pack(instance, heuristics.HEURISTICS.get(name)).node_of_item[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(20))
def test_the_best_candidate_is_the_choice_of_the_heuristic(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # The loop of adaptive has seen nobody before the item: nodes must be empty to compare.
    state = draw_state(rng, filled=name != "adaptive")
    demand = rng.integers(1, 120, 3).tolist()
    pod = make_pod(*demand, names=THREE)
    result = registry.make_term(name).weigh(
        pod, state, protocol.Loads.by_requests(state), every(state)
    )
    assert result.passes.all()
    chosen = pack_one(name, state, demand)
    whole = protocol.whole_scores(result.scores)
    assert np.flatnonzero(whole == 10).tolist() == [chosen]
    assert result.scores.min() == pytest.approx(0.0, abs=1e-9)
    assert (np.argsort(result.scores) == np.argsort(result.parts["raw"])).all()


def test_adaptive_goes_by_the_pods_on_the_nodes() -> None:
    state = make_state(*[(1000, 1000, 1000)] * 2, names=THREE)
    for row, share in ((0, 100), (0, 300), (1, 200)):
        state.place(make_pod(share, share, share, names=THREE), row)
    term = VectorTerm(heuristics.HEURISTICS.get("adaptive"), THREE, 0.5)
    columns = np.array([state.columns[name] for name in THREE])
    result = term._observed_items(state, columns, np.full(3, 1000.0))
    # Three pods of 0.2 on average: sum of means 0.6, of squares 3 x 0.04 x 1.5.
    assert result[: adaptive.ADAPTIVE_COLUMNS] == pytest.approx((3.0, 3.0, 0.6, 0.18))
    assert result[adaptive.ADAPTIVE_COLUMNS :] == pytest.approx((0.6, 0.6, 0.6))
    # Without a variation given nodes show 0.4^2 / 2 + 0.2^2 at least.
    least = VectorTerm(heuristics.HEURISTICS.get("adaptive"), THREE, 0.0)._observed_items(
        state, columns, np.full(3, 1000.0)
    )
    assert least[3] == pytest.approx(0.12)


@pytest.mark.parametrize(("count", "chosen"), [(50, 1), (1, 0)], ids=["small", "large"])
def test_adaptive_fills_where_pods_are_large_and_balances_where_they_are_small(
    count: int, chosen: int
) -> None:
    # n0 is fuller and fits badly (free 4 : 1), n1 is empty and fits well; n2 makes both scarce.
    state = make_state(*[(1000, 1000)] * 3, names=THREE[:2])
    for _ in range(count):
        state.place(make_pod(200 // count, 800 // count, names=THREE[:2]), 0)
        state.place(make_pod(800 // count, 200 // count, names=THREE[:2]), 2)
    pod = make_pod(200 // count, 200 // count, names=THREE[:2])
    result = registry.make_term("adaptive").weigh(
        pod, state, protocol.Loads.by_requests(state), np.array([0, 1])
    )
    assert result.scores.argmax() == chosen


def test_resources_can_be_named() -> None:
    state = make_state((1000, 1000, 10), (1000, 1000, 10), names=THREE)
    state.place(make_pod(500, 100, 1, names=THREE), 0)
    state.place(make_pod(100, 500, 9, names=THREE), 1)
    pod = make_pod(10, 100, 1, names=THREE)
    by_two = registry.make_term("vector-dot", {"resources": ["cpu", "memory"]})
    result = by_two.weigh(pod, state, protocol.Loads.by_requests(state), every(state))
    assert result.scores.tolist() == [10.0, 0.0]
    nothing = registry.make_term("vector-dot", {"resources": ["unknown"]})
    result = nothing.weigh(pod, state, protocol.Loads.by_requests(state), every(state))
    assert result.scores.tolist() == [10.0, 10.0]
