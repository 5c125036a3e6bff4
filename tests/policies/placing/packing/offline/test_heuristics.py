"""Offline heuristics: every one packs all that fits, on nodes of any kind; names are checked."""

import numpy as np
import pytest
from hypothesis import given, settings

from kubestow.model import errors
from kubestow.policies.placing.packing import instances, verification
from kubestow.policies.placing.packing.offline import heuristics
from tests.policies.placing.packing import arcflow, drawing


@pytest.mark.parametrize("name", list(heuristics.OFFLINE_HEURISTICS))
@settings(deadline=None, max_examples=12)
@given(instance=drawing.uniform(most_items=12))
def test_all_items_are_placed_on_equal_nodes(name: str, instance: instances.Instance) -> None:
    packing = heuristics.OFFLINE_HEURISTICS.get(name).pack(instance)
    verification.verify(instance, packing)


@pytest.mark.parametrize("name", list(heuristics.OFFLINE_HEURISTICS))
@settings(deadline=None, max_examples=12)
@given(instance=drawing.mixed())
def test_shapes_limits_and_existing_nodes_are_respected(
    name: str, instance: instances.Instance
) -> None:
    packing = heuristics.OFFLINE_HEURISTICS.get(name).pack(instance)
    verification.verify(instance, packing, allow_unplaced=True)


@settings(deadline=None, max_examples=40)
@given(instance=drawing.real())
def test_completion_packs_demands_that_are_not_whole(instance: instances.Instance) -> None:
    verification.verify(instance, heuristics.OFFLINE_HEURISTICS.get("completion").pack(instance))


@settings(deadline=None, max_examples=60)
@given(instance=drawing.mixed())
def test_completion_leaves_no_item_that_an_unlimited_shape_would_hold(
    instance: instances.Instance,
) -> None:
    packing = heuristics.OFFLINE_HEURISTICS.get("completion").pack(instance)
    limits = instance.shapes.limits or ()
    unlimited = [
        c for c, limit in zip(instance.shapes.capacity, limits, strict=True) if limit is None
    ]
    for item in packing.unplaced:
        assert not any(np.all(instance.demands[item] <= capacity) for capacity in unlimited)


def test_completion_finds_perfect_nodes_where_first_fit_decreasing_does_not() -> None:
    # 6+4, 5+3+2 and 5+3+2 fill three nodes of 10; FFD starts 6 + 3 and needs a fourth.
    instance = instances.make_instance([[6], [5], [5], [4], [3], [3], [2], [2]], [10])
    assert heuristics.OFFLINE_HEURISTICS.get("completion").pack(instance).opened == 3
    harder = instances.make_instance([[7], [7], [6], [4], [3], [2], [1]], [10])
    assert heuristics.OFFLINE_HEURISTICS.get("completion").pack(
        harder
    ).opened == arcflow.count_by_arcflow(harder)


def test_items_without_partners_come_first() -> None:
    # The item (9, 9) fits with no other, (6, 1) only with (1, 6) and (4, 4).
    instance = instances.make_instance([[4, 4], [6, 1], [1, 6], [9, 9], [4, 5]], [10, 10])
    packing = heuristics.OFFLINE_HEURISTICS.get("completion").pack(instance)
    assert packing.node_of_item[3] == 0
    assert packing.opened == arcflow.count_by_trying(instance)


def test_no_items_need_no_node() -> None:
    instance = instances.make_instance(np.empty((0, 2)), [1, 1])
    for heuristic in heuristics.OFFLINE_HEURISTICS.entries():
        assert heuristic.pack(instance).opened == 0


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(errors.InputError, match="'ffd': must be one of ffd-l1, "):
        heuristics.OFFLINE_HEURISTICS.get("ffd")


def test_an_item_larger_than_a_node_is_refused_by_name() -> None:
    instance = instances.make_instance([[1], [5]], [4], items=["a", "b"], resources=["cpu"])
    with pytest.raises(errors.InputError, match="item b: cpu: 5: must be <= 4"):
        heuristics.OFFLINE_HEURISTICS.get("completion").pack(instance)
