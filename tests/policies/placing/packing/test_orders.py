"""Offline orders."""

import pytest

from kubestow.model import errors
from kubestow.policies.placing.packing import instances, orders


@pytest.mark.parametrize(
    ("measure", "order"),
    [
        # Shares of (10, 100): (0.5, 0.1), (0.2, 0.3), (0.4, 0.4)
        ("max", [0, 2, 1]),  # 0.5, 0.4, 0.3
        ("sum", [2, 0, 1]),  # 0.8, 0.6, 0.5
        ("squares", [2, 0, 1]),  # 0.32, 0.26, 0.13
        ("scarce", [2, 0, 1]),  # totals 1.1, 0.8: 0.76, 0.63, 0.46
    ],
)
def test_items_are_sorted_by_shares_and_not_by_raw_units(measure: str, order: list[int]) -> None:
    instance = instances.make_instance([[5, 10], [2, 30], [4, 40]], [10, 100])
    assert orders.decreasing(instance, measure).tolist() == order


def test_equal_items_keep_their_order_of_arrival() -> None:
    instance = instances.make_instance([[1, 1]] * 5, [10, 10])
    assert orders.decreasing(instance, "sum").tolist() == [0, 1, 2, 3, 4]


def test_unknown_measures_are_refused() -> None:
    with pytest.raises(errors.InputError, match="'volume': must be one of max"):
        orders.decreasing(instances.make_instance([[1]], [2]), "volume")
