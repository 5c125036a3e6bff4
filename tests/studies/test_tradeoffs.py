"""Curves of cost against quality: worked numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kubestow.studies import tradeoffs

FLOOR = 1e-4


def curve(*points: tuple[float, float], seeds: int = 1) -> tradeoffs.TradeoffCurve:
    """Return a curve of costs and badness, the same for every seed."""
    cost = np.array([[c] * seeds for c, _ in points])
    badness = np.array([[b] * seeds for _, b in points])
    return tradeoffs.TradeoffCurve([0.1 * k for k in range(len(points))], cost, badness)


BASE = curve((10.0, 0.16), (20.0, 0.04), (40.0, 0.01))


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (10.0, 0.16),
        (15.0, 0.08),  # halfway between 0.16 and 0.04 on a logarithmic scale
        (30.0, 0.02),
        (40.0, 0.01),
        (9.99, math.nan),
        (40.01, math.nan),
    ],
)
def test_badness_is_interpolated_on_a_logarithmic_scale(cost: float, expected: float) -> None:
    result = tradeoffs.interpolate(BASE, 0, cost, FLOOR)
    assert result == pytest.approx(expected, nan_ok=True)


def test_points_need_not_come_in_the_order_of_their_costs() -> None:
    mixed = curve((40.0, 0.01), (10.0, 0.16), (20.0, 0.04))
    assert tradeoffs.interpolate(mixed, 0, 15.0, FLOOR) == pytest.approx(0.08)


def test_nothing_is_divided_by_nothing() -> None:
    still = curve((10.0, 0.0), (20.0, 0.0))
    assert tradeoffs.interpolate(still, 0, 15.0, FLOOR) == pytest.approx(FLOOR)
    assert tradeoffs.ratios(still, still, FLOOR) == pytest.approx(np.ones((2, 1)))


def test_ratios_are_at_equal_cost() -> None:
    ours = curve((15.0, 0.02), (30.0, 0.01), (50.0, 0.001))
    result = tradeoffs.ratios(ours, BASE, FLOOR)[:, 0]
    assert result == pytest.approx([0.25, 0.5, math.nan], nan_ok=True)


def test_a_way_beside_the_baseline() -> None:
    # Two seeds at costs 15 and 30, where the baseline has 0.08 and 0.02: ratios 0.5 and 2.
    ours = tradeoffs.TradeoffCurve([0.6], np.array([[15.0, 30.0]]), np.array([[0.04, 0.04]]))
    base = curve((10.0, 0.16), (20.0, 0.04), (40.0, 0.01), seeds=2)
    (point,) = tradeoffs.compare(ours, base, FLOOR)
    assert (point.target, point.cost, point.badness) == (0.6, 22.5, 0.04)
    assert point.baseline == pytest.approx(0.05)  # the mean of 0.08 and 0.02
    assert point.ratio == pytest.approx(1.0)  # the root of 0.5 x 2
    # t of one degree 12.7062, deviation of +-0.6931 is 0.9803, by the root of 2: 8.8073
    assert point.low == pytest.approx(math.exp(-8.8073), rel=1e-3)
    assert point.high == pytest.approx(math.exp(8.8073), rel=1e-3)


def test_seeds_beyond_the_baseline_do_not_count() -> None:
    ours = tradeoffs.TradeoffCurve([0.6], np.array([[15.0, 99.0]]), np.array([[0.04, 0.5]]))
    base = curve((10.0, 0.16), (20.0, 0.04), (40.0, 0.01), seeds=2)
    (point,) = tradeoffs.compare(ours, base, FLOOR)
    assert point.baseline == pytest.approx(0.08)
    assert point.ratio == pytest.approx(0.5)
    assert (point.low, point.high) == (None, None)


def test_without_overlap_nothing_is_said() -> None:
    far = curve((90.0, 0.1), seeds=2)
    base = curve((10.0, 0.16), (20.0, 0.04), seeds=2)
    (point,) = tradeoffs.compare(far, base, FLOOR)
    assert (point.baseline, point.ratio, point.low, point.high) == (None,) * 4
    assert tradeoffs.overall(far, base, FLOOR) == (None, None, None)


def test_over_the_curve_points_have_their_geometric_mean_per_seed() -> None:
    # Seed 0: 0.25 and 0.5 at costs 15 and 30, the third beyond; seed 1: 1 and 0.5.
    cost = np.array([[15.0, 15.0], [30.0, 30.0], [90.0, 90.0]])
    badness = np.array([[0.02, 0.08], [0.01, 0.01], [0.3, 0.3]])
    ours = tradeoffs.TradeoffCurve([0.5, 0.6, 0.7], cost, badness)
    base = curve((10.0, 0.16), (20.0, 0.04), (40.0, 0.01), seeds=2)
    ratio, low, high = tradeoffs.overall(ours, base, FLOOR)
    assert ratio == pytest.approx(0.5)  # the root of 0.125^(1/2) x 0.5^(1/2)
    assert low is not None
    assert high is not None
    assert low * high == pytest.approx(0.25)


def test_geometric_means_and_their_intervals() -> None:
    assert tradeoffs.geometric(np.array([])) == (None, None, None)
    mean, *ends = tradeoffs.geometric(np.array([2.0]))
    assert mean == pytest.approx(2.0)
    assert ends == [None, None]
    # Logs of 1, 2, 4 have mean 0.6931 and deviation 0.6931; 4.3027 x 0.6931 / 1.7321 = 1.7218
    mean, low, high = tradeoffs.geometric(np.array([1.0, 2.0, 4.0]))
    assert mean == pytest.approx(2.0)
    assert low == pytest.approx(2.0 * math.exp(-1.7218), rel=1e-3)
    assert high == pytest.approx(2.0 * math.exp(1.7218), rel=1e-3)
