"""The exact answer against arc flow and brute force, its limits, and its determinism."""

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings

from kubestow.model import errors, quantities
from kubestow.policies.placing.packing import instances, verification
from kubestow.policies.placing.packing.exact import bounds, solver
from kubestow.policies.placing.packing.offline import heuristics
from tests.policies.placing.packing import arcflow, drawing


def solve(instance: instances.Instance, rounds: int = 50) -> solver.ExactResult:
    rng = np.random.default_rng(1)
    return solver.solve(instance, lambda: math.inf, rng=rng, rounds=rounds)


@settings(deadline=None, max_examples=40)
@given(drawing.uniform(most_items=12, largest=8))
def test_equal_nodes_are_solved_as_arc_flow_solves_them(instance: instances.Instance) -> None:
    answer = solve(instance)
    verification.verify(instance, answer.packing)
    assert answer.packing.opened == arcflow.count_by_arcflow(instance)
    assert answer.optimal
    assert answer.lower_bound == answer.packing.opened


@settings(deadline=None, max_examples=40)
@given(drawing.mixed())
def test_nodes_that_differ_are_solved_as_by_trying_everything(
    instance: instances.Instance,
) -> None:
    optimum = arcflow.count_by_trying(instance)
    assume(optimum is not None)
    answer = solve(instance)
    verification.verify(instance, answer.packing, allow_unplaced=True)
    if len(answer.packing.unplaced) == 0:
        assert answer.optimal
        assert answer.packing.opened == answer.lower_bound == optimum


@settings(deadline=None, max_examples=30)
@given(drawing.real())
def test_demands_that_are_not_whole_are_solved(instance: instances.Instance) -> None:
    answer = solve(instance)
    verification.verify(instance, answer.packing)
    whole = instances.make_instance(
        np.round(instance.demands * 10), np.full(instance.dimensions, 10)
    )
    assert answer.packing.opened == arcflow.count_by_arcflow(whole)


def triplets(seed: int, nodes: int) -> instances.Instance:
    """Items that fill nodes of 100 x 100 exactly, three by three."""
    rng = np.random.default_rng(seed)
    first = rng.integers(25, 40, (nodes, 2))
    second = rng.integers(25, 35, (nodes, 2))
    demands = np.concatenate([first, second, 100 - first - second])
    return instances.make_instance(rng.permutation(demands), [100, 100])


def test_perfect_triplets_are_found() -> None:
    instance = triplets(3, 20)
    answer = solve(instance, rounds=200)
    verification.verify(instance, answer.packing)
    assert (answer.packing.opened, answer.lower_bound, answer.optimal) == (20, 20, True)


def test_a_gap_between_program_and_packings_is_closed_by_enumeration() -> None:
    # Two groups of three. Within a group any two fit, three do not (4 + 4 + 4 > 10); across groups
    # none do (6 + 5 > 10). The program takes half of each pair: 1.5 + 1.5 nodes; 2 + 2 are needed.
    first = [[4, 6, 0, 0], [4, 0, 6, 0], [4, 0, 0, 6]]
    second = [[4, 5, 5, 5]] * 3
    instance = instances.make_instance(first + second, [10, 10, 10, 10])
    assert bounds.lower_bound(instance, lambda: math.inf).value == 3
    answer = solve(instance)
    verification.verify(instance, answer.packing)
    assert answer.packing.opened == 4 == arcflow.count_by_arcflow(instance)
    assert (answer.lower_bound, answer.method, answer.optimal) == (4, "enumeration", True)


def test_the_same_seed_gives_the_same_packing() -> None:
    instance = triplets(4, 12)
    first, second = solve(instance, rounds=3), solve(instance, rounds=3)
    assert first.packing.node_of_item.tolist() == second.packing.node_of_item.tolist()


def test_without_time_there_is_still_a_valid_answer() -> None:
    instance = triplets(5, 30)
    answer = solver.solve(instance, lambda: 0.0, rng=np.random.default_rng(0))
    verification.verify(instance, answer.packing)
    assert answer.lower_bound == 30
    assert answer.optimal == (answer.packing.opened == 30)


def test_a_better_start_is_kept() -> None:
    instance = triplets(6, 40)
    start = solve(instance, rounds=200).packing
    assert start.opened == 40
    answer = solver.solve(instance, lambda: 0.0, start, rng=np.random.default_rng(0))
    assert answer.packing.opened == 40


def shop_cluster() -> instances.Instance:
    """Return 1448 pods of a made-up shop, for nodes of 16 cores and 48 GiB."""
    path = Path(__file__).parents[4] / "data" / "shop_cluster.csv"
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    demands = [
        [quantities.parse(row["cpu"]).milli(), quantities.parse(row["memory"]).value()]
        for row in rows
        for _ in range(int(row["count"]))
    ]
    return instances.make_instance(demands, [16_000, 48 * 2**30])


def test_many_small_items_begin_with_mixed_orders() -> None:
    # Some fifteen pods to a node: whatever sorts them first is far from the best.
    instance = shop_cluster()
    sorted_first = heuristics.OFFLINE_HEURISTICS.get("completion").pack(instance).opened
    answer = solver.solve(instance, lambda: 0.0, rng=np.random.default_rng(0))
    verification.verify(instance, answer.packing)
    assert answer.packing.opened < 0.97 * sorted_first


def test_prices_decide_between_shapes() -> None:
    # Two small nodes for 2 are cheaper than a large one for 3.
    instance = instances.make_instance([[4], [4]], [[8], [4]], costs=[3.0, 1.0])
    answer = solve(instance)
    assert answer.packing.shape_of_node.tolist() == [1, 1]
    assert answer.optimal


def test_items_that_fit_nowhere_stay_unplaced_where_nodes_are_limited() -> None:
    instance = instances.make_instance([[3], [3], [3]], [5], limits=[2])
    answer = solve(instance, rounds=5)
    verification.verify(instance, answer.packing, allow_unplaced=True)
    assert len(answer.packing.unplaced) == 1
    assert not answer.optimal


def test_an_oversized_item_is_refused() -> None:
    with pytest.raises(errors.InputError, match="item 0: resource-0: 3: must be <= 2"):
        solve(instances.make_instance([[3]], [2]))


def test_no_items_need_no_node() -> None:
    answer = solve(instances.make_instance(np.empty((0, 1)), [2]))
    assert (answer.packing.opened, answer.lower_bound, answer.optimal) == (0, 0, True)


@pytest.mark.skipif(
    bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="takes minutes when interpreted"
)
def test_thousands_of_items_on_one_node_are_packed_without_huge_tables() -> None:
    rng = np.random.default_rng(0)
    instance = instances.make_instance(rng.random((6000, 2)), [4000.0, 4000.0])
    answer = solver.solve(instance, lambda: 0.0, rng=rng)
    verification.verify(instance, answer.packing)
    assert (answer.packing.opened, answer.optimal) == (1, True)
