"""The best content of a node, and all contents worth a threshold, against plain enumeration."""

import itertools
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import arrays
from kubestow.policies.placing.packing import instances
from kubestow.policies.placing.packing.exact import enumeration
from kubestow.policies.placing.packing.offline import item_classes, knapsack
from tests.policies.placing.packing import drawing

PLENTY = 10**9


def all_patterns(batch: item_classes.ItemClasses) -> list[tuple[int, ...]]:
    """Every vector of counts that fits."""
    ranges = [range(count + 1) for count in batch.counts.tolist()]
    return [
        amounts
        for amounts in itertools.product(*ranges)
        if np.all(np.array(amounts) @ batch.sizes <= batch.room)
    ]


def search(
    batch: item_classes.ItemClasses, values: arrays.Floats, limit: int, floor: float = 0.0
) -> tuple[list[int], float, float]:
    depth = knapsack.deepest_pattern(batch.sizes, batch.counts, batch.room)
    weights = knapsack.weigh_resources(batch.sizes, batch.counts, batch.room, values, 20)
    order = knapsack.sort_by_density(batch.sizes, batch.counts, values, weights)
    picked = np.empty(depth + 1, dtype=np.int64)
    result, value, bound = knapsack.best_pattern(
        batch.sizes, batch.counts, batch.room, values, weights, order, depth, limit, floor, picked
    )
    return picked[:result].tolist(), value, bound


@settings(deadline=None, max_examples=60)
@given(drawing.uniform(), st.randoms(use_true_random=False))
def test_the_best_pattern_is_found_and_its_bound_is_its_value(
    instance: instances.Instance, random: Random
) -> None:
    batch = item_classes.classify_items(instance)
    values = np.array([random.random() for _ in batch.counts])
    best = max(float(np.array(amounts) @ values) for amounts in all_patterns(batch))
    picked, value, bound = search(batch, values, PLENTY)
    assert abs(value - best) < 1e-8
    assert abs(bound - best) < 1e-8
    assert abs(values[picked].sum() - value) < 1e-8
    assert np.all(batch.sizes[picked].sum(axis=0) <= batch.room)


@settings(deadline=None, max_examples=60)
@given(drawing.uniform(), st.integers(0, 20))
def test_a_search_cut_short_still_bounds_every_pattern(
    instance: instances.Instance, limit: int
) -> None:
    batch = item_classes.classify_items(instance)
    values = batch.sizes.sum(axis=1) ** 1.5
    best = max(float(np.array(amounts) @ values) for amounts in all_patterns(batch))
    picked, value, bound = search(batch, values, limit)
    assert value - 1e-8 <= best <= bound + 1e-8
    assert np.all(batch.sizes[picked].sum(axis=0) <= batch.room)


def test_nothing_is_picked_when_no_pattern_beats_the_floor() -> None:
    batch = item_classes.classify_items(instances.make_instance([[2], [3]], [4]))
    assert search(batch, np.array([1.0, 1.5]), PLENTY, floor=2.0) == ([], 2.0, 2.0)


def test_no_pattern_is_deeper_than_the_scarcest_resource_allows() -> None:
    # Five items of 1 of 3 in the first resource: three fit, whatever the second says.
    batch = item_classes.classify_items(instances.make_instance([[1, 0]] * 5, [3, 9]))
    assert knapsack.deepest_pattern(batch.sizes, batch.counts, batch.room) == 3


@settings(deadline=None, max_examples=60)
@given(drawing.uniform(), st.floats(0.0, 1.0))
def test_enumeration_lists_exactly_the_maximal_patterns_worth_the_threshold(
    instance: instances.Instance, slack: float
) -> None:
    batch = item_classes.classify_items(instance)
    shares = (batch.sizes / batch.room).max(axis=1)
    everything = {amounts: float(np.array(amounts) @ shares) for amounts in all_patterns(batch)}
    prices = shares / max(1.0, *everything.values())
    expected = {
        amounts
        for amounts in everything
        if not any(
            amounts != other and all(a <= b for a, b in zip(amounts, other, strict=True))
            for other in everything
        )
        and sum(amounts) > 0
    }
    listed = enumeration.enumerate_patterns(batch, prices, slack)
    assert listed is not None
    result = {tuple(pattern.count(t) for t in range(len(batch.counts))) for pattern in listed}
    assert len(result) == len(listed)
    assert result <= expected
    for amounts in expected - result:
        assert np.array(amounts) @ prices < 1.0 - slack


def test_enumeration_gives_up_when_there_are_too_many() -> None:
    batch = item_classes.classify_items(instances.make_instance([[k] for k in range(1, 12)], [20]))
    assert enumeration.enumerate_patterns(batch, np.zeros(11), 1.0, most=10) is None


def test_a_cover_is_found_or_refuted() -> None:
    # 3 + 3 and 2 + 2 + 2 fill nodes of 6; two nodes hold all five items, one does not.
    batch = item_classes.classify_items(instances.make_instance([[3], [3], [2], [2], [2]], [6]))
    patterns = [(0, 0, 0), (1, 1), (0, 1)]
    two = enumeration.cover(batch, patterns, 2, 10.0)
    assert two.patterns is not None
    assert sorted(two.patterns) == [(0, 0, 0), (1, 1)]
    assert enumeration.cover(batch, patterns, 1, 10.0).impossible
    assert enumeration.cover(batch, [(1, 1)], 5, 10.0).impossible
