"""The checker finds what is wrong, not only that something is."""

import numpy as np
import pytest

from kubestow.policies.placing.packing import instances, verification

INSTANCE = instances.make_instance(
    [[3], [4], [5]],
    [[8], [5]],
    limits=[None, 1],
    resources=["cpu"],
    existing=instances.Existing(np.array([[6.0]]), np.array([[2.0]])),
)


def packing(nodes: list[int], shapes: list[int], opened: int) -> instances.Packing:
    return instances.Packing(np.array(nodes), np.array(shapes), opened)


def test_a_correct_packing_passes() -> None:
    # Node 0 is there with 2 of 6 used and gets 4; node 1 of shape 0 holds 3 + 5 = 8.
    verification.verify(INSTANCE, packing([1, 0, 1], [-1, 0], 1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (packing([1, 0], [-1, 0], 1), "2 places for 3 items"),
        (packing([1, 0, -1], [-1, 0], 1), "item 2 has no node"),
        (packing([1, 0, 2], [-1, 0], 1), "item 2 is on node 2 of 2"),
        (packing([0, 1, 1], [-1, 0], 1), "node 1: cpu: 9 of 8.0 used"),
        (packing([0, 0, 1], [-1, 0], 1), "node 0: cpu: 9 of 6.0 used"),
        (packing([1, 2, 3], [-1, 1, 1, 0], 3), "2 nodes of shape 1, limit 1"),
        (packing([1, 0, 1], [-1, 0, 0], 2), "node 2 was opened but holds no item"),
        (packing([1, 0, 1], [-1, 0], 2), "2 nodes, but 1 existed and 2 were opened"),
        (packing([1, 0, 1], [0, 0], 1), "has the shape of an opened one"),
        (packing([1, 0, 1], [-1, 7], 1), "node 1 has unknown shape 7"),
    ],
    ids=[
        "short",
        "unplaced",
        "index",
        "overfull",
        "overfull-existing",
        "limit",
        "empty",
        "count",
        "kind",
        "shape",
    ],
)
def test_every_violation_is_named(wrong: instances.Packing, message: str) -> None:
    with pytest.raises(verification.PackingError, match=message):
        verification.verify(INSTANCE, wrong)


def test_one_unit_too_much_is_found_where_running_sums_in_floats_would_not() -> None:
    instance = instances.make_instance([[2**53 - 1], [2]], [2**53])
    with pytest.raises(verification.PackingError):
        verification.verify(instance, packing([0, 0], [0], 1))
