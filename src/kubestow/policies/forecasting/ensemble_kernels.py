"""Compiled loops of the ensemble: errors that fade, weights out of errors, weighted means.

The error of a candidate at a horizon is a fading mean of absolute errors, in which the last points
count most. Weights are inverse to a high power of it: a candidate twice as bad as the best one has
no say, and one that is as good has an equal say. A few observations of the candidates' common mean
stand at the beginning, so that short pasts do not crown a winner by chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kubestow.policies import compiling

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PRIOR = 5.0
"""Observations of the candidates' common mean error at the beginning."""


@compiling.compiled
def _learn(errors: Floats, total: Floats, k: int, expected: Floats, y: float, fade: float) -> None:
    """Let errors at one horizon fade and add those of one point; ``nan`` was not expected."""
    if not np.isfinite(expected[0, k]):
        return
    total[k] = fade * total[k] + 1.0
    for c in range(errors.shape[0]):
        errors[c, k] = fade * errors[c, k] + abs(y - expected[c, k])


@compiling.compiled
def weigh(errors: Floats, total: Floats, k: int, power: float, weights: Floats) -> None:
    """Fill in the weights of one horizon; they add up to one."""
    common = errors[:, k].mean() / total[k] if total[k] > 0.0 else 0.0
    least = np.inf
    for c in range(len(weights)):
        weights[c] = (errors[c, k] + PRIOR * common) / (total[k] + PRIOR)
        least = min(least, weights[c])
    for c in range(len(weights)):
        weights[c] = (least / weights[c]) ** power if least > 0.0 else 1.0
    weights /= weights.sum()


@compiling.compiled
def weigh_all(errors: Floats, totals: Floats, power: float, weights: Floats) -> None:
    """Fill in the weights of all series: by series, horizon and candidate."""
    for s in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            weigh(errors[s], totals[s], k, power, weights[s, k])


@compiling.compiled
def learn(
    errors: Floats,
    totals: Floats,
    expected: Floats,
    before: int,
    points: Floats,
    horizons: Integers,
    fade: float,
) -> None:
    """Learn from points what candidates had expected of them, in place.

    Args:
        errors: By series, candidate and horizon.
        totals: Fading number of errors, by series and horizon.
        expected: By series, origin, candidate and horizon; the first ``before`` origins lie before
            the points, then there is one per point.
        before: Origins before the first point.
        points: One row per series.
        horizons: Steps ahead.
        fade: How much of an error is left one step later.
    """
    for s in range(points.shape[0]):
        for t in range(points.shape[1]):
            for k in range(len(horizons)):
                origin = before + t - horizons[k]
                if origin >= 0:
                    _learn(errors[s], totals[s], k, expected[s, origin], points[s, t], fade)


@compiling.compiled
def roll(
    errors: Floats,
    totals: Floats,
    expected: Floats,
    before: int,
    points: Floats,
    horizons: Integers,
    fade: float,
    power: float,
    places: Integers,
    rolled: Floats,
    means: Floats,
) -> None:
    """Learn as ``learn`` does and fill in the weighted means after each point.

    Args:
        errors: By series, candidate and horizon; changed.
        totals: Fading number of errors; changed.
        expected: By series, origin, candidate and horizon.
        before: Origins before the first point.
        points: One row per series.
        horizons: Steps ahead.
        fade: How much of an error is left one step later.
        power: How sharply weights follow errors.
        places: The horizon whose weights each step takes.
        rolled: By candidate, series, point and step.
        means: By series, point and step, to be filled.
    """
    weights = np.empty((len(horizons), errors.shape[1]))
    for s in range(points.shape[0]):
        for t in range(points.shape[1]):
            for k in range(len(horizons)):
                origin = before + t - horizons[k]
                if origin >= 0:
                    _learn(errors[s], totals[s], k, expected[s, origin], points[s, t], fade)
                weigh(errors[s], totals[s], k, power, weights[k])
            for h in range(means.shape[2]):
                total = 0.0
                for c in range(rolled.shape[0]):
                    total += weights[places[h], c] * rolled[c, s, t, h]
                means[s, t, h] = total
