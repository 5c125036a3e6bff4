"""Trade-off curves of cost and quality, and their comparison at equal cost.

A scaler is a curve: every target utilisation gives one point of cost (pod-hours) and badness (a
response time or a share of overloaded requests). Scalers are compared where their costs overlap:
the badness of the baseline is interpolated at the cost of each point of the other, on a logarithmic
scale, since badness spans orders of magnitude. This is done per seed, so seeds are replicates and
intervals are paired. The ratio over the curve is the geometric mean over its points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.workflows import comparing


@dataclass(frozen=True, slots=True, eq=False)
class TradeoffCurve:
    """One scaler under several targets and seeds.

    Attributes:
        targets: Target utilisations.
        cost: By target and seed.
        badness: By target and seed; smaller is better.
    """

    targets: Sequence[float]
    cost: Floats
    badness: Floats


@dataclass(frozen=True, slots=True)
class Point:
    """One target of a scaler, compared with the baseline at the same cost.

    Attributes:
        target: The target utilisation.
        cost: Mean cost.
        badness: Mean badness.
        baseline: Mean badness of the baseline at the same costs; ``None`` outside its curve.
        ratio: Geometric mean over seeds of badness / baseline badness.
        low: Lower end of its 95 % interval.
        high: Upper end.
    """

    target: float
    cost: float
    badness: float
    baseline: float | None
    ratio: float | None
    low: float | None
    high: float | None


def interpolate(curve: TradeoffCurve, seed: int, cost: float, floor: float) -> float:
    """Return the badness of a curve at a cost; NaN outside the curve.

    Args:
        curve: The curve.
        seed: Index of the seed.
        cost: The cost.
        floor: Lower bound of badness, so that ratios are defined.
    """
    order = np.argsort(curve.cost[:, seed])
    costs, badness = curve.cost[order, seed], np.maximum(curve.badness[order, seed], floor)
    if not costs[0] <= cost <= costs[-1]:
        return float("nan")
    return float(np.exp(np.interp(cost, costs, np.log(badness))))


def ratios(curve: TradeoffCurve, baseline: TradeoffCurve, floor: float) -> Floats:
    """Return badness / baseline badness at equal cost, by target and seed; NaN where unknown."""
    count, seeds = curve.cost.shape
    quotients = np.full((count, seeds), np.nan)
    for row in range(count):
        for seed in range(seeds):
            there = interpolate(baseline, seed, float(curve.cost[row, seed]), floor)
            quotients[row, seed] = max(float(curve.badness[row, seed]), floor) / there
    return quotients


def compare(curve: TradeoffCurve, baseline: TradeoffCurve, floor: float) -> list[Point]:
    """Return each target of a scaler with its ratio to the baseline."""
    quotients = ratios(curve, baseline, floor)
    points = []
    for row, target in enumerate(curve.targets):
        known = np.isfinite(quotients[row])
        ratio, low, high = geometric(quotients[row][known])
        # ratio = badness / baseline badness, so baseline badness = badness / ratio.
        there = np.maximum(curve.badness[row][known], floor) / quotients[row][known]
        points.append(
            Point(
                target=float(target),
                cost=float(curve.cost[row].mean()),
                badness=float(curve.badness[row].mean()),
                baseline=float(there.mean()) if known.any() else None,
                ratio=ratio,
                low=low,
                high=high,
            )
        )
    return points


def overall(
    curve: TradeoffCurve, baseline: TradeoffCurve, floor: float
) -> tuple[float | None, ...]:
    """Return the ratio over the overlap of two curves: one value per seed, then the mean.

    Returns:
        Geometric mean over seeds, and the ends of its 95 % interval.
    """
    logs = np.log(ratios(curve, baseline, floor))
    known = np.isfinite(logs).any(axis=0)
    if not known.any():
        return None, None, None
    return geometric(np.exp(np.nanmean(logs[:, known], axis=0)))


def geometric(values: Floats) -> tuple[float | None, float | None, float | None]:
    """Return the geometric mean and the ends of its 95 % interval; one value has no interval."""
    if not len(values):
        return None, None, None
    logs = np.log(values)
    mean = float(logs.mean())
    if len(values) < 2:
        return float(np.exp(mean)), None, None
    half = comparing.reach(len(values)) * float(logs.std(ddof=1)) / float(np.sqrt(len(values)))
    return float(np.exp(mean)), float(np.exp(mean - half)), float(np.exp(mean + half))
