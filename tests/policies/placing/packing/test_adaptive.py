"""What `adaptive` learns from the pods that have arrived."""

import numpy as np
import pytest

from kubestow.model.arrays import Floats
from kubestow.policies.placing.packing import (
    adaptive,
    heuristics,
    instances,
    parameters,
    states,
    tables,
)


def weights_after(pods: Floats) -> tuple[float, list[float]]:
    d = pods.shape[1]
    table = tables.unit_table(d)
    item = states.make_item(1, d)
    statistics = np.zeros(adaptive.ADAPTIVE_COLUMNS + d)
    for index in range(len(pods)):
        states.take_item(item, pods, index, table)
        adaptive.observe_item(item, 0, statistics)
    adaptive.weigh_item(item, 0, statistics, parameters.AdaptiveParameters().encode(d))
    return float(item.weights[3]), item.scarcity.tolist()


def test_balance_counts_more_the_smaller_the_pods_are() -> None:
    angles = [weights_after(np.full((50, 2), share))[0] for share in (0.5, 0.3, 0.2, 0.1)]
    assert angles == sorted(angles, reverse=True)
    assert angles[0] > -0.2
    assert angles[-1] == -parameters.AdaptiveParameters().cap


def test_at_the_pivot_the_weight_is_the_balance_parameter() -> None:
    # Equal pods of the pivot's size: no spread, all resources alike, own size equals the mean.
    angle, scarcity = weights_after(np.full((50, 3), 0.4))
    assert angle == pytest.approx(-0.4)
    assert scarcity == [1.0, 1.0, 1.0]


def test_balance_is_dropped_when_one_resource_alone_is_scarce() -> None:
    pods = np.tile([0.1, 0.001], (5000, 1))
    angle, scarcity = weights_after(pods)
    assert scarcity[0] == 1.0
    assert scarcity[1] < 1e-9
    assert abs(angle) < 1e-9


def test_the_prior_keeps_the_first_pods_from_deciding_what_is_scarce() -> None:
    _, scarcity = weights_after(np.array([[0.1, 0.05]]))
    # (0.05 + 200 * 0.075) / (0.1 + 200 * 0.075) to the power 8
    assert scarcity[1] == pytest.approx((15.05 / 15.1) ** 8)


def test_pods_that_fill_a_node_alone_do_not_make_pods_look_large() -> None:
    small = np.full((40, 2), 0.2)
    alone = np.concatenate([small, np.ones((40, 2)), small[:1]])
    assert weights_after(alone)[0] == pytest.approx(weights_after(small)[0])


def test_a_longer_tail_lowers_the_weight_of_balance() -> None:
    even = np.full((40, 2), 0.2)
    spread = np.tile([[0.05, 0.05], [0.35, 0.35], [0.2, 0.2]], (20, 1))
    assert abs(weights_after(spread)[0]) < abs(weights_after(even)[0])


def test_adaptive_does_not_look_ahead() -> None:
    rng = np.random.default_rng(2)
    pods = rng.random((200, 3)) * 0.3
    other = pods.copy()
    other[100:] = rng.random((100, 3))
    chosen = heuristics.HEURISTICS.get("adaptive")
    first, second = (
        heuristics.pack(instances.make_instance(one, np.ones(3)), chosen).node_of_item[:100]
        for one in (pods, other)
    )
    assert first.tolist() == second.tolist()


@pytest.mark.parametrize(("mean", "window"), [(0.01, 4), (0.25, 2), (0.4, 1), (0.6, 1)], ids=str)
def test_adaptive_pack_shortens_its_window_for_heavy_pods(mean: float, window: int) -> None:
    # d (1 - mean / 0.5) with d = 4: 3.92, 2, 0.8, below zero
    item = states.make_item(1, 4)
    statistics = np.array([1.0, 0, 0, 0, mean, mean, mean, mean])
    adaptive.adapt_window(item, statistics, parameters.AdaptiveWindow().encode(4))
    assert item.window[0] == window
