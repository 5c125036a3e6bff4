"""Which shape is opened first."""

import pytest

from kubestow.policies.placing.packing import heuristics, instances, tables


@pytest.mark.parametrize(
    ("capacity", "costs", "order"),
    [
        # Without prices every shape costs its capacity: the largest first, then as named.
        ([[2, 2], [8, 8], [4, 4]], None, [1, 2, 0]),
        # Half the size for a third of the price is cheaper per capacity.
        ([[8, 8], [4, 4]], [3.0, 1.0], [1, 0]),
        ([[8, 8], [4, 4]], [2.0, 1.0], [0, 1]),
    ],
    ids=["no-prices", "small-is-cheap", "equal-price"],
)
def test_opening_order_follows_price_per_capacity(
    capacity: list[list[float]], costs: list[float] | None, order: list[int]
) -> None:
    instance = instances.make_instance([[1, 1]], capacity, costs=costs)
    assert tables.opening_order(instance.shapes).tolist() == order


def test_a_dearer_shape_is_opened_for_what_the_cheap_one_cannot_hold() -> None:
    instance = instances.make_instance([[6], [3], [3], [3]], [[8], [4]], costs=[3.0, 1.0])
    packing = heuristics.pack(instance, heuristics.HEURISTICS.get("first-fit"))
    # 6 needs shape 0; none of the threes fits with it (6 + 3 > 8); each opens a cheap node.
    assert packing.shape_of_node.tolist() == [0, 1, 1, 1]


def test_a_limit_leads_to_the_next_shape() -> None:
    instance = instances.make_instance([[8], [4], [4], [8]], [[8], [4]], limits=[1, None])
    packing = heuristics.pack(instance, heuristics.HEURISTICS.get("first-fit"))
    assert packing.shape_of_node.tolist() == [0, 1, 1]
    assert packing.node_of_item.tolist() == [0, 1, 2, -1]
