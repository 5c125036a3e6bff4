"""Compiled loops of direct regression: features, weighted normal equations, forecasts.

All features are deviations from the current value, and the target is the change from it. All-zero
coefficients are therefore persistence, towards which a penalty shrinks. The features of an origin
t and a step h ahead are

- deviations of some earlier values y(t - lag),
- deviations of means over the last values,
- for each season m: y(t + h - m), the mean around it, that mean over several seasons, and the same
  two for the current step, y(t - m) and the mean around it: yesterday's change and today's
  deviation,
- the deviation of the mean of the whole history, to which an *anchored* model reverts, and a
  constant.

Absolute errors are minimised with weights inverse to the errors of the previous round (iteratively
reweighted least squares), so that forecasts are medians and robust to bursts.
"""

from __future__ import annotations

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies import compiling

PER_SEASON = 5
"""Features of one season."""

_NEAREST = 0.1
"""Errors below this share of those of persistence get equal weights."""

_WIDEST = 24
"""The mean around a value extends at most 1/24 of a season to both sides."""


@compiling.compiled
def accumulate(values: Floats) -> Floats:
    """Return the cumulative sums of the first 0, 1, ... values."""
    sums = np.zeros(len(values) + 1)
    for t in range(len(values)):
        sums[t + 1] = sums[t] + values[t]
    return sums


@compiling.compiled
def _mean(sums: Floats, first: int, last: int) -> float:
    begin = max(0, first)
    return float((sums[last + 1] - sums[begin]) / (last + 1 - begin))


@compiling.compiled
def _mean_around(sums: Floats, here: int, reach: int, season: int, cycles: int, now: int) -> float:
    """Return the mean around a position, over up to ``cycles`` seasons back."""
    total, count = 0.0, 0
    for cycle in range(cycles):
        position = here - cycle * season
        if position < 0:
            break
        total += _mean(sums, position - reach, min(now, position + reach))
        count += 1
    return total / count


@compiling.compiled
def _fill_season(
    x: Floats, y: Floats, sums: Floats, t: int, h: int, season: int, cycles: int
) -> None:
    """Fill in the features of one season; 0 where the history is too short."""
    back = ((h + season - 1) // season) * season
    reference, now = t + h - back, y[t]
    if season <= 1 or reference < 0:
        x[:] = 0.0
        return
    reach = max(1, min(season // _WIDEST, h))
    x[0] = y[reference] - now
    x[1] = _mean(sums, reference - reach, min(t, reference + reach)) - now
    x[2] = _mean_around(sums, reference, reach, season, cycles, t) - now
    x[3] = (y[t - season] if t >= season else now) - now
    x[4] = 0.0
    if t >= season:
        x[4] = _mean_around(sums, t - season, reach, season, cycles, t) - now


@compiling.compiled
def fill(
    x: Floats,
    y: Floats,
    sums: Floats,
    t: int,
    h: int,
    lags: Ints,
    windows: Ints,
    seasons: Ints,
    cycles: int,
    anchored: bool,
) -> None:
    """Fill in the features of one origin and step; the mean of the history is 0 by scaling."""
    now = y[t]
    for i in range(len(lags)):
        x[i] = y[max(0, t - lags[i])] - now
    position = len(lags)
    for i in range(len(windows)):
        x[position + i] = _mean(sums, t - windows[i] + 1, t) - now
    position += len(windows)
    for i in range(len(seasons)):
        _fill_season(x[position : position + PER_SEASON], y, sums, t, h, seasons[i], cycles)
        position += PER_SEASON
    x[position] = -now if anchored else 0.0
    x[position + 1] = 1.0


@compiling.compiled
def solve(matrix: Floats, right: Floats) -> Floats:
    """Solve a symmetric positive definite system by Cholesky; only the lower half is read."""
    size = len(right)
    lower = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= lower[i, k] * lower[j, k]
            if i == j:
                lower[i, i] = np.sqrt(max(rest, 1e-12 * matrix[i, i] + 1e-300))
            else:
                lower[i, j] = rest / lower[j, j]
    solution = right.copy()
    for i in range(size):
        for k in range(i):
            solution[i] -= lower[i, k] * solution[k]
        solution[i] /= lower[i, i]
    for i in range(size - 1, -1, -1):
        for k in range(i + 1, size):
            solution[i] -= lower[k, i] * solution[k]
        solution[i] /= lower[i, i]
    return solution


@compiling.compiled
def _weigh(
    features: Floats,
    changes: Floats,
    recency: Floats,
    coefficients: Floats,
    usual: float,
    weights: Floats,
) -> None:
    """Fill in weights inverse to the errors of given coefficients."""
    for i in range(len(changes)):
        error = changes[i]
        for a in range(len(coefficients)):
            error -= coefficients[a] * features[i, a]
        weights[i] = recency[i] * usual / max(abs(error), _NEAREST * usual)


@compiling.compiled
def _fit(
    features: Floats, changes: Floats, recency: Floats, strength: float, rounds: int
) -> Floats:
    """Return the coefficients of one series and step."""
    count, size = features.shape
    usual = np.abs(changes).mean()
    coefficients = np.zeros(size)
    if not usual > 0.0:
        return coefficients
    weights = recency.copy()
    for r in range(rounds):
        if r:
            _weigh(features, changes, recency, coefficients, usual, weights)
        matrix, right, total = np.zeros((size, size)), np.zeros(size), weights.sum()
        for i in range(count):
            for a in range(size):
                weighted = weights[i] * features[i, a]
                right[a] += weighted * changes[i]
                for b in range(a + 1):
                    matrix[a, b] += weighted * features[i, b]
        for a in range(size):
            matrix[a, a] *= 1.0 + strength
            matrix[a, a] += 1e-9 * total
        coefficients = solve(matrix, right)
    return coefficients


@compiling.compiled
def _largest_change(y: Floats, h: int) -> float:
    largest = 0.0
    for t in range(len(y) - h):
        largest = max(largest, abs(y[t + h] - y[t]))
    return largest


@compiling.compiled
def fit(
    values: Floats,
    horizons: Ints,
    lags: Ints,
    windows: Ints,
    seasons: Ints,
    cycles: int,
    anchored: bool,
    firsts: Ints,
    most: int,
    half_life: float,
    strength: float,
    rounds: int,
    limits: Floats,
) -> Floats:
    """Return coefficients by series and horizon.

    Args:
        values: One row per series, scaled to a mean of 0.
        horizons: Steps ahead.
        lags: Earlier values among the features.
        windows: Lengths of the means among them.
        seasons: Seasons of each series; 1 for none.
        cycles: Number of seasons to average.
        anchored: Whether the mean of the history is among the features.
        firsts: First origin of each series.
        most: Maximum number of origins; more are thinned out evenly.
        half_life: Age at which an origin counts half, as a share of all origins.
        strength: Penalty, in observations.
        rounds: Rounds of reweighting.
        limits: Filled with the largest change over each horizon.
    """
    size = len(lags) + len(windows) + PER_SEASON * seasons.shape[1] + 2
    coefficients = np.zeros((values.shape[0], len(horizons), size))
    for s in range(values.shape[0]):
        y = values[s]
        sums = accumulate(y)
        for k in range(len(horizons)):
            h = horizons[k]
            usable = len(y) - h - firsts[s]
            if usable < 1:
                continue
            # Neighbouring origins are nearly redundant: a subset is enough.
            stride = (usable + most - 1) // most
            count = (usable + stride - 1) // stride
            features, changes = np.empty((count, size)), np.empty(count)
            recency = np.empty(count)
            for i in range(count):
                t = len(y) - h - 1 - (count - 1 - i) * stride
                fill(features[i], y, sums, t, h, lags, windows, seasons[s], cycles, anchored)
                changes[i] = y[t + h] - y[t]
                recency[i] = 0.5 ** ((count - 1 - i) / (half_life * count))
            coefficients[s, k] = _fit(features, changes, recency, strength / usable, rounds)
            limits[s, k] = _largest_change(y, h)
    return coefficients


@compiling.compiled
def forecast(
    values: Floats,
    first: int,
    coefficients: Floats,
    limits: Floats,
    ranges: Floats,
    lags: Ints,
    windows: Ints,
    seasons: Ints,
    cycles: int,
    anchored: bool,
    means: Floats,
) -> None:
    """Fill in the means after each point from a first one on.

    Args:
        values: One row per series, scaled.
        first: First origin.
        coefficients: By series and step ahead.
        limits: Largest change by series and step ahead.
        ranges: Minimum and maximum of each series.
        lags: Earlier values among the features.
        windows: Lengths of the means among them.
        seasons: Seasons of each series.
        cycles: Number of seasons to average.
        anchored: Whether the mean of the history is among the features.
        means: Filled, by series, origin and step ahead.
    """
    x = np.empty(coefficients.shape[2])
    for s in range(values.shape[0]):
        sums = accumulate(values[s])
        for k in range(means.shape[1]):
            t = first + k
            for h in range(1, means.shape[2] + 1):
                fill(x, values[s], sums, t, h, lags, windows, seasons[s], cycles, anchored)
                change = 0.0
                for a in range(len(x)):
                    change += coefficients[s, h - 1, a] * x[a]
                now, limit = values[s, t], limits[s, h - 1]
                highest, lowest = max(ranges[s, 1], now + limit), min(ranges[s, 0], now - limit)
                means[s, k, h - 1] = min(highest, max(lowest, now + change))
