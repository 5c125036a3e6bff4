"""Measures of size, with the arithmetic in comments."""

import numpy as np
import pytest

from kubestow.policies.placing.packing import instances
from kubestow.policies.placing.packing.offline import item_sizes

# Shares: (0.5, 0.1), (0.3, 0.3), (0.1, 0.6).
INSTANCE = instances.make_instance([[5, 2], [3, 6], [1, 12]], [10, 20])


@pytest.mark.parametrize(
    ("measure", "order"),
    [
        (item_sizes.ItemSize("l1"), [2, 0, 1]),  # 0.6, 0.6, 0.7: equal ones keep their order
        (item_sizes.ItemSize("l2"), [2, 0, 1]),  # 0.51, 0.42, 0.61
        (item_sizes.ItemSize("linf"), [2, 0, 1]),  # 0.5, 0.3, 0.6
        (item_sizes.ItemSize("product"), [1, 2, 0]),  # 0.05, 0.09, 0.06
        (item_sizes.ItemSize("l1", "average"), [2, 1, 0]),  # weights 0.3, 1/3: .1833, .19, .23
        (item_sizes.ItemSize("l1", "reciprocal"), [2, 0, 1]),  # weights 3.33, 3: 1.967, 1.9, 2.13
    ],
    ids=lambda value: value.name if isinstance(value, item_sizes.ItemSize) else "",
)
def test_items_are_sorted_by_size(measure: item_sizes.ItemSize, order: list[int]) -> None:
    assert item_sizes.decreasing(INSTANCE, measure).tolist() == order


def test_exponential_weights_do_not_overflow_on_long_lists() -> None:
    weights = item_sizes.exponential_weights(np.ones((200_000, 2)) * [1.0, 0.5])
    assert weights.tolist() == [1.0, 0.0]


def test_names_of_measures_differ() -> None:
    names = [measure.name for measure in item_sizes.ALL]
    assert len(set(names)) == len(names) == 13


def test_items_are_sorted_by_shares_and_not_by_raw_units() -> None:
    # Shares of (10, 100): (0.5, 0.1), (0.2, 0.3), (0.4, 0.4)
    instance = instances.make_instance([[5, 10], [2, 30], [4, 40]], [10, 100])
    orders = [item_sizes.decreasing(instance, measure).tolist() for measure in item_sizes.BASIC]
    # largest 0.5, 0.3, 0.4; sums 0.6, 0.5, 0.8; squares 0.26, 0.13, 0.32; weighted 0.63, 0.46, 0.76
    assert orders == [[0, 2, 1], [2, 0, 1], [2, 0, 1], [2, 0, 1]]
