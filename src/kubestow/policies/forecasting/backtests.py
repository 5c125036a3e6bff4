"""Back-tests: forecasts along the history, each from the data known at its origin.

The origin rolls over the points after a first part on which the model is fitted. Parameters stay,
the state is updated; optionally the model is refitted every ``refit_every`` origins. All horizons
come from the same forecasts. Time is read from a clock argument.

``find_leak`` repeats a back-test with a changed future: earlier forecasts must not change by a
single bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kubestow.model import arrays
from kubestow.policies.forecasting import histories, intervals, protocols

Clock = Callable[[], float]
Watch = Callable[[int], None]

_MOST_NUMBERS = 1_000_000
"""Maximum numbers of one block of forecasts: 8 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Backtest:
    """Forecasts along the history.

    Attributes:
        horizons: Steps ahead.
        origins: Points known at each origin.
        actual: Actual values, by series, origin and horizon; ``nan`` beyond the end.
        predicted: Forecasts, of the same shape.
        fit_s: Total seconds spent on fitting.
        predict_s: Seconds spent on updating and forecasting.
        fits: Number of fits.
    """

    horizons: tuple[int, ...]
    origins: arrays.Ints
    actual: arrays.Floats
    predicted: arrays.Floats
    fit_s: float
    predict_s: float
    fits: int


def run(
    forecaster: protocols.PointForecaster,
    values: arrays.Floats,
    begin: int,
    horizons: Sequence[int],
    *,
    stride: int = 1,
    refit_every: int = 0,
    clock: Clock = lambda: 0.0,
    watch: Watch = lambda _: None,
) -> Backtest:
    """Roll a point model over the history.

    Args:
        forecaster: The model.
        values: One row per series.
        begin: Points known at the first origin; the first fit uses only these.
        horizons: Steps ahead.
        stride: Points between two origins.
        refit_every: Number of origins after which the model is refitted to all points known then; 0
            for never.
        clock: Returns the time in seconds.
        watch: Called with the number of origins done.
    """
    rows = histories.as_rows(values)
    steps, origins = tuple(horizons), place_origins(rows.shape[1], begin, horizons, stride)
    predicted = np.empty((len(rows), len(origins), len(steps)))
    fit_s = predict_s = 0.0
    fits = done = 0
    block = refit_every or len(origins)
    for first in range(0, len(origins), block):
        started = clock()
        fitted = forecaster.fit(rows[:, : origins[first]])
        between = clock()
        part = origins[first : first + block]
        for forecasts in _forecast(fitted, rows, part, stride, steps):
            predicted[:, done : done + forecasts.shape[1]] = forecasts
            done += forecasts.shape[1]
            watch(done)
        fit_s, predict_s = fit_s + between - started, predict_s + clock() - between
        fits += 1
    actual = take_actual(rows, origins, steps)
    return Backtest(steps, origins, actual, predicted, fit_s, predict_s, fits)


def place_origins(points: int, begin: int, horizons: Sequence[int], stride: int = 1) -> arrays.Ints:
    """Return the origins for which the value at the shortest horizon is known."""
    return np.arange(begin, points - min(horizons) + 1, stride, dtype=np.int64)


def take_actual(
    values: arrays.Floats, origins: arrays.Ints, horizons: Sequence[int]
) -> arrays.Floats:
    """Return the actual value of each origin and horizon; ``nan`` beyond the end."""
    places = origins[:, None] + np.asarray(horizons, dtype=np.int64) - 1
    known = places < values.shape[1]
    return np.where(known, values[:, np.where(known, places, 0)], np.nan)


def _forecast(
    fitted: protocols.PointFitted,
    rows: arrays.Floats,
    origins: arrays.Ints,
    stride: int,
    horizons: tuple[int, ...],
) -> list[arrays.Floats]:
    """Return the forecasts from each origin in blocks; the model is at the first one."""
    columns, most = np.asarray(horizons) - 1, max(horizons)
    blocks = [fitted.means(most)[:, None, columns]]
    # Rolling forecasts after every point, which is wasteful where origins are far apart.
    chunk = stride if stride > 1 else max(1, _MOST_NUMBERS // (len(rows) * most))
    here, last = int(origins[0]), int(origins[-1])
    while here < last:
        points = rows[:, here : min(here + chunk, last)]
        if stride > 1:
            fitted = fitted.update(points)
            blocks.append(fitted.means(most)[:, None, columns])
        else:
            blocks.append(fitted.roll(points, most)[:, :, columns])
            fitted = fitted.update(points)
        here += points.shape[1]
    return blocks


def find_leak(
    forecaster: protocols.PointForecaster,
    values: arrays.Floats,
    begin: int,
    horizons: Sequence[int],
    rng: np.random.Generator,
    *,
    cuts: int = 3,
) -> str | None:
    """Return where a forecast depends on points after its origin; ``None`` if nowhere.

    Args:
        forecaster: The model.
        values: One row per series, with points after ``begin``.
        begin: Points known at the first origin.
        horizons: Steps ahead.
        rng: Draws the changed futures.
        cuts: Number of positions from which the future is changed.
    """
    before = run(forecaster, values, begin, horizons)
    spread = 1.0 + np.abs(values).max()
    for cut in np.linspace(begin, values.shape[1] - 1, cuts, dtype=np.int64):
        other = values.copy()
        other[:, cut:] += spread * rng.standard_normal(other[:, cut:].shape)
        after = run(forecaster, other, begin, horizons)
        known = before.origins <= cut
        differs = (before.predicted[:, known] != after.predicted[:, known]).any(axis=(0, 2))
        if differs.any():
            origin = int(before.origins[known][differs][0])
            return f"{forecaster.name}: from origin {origin} points at or after {cut} are used"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class IntervalBacktest:
    """Forecasts along the history, with quantiles.

    Attributes:
        means: The point forecasts.
        levels: Levels of the quantiles.
        quantiles: By series, origin, horizon and level.
    """

    means: Backtest
    levels: tuple[float, ...]
    quantiles: arrays.Floats


def run_with_intervals(
    forecaster: intervals.Intervals,
    values: arrays.Floats,
    begin: int,
    horizons: Sequence[int],
    levels: Sequence[float],
    *,
    clock: Clock = lambda: 0.0,
    watch: Watch = lambda _: None,
) -> IntervalBacktest:
    """Roll a model with prediction intervals over the history.

    Args:
        forecaster: The model.
        values: One row per series.
        begin: Points known at the first origin; the fit uses only these.
        horizons: Steps ahead.
        levels: Levels of the quantiles.
        clock: Returns the time in seconds.
        watch: Called with the number of origins done.
    """
    rows = histories.as_rows(values)
    origins = place_origins(rows.shape[1], begin, horizons)
    started = clock()
    fitted = forecaster.fit(rows[:, :begin])
    between = clock()
    columns, most = np.asarray(horizons) - 1, max(horizons)
    now = fitted.predict(most, levels)
    means, quantiles = [now.mean[:, None, columns]], [now.quantiles[:, None, columns]]
    chunk = max(1, _MOST_NUMBERS // (len(rows) * most * max(1, len(levels))))
    for here in range(begin, int(origins[-1]), chunk):
        points = rows[:, here : min(here + chunk, int(origins[-1]))]
        rolled = fitted.roll(points, most, levels)
        means.append(rolled.mean[:, :, columns])
        quantiles.append(rolled.quantiles[:, :, columns])
        fitted = fitted.update(points)
        watch(here + points.shape[1] - begin)
    backtest = Backtest(
        tuple(horizons),
        origins,
        take_actual(rows, origins, horizons),
        np.concatenate(means, axis=1),
        between - started,
        clock() - between,
        1,
    )
    return IntervalBacktest(backtest, now.levels, np.concatenate(quantiles, axis=1))
