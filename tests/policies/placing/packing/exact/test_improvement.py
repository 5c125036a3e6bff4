"""The improvement search never makes a packing worse, obeys its limits, and depends on its seed."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.policies.placing.packing import heuristics, instances, verification
from kubestow.policies.placing.packing.exact import improvement, ruin_recreate
from kubestow.policies.placing.packing.offline import bin_completion, item_classes
from tests.policies.placing.packing import drawing


def first_fit(instance: instances.Instance) -> instances.Packing:
    return heuristics.pack(instance, heuristics.HEURISTICS.get("first-fit"))


def improve(instance: instances.Instance, seed: int, rounds: int) -> instances.Packing:
    rng = np.random.default_rng(seed)
    start = first_fit(instance)
    return improvement.improve(instance, start, rng, lambda: math.inf, rounds=rounds)


@settings(deadline=None, max_examples=40)
@given(st.one_of(drawing.uniform(), drawing.mixed(), drawing.real()), st.integers(0, 99))
def test_what_comes_out_is_valid_and_not_worse(instance: instances.Instance, seed: int) -> None:
    improved = improve(instance, seed, 10)
    verification.verify(instance, improved, allow_unplaced=True)
    assert ruin_recreate.cost(instance, improved) <= ruin_recreate.cost(
        instance, first_fit(instance)
    )


@settings(deadline=None, max_examples=20)
@given(drawing.mixed(), st.integers(0, 99))
def test_the_same_seed_gives_the_same_packing(instance: instances.Instance, seed: int) -> None:
    first, second = improve(instance, seed, 20), improve(instance, seed, 20)
    assert first.node_of_item.tolist() == second.node_of_item.tolist()


def test_a_bad_start_is_improved_to_the_optimum() -> None:
    # First fit pairs the 3s with each other and needs 4 nodes; 7 + 3 three times needs 3.
    instance = instances.make_instance([[3], [3], [3], [7], [7], [7]], [10])
    assert first_fit(instance).opened == 4
    assert improve(instance, 0, 1).opened == 3


def test_ruin_and_recreate_empties_a_node_where_shapes_differ() -> None:
    instance = instances.make_instance(
        [[3], [3], [3], [7], [7], [7]], [[10], [9]], limits=[None, 1]
    )
    assert first_fit(instance).opened == 4
    assert improve(instance, 0, 200).opened == 3


def test_a_budget_that_is_used_up_leaves_the_packing_as_it_is() -> None:
    instance = instances.make_instance([[3], [3], [3], [7], [7], [7]], [10])
    start = first_fit(instance)
    rng = np.random.default_rng(0)
    assert improvement.improve(instance, start, rng, lambda: 0.0) is start


def test_the_clock_is_asked_often_enough_to_end() -> None:
    rng = np.random.default_rng(0)
    instance = instances.make_instance(rng.integers(10, 60, (80, 3)), [100, 100, 100])
    left = iter(np.linspace(1.0, -1.0, 60).tolist())
    start = first_fit(instance)
    improved = improvement.improve(instance, start, rng, lambda: next(left, -1.0))
    verification.verify(instance, improved)


@settings(deadline=None, max_examples=40)
@given(drawing.uniform(most_items=20), st.integers(0, 99))
def test_ruined_patterns_hold_the_same_items(instance: instances.Instance, seed: int) -> None:
    batch = item_classes.classify_items(instance)
    patterns = item_classes.read_patterns(batch, first_fit(instance))
    anew = ruin_recreate.ruin_patterns(batch, patterns, np.random.default_rng(seed))
    assert len(anew) <= len(patterns)
    assert sorted(t for p in anew for t in p) == sorted(t for p in patterns for t in p)


@settings(deadline=None, max_examples=40)
@given(drawing.uniform(most_items=20))
def test_patterns_and_packings_turn_into_each_other(instance: instances.Instance) -> None:
    batch = item_classes.classify_items(instance)
    patterns = bin_completion.complete(batch)
    packing = item_classes.make_packing(batch, patterns)
    verification.verify(instance, packing)
    assert item_classes.read_patterns(batch, packing) == patterns
