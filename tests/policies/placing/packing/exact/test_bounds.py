"""Lower bounds are never above the optimum, and as high as the arithmetic in the comments says."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings

from kubestow.policies.placing.packing import instances
from kubestow.policies.placing.packing.exact import bounds, patterns
from kubestow.policies.placing.packing.offline import bin_completion, item_classes
from tests.policies.placing.packing import arcflow, drawing


def unlimited() -> float:
    return math.inf


@settings(deadline=None, max_examples=80)
@given(drawing.uniform())
def test_no_bound_exceeds_the_optimum(instance: instances.Instance) -> None:
    optimum = arcflow.count_by_trying(instance)
    assert optimum is not None
    batch = item_classes.classify_items(instance)
    quick = bounds.quick_bound(instance)
    best = bounds.lower_bound(instance, unlimited)
    assert bounds.volume_bound(instance) <= quick.value
    assert bounds.threshold_bound(batch) <= quick.value
    assert bounds.clique_bound(batch) <= quick.value
    assert quick.value <= best.value <= optimum


@settings(deadline=None, max_examples=80)
@given(drawing.mixed())
def test_no_bound_exceeds_the_optimum_where_nodes_differ(instance: instances.Instance) -> None:
    optimum = arcflow.count_by_trying(instance)
    assume(optimum is not None)
    assert optimum is not None
    assert bounds.lower_bound(instance, unlimited).value <= optimum


@settings(deadline=None, max_examples=25)
@given(drawing.uniform(most_items=12, largest=8))
def test_bounds_hold_against_arc_flow(instance: instances.Instance) -> None:
    assert bounds.lower_bound(instance, unlimited).value <= arcflow.count_by_arcflow(instance)


@settings(deadline=None, max_examples=30)
@given(drawing.uniform(most_items=5))
def test_arc_flow_agrees_with_trying_everything(instance: instances.Instance) -> None:
    assert arcflow.count_by_arcflow(instance) == arcflow.count_by_trying(instance)


@settings(deadline=None, max_examples=40)
@given(drawing.uniform())
def test_prices_of_the_linear_program_value_no_pattern_above_a_node(
    instance: instances.Instance,
) -> None:
    batch = item_classes.classify_items(instance)
    master = patterns.Master(batch.counts)
    master.add(bin_completion.complete(batch))
    generation = patterns.generate(batch, master, unlimited)
    assert generation.prices @ batch.counts == pytest.approx(generation.bound)
    for pattern in master.patterns:
        assert generation.prices[list(pattern)].sum() <= 1.0 + 1e-4


@pytest.mark.parametrize(
    ("demands", "capacity", "value", "method"),
    [
        # 4 + 4 + 4 = 12 of 10 per node: 2 nodes.
        ([[4], [4], [4]], [10], 2, "volume"),
        # Three items above half a node: 3, though the volume of 18 needs only 2.
        ([[6], [6], [6]], [10], 3, "threshold"),
        # At threshold 4: 8 counts as a node, three of 4 as 1.2, so 2.2; the volume is 2.
        ([[8], [4], [4], [4]], [10], 3, "threshold"),
        # No two fit together, each pair for another resource; volumes are 1.1.
        ([[6, 5, 0], [5, 0, 6], [0, 6, 5]], [10, 10, 10], 3, "clique"),
        # Two items of 4 fill a node as far as it goes: 5 items need 2.5 nodes, volumes only 2.
        ([[4]] * 5, [10], 3, "columns"),
    ],
    ids=["volume", "half", "threshold", "clique", "columns"],
)
def test_worked_examples(
    demands: list[list[int]], capacity: list[int], value: int, method: str
) -> None:
    instance = instances.make_instance(demands, capacity)
    assert bounds.lower_bound(instance, unlimited) == bounds.Bound(value, method)


def test_without_time_the_quick_bounds_are_given() -> None:
    instance = instances.make_instance([[4]] * 5, [10])
    assert bounds.lower_bound(instance, lambda: 0.0) == bounds.Bound(2, "volume")


def test_limits_and_free_room_count_in_the_volume() -> None:
    # 40 in total, 5 free on the node that is there: 35 = one node of 20, then 10 and 5 of 10.
    instance = instances.make_instance(
        [[10]] * 4,
        [[20], [10]],
        limits=[1, None],
        existing=instances.Existing(np.array([[8.0]]), np.array([[3.0]])),
    )
    assert bounds.volume_bound(instance) == 3


def test_tenths_that_add_up_to_a_node_do_not_ask_for_another_one() -> None:
    instance = instances.make_instance([[0.1]] * 10, [1.0])
    assert bounds.lower_bound(instance, unlimited).value == 1


def test_no_items_need_no_node() -> None:
    assert bounds.lower_bound(instances.make_instance(np.empty((0, 1)), [1]), unlimited).value == 0


def test_bounds_of_files_with_negative_sizes_hold_with_relief() -> None:
    # The file says -2, 6, 6 on nodes of 10: all fit on one. Read as 0, 6, 6 two are needed.
    read = instances.make_instance([[0], [6], [6]], [10])
    assert bounds.quick_bound(read).value == 2
    assert bounds.quick_bound(bounds.add_relief(read, [2.0])).value == 1
