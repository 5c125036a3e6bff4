"""Each score on one node and one pod, with the arithmetic shown."""

import math

import numpy as np
import pytest

from kubestow.policies.placing.packing import scores, states, tables

# Used (0.5, 0.2), so free (0.5, 0.8); the pod demands (0.1, 0.3).
USED = np.array([[0.5, 0.2]])
POD = np.array([[0.1, 0.3]])


def prepare() -> tuple[states.PackingNodes, states.Item]:
    table = tables.unit_table(2)
    nodes = states.make_nodes(1, 2)
    states.add_node(nodes, 0, 0, table)
    states.put_item(nodes, 0, USED, 0)
    states.refresh_node(nodes, 0, table, True)
    item = states.make_item(1, 2)
    assert states.take_item(item, POD, 0, table) == 1
    states.rank_item(item, table)
    return nodes, item


def score(weights: tuple[float, float, float, float]) -> float:
    nodes, item = prepare()
    item.weights[:] = weights
    values = np.empty(1)
    scores.set_blend(nodes, np.zeros(1, np.int64), 1, item, values)
    return float(values[0])


def test_mean_is_the_utilisation_after_placement() -> None:
    # The mean of 0.6 and 0.5.
    assert score((1, 0, 0, 0)) == pytest.approx(0.55)


def test_balance_is_one_minus_the_population_deviation() -> None:
    # utilisation 0.6 and 0.5: mean 0.55, deviations 0.05
    assert score((0, 1, 0, 0)) == pytest.approx(0.95)


def test_cosine_and_angle_use_free_capacity_before_placement() -> None:
    # <(0.5, 0.8), (0.1, 0.3)> = 0.29; norms sqrt(0.89), sqrt(0.1)
    cosine = 0.29 / math.sqrt(0.89 * 0.1)
    assert score((0, 0, 1, 0)) == pytest.approx(cosine)
    assert score((0, 0, 0, 1)) == pytest.approx(math.acos(cosine))


def test_a_blend_is_the_weighted_sum() -> None:
    parts = score((1, 0, 0, 0)) + 2 * score((0, 1, 0, 0)) - 2 * score((0, 0, 0, 1))
    assert score((1, 2, 0, -2)) == pytest.approx(parts)


def test_without_room_or_demand_there_is_a_right_angle() -> None:
    nodes, item = prepare()
    item.norm[:] = 0.0
    item.weights[:] = (0, 0, 0, 1)
    values = np.empty(1)
    scores.set_blend(nodes, np.zeros(1, np.int64), 1, item, values)
    assert values[0] == pytest.approx(math.pi / 2)


def order_key(order: list[int], rank: list[int], window: int, rule: int) -> float:
    d = len(order)
    nodes = states.make_nodes(1, d)
    nodes.order[0] = order
    item = states.make_item(1, d)
    item.rank[:] = rank
    item.window[0] = window
    values = np.empty(1)
    setter = scores.set_permutation if rule == scores.PERMUTATION else scores.set_choice
    setter(nodes, np.zeros(1, np.int64), 1, item, values)
    return float(values[0])


def test_permutation_pack_prefers_orders_lexicographically() -> None:
    # The pod demands most of resource 0, then 1, then 2: ranks 0, 1, 2. Best is a node that uses
    # least of 0, then 1, then 2; next come permutations of the small components.
    orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    keys = [order_key(order, [0, 1, 2], 3, scores.PERMUTATION) for order in orders]
    assert keys == sorted(keys, reverse=True)
    assert keys[0] == 2 * 9 + 1 * 3 + 0  # digits to base 3, the best rank counts 2
    assert len(set(keys)) == 6


def test_a_window_ignores_the_order_of_the_rest() -> None:
    full = [order_key(order, [0, 1, 2], 1, scores.PERMUTATION) for order in ([0, 1, 2], [0, 2, 1])]
    assert full[0] == full[1]


def test_choose_pack_ignores_the_order_inside_the_window() -> None:
    keys = [
        order_key(order, [0, 1, 2, 3], 2, scores.CHOICE)
        for order in ([0, 1, 2, 3], [1, 0, 3, 2], [0, 2, 1, 3])
    ]
    assert keys[0] == keys[1] > keys[2]


def test_rank_and_order_describe_pod_and_node() -> None:
    nodes, item = prepare()
    assert item.order[0].tolist() == [1, 0]  # demands 0.3 of resource 1, 0.1 of resource 0
    assert item.rank.tolist() == [1, 0]
    assert nodes.order[0].tolist() == [1, 0]  # resource 1 is used least
