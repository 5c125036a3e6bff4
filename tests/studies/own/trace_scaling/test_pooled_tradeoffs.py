"""Curves over a whole period: means of blocks, their ratio, and what drawing again says of it."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.studies import tradeoffs
from kubestow.studies.own.trace_scaling import pooled_tradeoffs

FLOOR = 1e-4


def curve(cost: list[list[float]], badness: list[list[float]]) -> tradeoffs.TradeoffCurve:
    targets = [0.1 * k for k in range(len(cost))]
    return tradeoffs.TradeoffCurve(targets, np.array(cost), np.array(badness))


BASE = curve([[10.0, 10.0], [40.0, 40.0]], [[0.0, 0.32], [0.0, 0.02]])


def test_means_come_before_the_ratio() -> None:
    # Over both blocks the baseline has 0.16 at 10 and 0.01 at 40, so 0.04 at 25.
    ours = curve([[20.0, 30.0]], [[0.0, 0.04]])
    (point,) = pooled_tradeoffs.compare(ours, BASE, FLOOR)
    assert (point.cost, point.badness) == (25.0, 0.02)
    assert point.ratio == pytest.approx(0.5)
    assert point.baseline == pytest.approx(0.04)


def test_a_ratio_that_is_the_same_in_every_block_has_no_width() -> None:
    base = curve([[10.0] * 6, [40.0] * 6], [[0.16] * 6, [0.01] * 6])
    ours = curve([[25.0] * 6], [[0.02] * 6])
    assert pooled_tradeoffs.overall(ours, base, FLOOR) == pytest.approx((0.5, 0.5, 0.5))


def test_blocks_that_differ_give_a_wide_interval_around_the_ratio() -> None:
    rng = np.random.default_rng(3)
    factors = rng.lognormal(0.0, 0.5, 12)
    base = curve([[10.0] * 12, [40.0] * 12], [[0.16] * 12, [0.01] * 12])
    ours = curve([[25.0] * 12], [list(0.04 * factors)])
    ratio, low, high = pooled_tradeoffs.overall(ours, base, FLOOR)
    assert ratio == pytest.approx(factors.mean())
    assert ratio is not None
    assert low is not None
    assert high is not None
    # A mean of 12 values with a deviation s has a standard error of s / root 12; 1.96 of them.
    half = 1.96 * factors.std() / 12**0.5
    assert high - low == pytest.approx(2.0 * half, rel=0.1)
    assert low < ratio < high


def test_without_a_common_cost_nothing_is_said() -> None:
    far = curve([[90.0, 90.0]], [[0.1, 0.1]])
    (point,) = pooled_tradeoffs.compare(far, BASE, FLOOR)
    assert (point.ratio, point.low, point.baseline) == (None, None, None)
    assert pooled_tradeoffs.overall(far, BASE, FLOOR) == (None, None, None)
    assert pooled_tradeoffs.ratio_at(far, BASE, np.array([[20.0, 20.0]]), FLOOR) == (
        None, None, None,
    )  # fmt: skip


def test_a_third_curve_at_the_costs_of_another() -> None:
    half = curve([[10.0, 10.0], [40.0, 40.0]], [[0.08, 0.08], [0.005, 0.005]])
    base = curve([[10.0, 10.0], [40.0, 40.0]], [[0.16, 0.16], [0.01, 0.01]])
    costs = np.array([[20.0, 20.0], [30.0, 30.0], [90.0, 90.0]])
    assert pooled_tradeoffs.ratio_at(half, base, costs, FLOOR) == pytest.approx((0.5, 0.5, 0.5))
