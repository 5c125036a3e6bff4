"""Compiled loops of exponential smoothing: level, damped trend, additive season, in one pass.

The recursions are those of Holt and Winters in the form of Hyndman and Athanasopoulos, Forecasting:
Principles and Practice (3rd edition, 8.3 and 8.4), with a damped trend:

    e = y - (l + phi b) - s            error of the one-step forecast
    l' = l + phi b + alpha e           b' = phi b + beta* (l' - l - phi b)
    s' = s + gamma e                   y(t + h) = l + (phi + ... + phi^h) b + s(t + h - m)

With gamma = 0 and seasons of zero this is Holt's method, with beta* = 0 and no trend simple
smoothing. Constants minimise the in-sample mean absolute error of the forecasts at the given
horizons: first on a coarse grid, then by pattern search around the best point.
"""

from __future__ import annotations

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies import compiling

ALPHA, BETA, PHI, GAMMA = range(4)
"""Positions of the constants."""

LEVEL, TREND = range(2)
"""Positions in the state; seasonal values follow, one per phase."""

_ROUNDS = 16


@compiling.compiled
def _damp(phi: float, most: int) -> Floats:
    """Return phi + ... + phi^h for h from 0 to ``most``."""
    sums = np.zeros(most + 1)
    power = 1.0
    for h in range(1, most + 1):
        power *= phi
        sums[h] = sums[h - 1] + power
    return sums


@compiling.compiled
def _advance(state: Floats, constants: Floats, phase: int, y: float) -> None:
    """Update one state with one point at a phase of the season."""
    expected = state[LEVEL] + constants[PHI] * state[TREND]
    error = y - expected - state[2 + phase]
    level = expected + constants[ALPHA] * error
    state[TREND] = constants[PHI] * state[TREND] + constants[BETA] * (level - expected)
    state[2 + phase] += constants[GAMMA] * error
    state[LEVEL] = level


@compiling.compiled
def begin(values: Floats, seasons: Ints, states: Floats) -> None:
    """Fill in states before the first point.

    The level is the mean of the first season (without one, of the first three points), the trend is
    0, and the seasonal values are the mean deviations of the first two seasons from their means.
    """
    for s in range(values.shape[0]):
        season = seasons[s]
        span = min(values.shape[1], season if season > 1 else 3)
        states[s, :] = 0.0
        states[s, LEVEL] = values[s, :span].mean()
        if season == 1:
            continue
        for cycle in range(min(2, values.shape[1] // season)):
            mean = values[s, cycle * season : (cycle + 1) * season].mean()
            for phase in range(season):
                deviation = values[s, cycle * season + phase] - mean
                states[s, 2 + phase] += (deviation - states[s, 2 + phase]) / (cycle + 1)


@compiling.compiled
def advance(states: Floats, constants: Floats, seasons: Ints, count: int, points: Floats) -> None:
    """Update states with points, in place; ``count`` points came before."""
    for s in range(points.shape[0]):
        for t in range(points.shape[1]):
            _advance(states[s], constants[s], (count + t) % seasons[s], points[s, t])


@compiling.compiled
def forecast(states: Floats, constants: Floats, seasons: Ints, count: int, means: Floats) -> None:
    """Fill in the means of the next steps."""
    for s in range(means.shape[0]):
        damped = _damp(constants[s, PHI], means.shape[1])
        for h in range(1, means.shape[1] + 1):
            phase = (count + h - 1) % seasons[s]
            trend = damped[h] * states[s, TREND]
            means[s, h - 1] = states[s, LEVEL] + trend + states[s, 2 + phase]


@compiling.compiled
def roll(
    states: Floats,
    constants: Floats,
    seasons: Ints,
    count: int,
    points: Floats,
    means: Floats,
) -> None:
    """Update states with points, in place, and fill in the forecasts after each."""
    steps = means.shape[2]
    for s in range(points.shape[0]):
        damped = _damp(constants[s, PHI], steps)
        for t in range(points.shape[1]):
            _advance(states[s], constants[s], (count + t) % seasons[s], points[s, t])
            for h in range(1, steps + 1):
                phase = (count + t + h) % seasons[s]
                trend = damped[h] * states[s, TREND]
                means[s, t, h - 1] = states[s, LEVEL] + trend + states[s, 2 + phase]


@compiling.compiled
def _loss(
    y: Floats,
    begin: Floats,
    constants: Floats,
    season: int,
    skipped: int,
    horizons: Ints,
    weights: Floats,
) -> float:
    """Return the weighted sum over horizons of in-sample mean absolute errors."""
    state = begin.copy()
    damped = _damp(constants[PHI], int(horizons[-1]))
    sums = np.zeros(len(horizons))
    for t in range(len(y)):
        _advance(state, constants, t % season, y[t])
        if t < skipped:
            continue
        for i in range(len(horizons)):
            h = horizons[i]
            if t + h >= len(y):
                break
            mean = state[LEVEL] + damped[h] * state[TREND] + state[2 + (t + h) % season]
            sums[i] += abs(y[t + h] - mean)
    loss = 0.0
    for i in range(len(horizons)):
        terms = len(y) - horizons[i] - skipped
        if terms > 0:
            loss += weights[i] * sums[i] / terms
    return loss


@compiling.compiled
def _refine(
    best: Floats,
    least: float,
    widths: Floats,
    bounds: Floats,
    y: Floats,
    begin: Floats,
    season: int,
    skipped: int,
    horizons: Ints,
    weights: Floats,
) -> None:
    """Pattern search around the best constants, in place; steps halve without improvement."""
    steps = widths.copy()
    for _ in range(_ROUNDS):
        before = least
        for k in range(4):
            if steps[k] == 0.0 or (k == GAMMA and season == 1):
                continue
            for sign in (-1.0, 1.0):
                trial = best.copy()
                trial[k] = min(bounds[k, 1], max(bounds[k, 0], best[k] + sign * steps[k]))
                loss = _loss(y, begin, trial, season, skipped, horizons, weights)
                if loss < least:
                    least = loss
                    best[:] = trial
        if not least < before:
            steps *= 0.5


@compiling.compiled
def search(
    values: Floats,
    begins: Floats,
    seasons: Ints,
    skipped: Ints,
    grid: Floats,
    widths: Floats,
    bounds: Floats,
    horizons: Ints,
    weights: Floats,
) -> Floats:
    """Return the best constants of each series.

    Args:
        values: One row per series.
        begins: State of each series before its first point.
        seasons: Season length of each series, in steps.
        skipped: Number of first points of each series to ignore.
        grid: Constants to try, one set per row.
        widths: First steps of the search around the best set; 0 for fixed constants.
        bounds: Minimum and maximum of each constant.
        horizons: Steps ahead to optimise for, ascending.
        weights: Weight of each horizon for each series.
    """
    constants = np.zeros((values.shape[0], 4))
    for s in range(values.shape[0]):
        least = np.inf
        trial = grid[0].copy()
        constants[s] = trial
        for g in range(grid.shape[0]):
            trial[:] = grid[g]
            if seasons[s] == 1:  # a season of one step would act as a second level
                trial[GAMMA] = 0.0
            loss = _loss(values[s], begins[s], trial, seasons[s], skipped[s], horizons, weights[s])
            if loss < least:
                least = loss
                constants[s] = trial
        _refine(
            constants[s],
            least,
            widths,
            bounds,
            values[s],
            begins[s],
            seasons[s],
            skipped[s],
            horizons,
            weights[s],
        )
    return constants
