"""Forecast accuracy: MAE, MAPE, RMSE, sMAPE, WAPE, MASE, pinball loss, coverage.

Everything is computed for each series over all its forecasts; shares are fractions, not percent.
A forecast without a known actual value (``nan``: beyond the end) does not count.

- MAPE is undefined at 0 and explodes near it. Values smaller than 1 % of the mean of all absolute
  values are omitted, and their number is reported.
- MASE divides the MAE by that of the seasonal naive forecast inside the *training part*, one step
  ahead for a season of one step (Hyndman and Koehler, Another look at measures of forecast
  accuracy, 2006). A series that never changed there has no scale, and no MASE.
- Pinball loss is the mean over the given levels.
- Coverage of 0.9 is the share of values inside the central 90 %: not below the 5 % quantile and
  not above the 95 % quantile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kubestow.model import arrays
from kubestow.policies.forecasting import seasons

SMALL = 0.01
"""Share of the mean absolute value below which MAPE omits a value."""


@dataclass(frozen=True, slots=True, eq=False)
class Accuracy:
    """Errors of each series; ``nan`` where an error is undefined.

    Attributes:
        mae: Mean absolute error.
        mape: Mean absolute error relative to the value.
        mape_dropped: Number of values too small for it.
        rmse: Root mean squared error.
        smape: Mean of twice the absolute error divided by the sum of the absolute values.
        wape: Sum of absolute errors divided by the sum of absolute values.
        mase: Mean absolute error relative to the naive one.
        count: Number of forecasts that count.
    """

    mae: arrays.Floats
    mape: arrays.Floats
    mape_dropped: arrays.Ints
    rmse: arrays.Floats
    smape: arrays.Floats
    wape: arrays.Floats
    mase: arrays.Floats
    count: arrays.Ints


def measure(actual: arrays.Floats, predicted: arrays.Floats, scales: arrays.Floats) -> Accuracy:
    """Return the errors of each series.

    Args:
        actual: Actual values; the first axis is the series.
        predicted: Forecasts, of the same shape.
        scales: Naive error of each series (``scale``).
    """
    truth = actual.reshape(len(actual), -1)
    known = np.isfinite(truth)
    sizes = np.abs(np.where(known, truth, 0.0))
    guess = np.where(known, predicted.reshape(truth.shape), 0.0)
    errors = np.abs(np.where(known, truth, 0.0) - guess)
    count = known.sum(axis=1)
    mae = _divide(errors.sum(axis=1), count)
    kept = known & (sizes >= SMALL * _divide(sizes.sum(axis=1), count)[:, None]) & (sizes > 0.0)
    both = sizes + np.abs(guess)
    return Accuracy(
        mae=mae,
        mape=_divide((_divide(errors, sizes) * kept).sum(axis=1, where=kept), kept.sum(axis=1)),
        mape_dropped=(known & ~kept).sum(axis=1),
        rmse=_root_mean_square(errors, count),
        smape=_divide(np.where(both > 0.0, _divide(2.0 * errors, both), 0.0).sum(axis=1), count),
        wape=_divide(errors.sum(axis=1), sizes.sum(axis=1)),
        mase=_divide(mae, scales),
        count=count,
    )


def scale(values: arrays.Floats, lengths: arrays.Ints | int = seasons.NONE) -> arrays.Floats:
    """Return the in-sample mean absolute error of the seasonal naive forecast.

    Args:
        values: The training part, one row per series.
        lengths: Season length in steps, for all or for each series; 1 for the last value.
    """
    scales = np.zeros(len(values))
    each = np.broadcast_to(np.asarray(lengths, dtype=np.int64), len(values))
    for length in np.unique(each):
        which = each == length
        if length < values.shape[1]:
            changes = np.abs(values[which, length:] - values[which, :-length])
            scales[which] = changes.mean(axis=1)
    return scales


def pinball(
    actual: arrays.Floats, quantiles: arrays.Floats, levels: Sequence[float]
) -> arrays.Floats:
    """Return the mean pinball loss of each series, over all forecasts and levels.

    Args:
        actual: Actual values; the first axis is the series.
        quantiles: Quantiles, with one more axis for the levels.
        levels: The levels.
    """
    known = np.isfinite(actual)[..., None]
    short = np.where(known, actual[..., None] - quantiles, 0.0)
    shares = np.asarray(levels)
    losses = np.maximum(shares * short, (shares - 1.0) * short)
    sums = losses.reshape(len(actual), -1).sum(axis=1)
    return _divide(sums, known.reshape(len(actual), -1).sum(axis=1) * len(shares))


def coverage(
    actual: arrays.Floats,
    quantiles: arrays.Floats,
    levels: Sequence[float],
    central: float,
) -> arrays.Floats:
    """Return the share of values inside a central interval, for each series.

    Args:
        actual: Actual values; the first axis is the series.
        quantiles: Quantiles, with one more axis for the levels.
        levels: The levels, with both ends of the interval among them.
        central: Width of the interval, e.g. 0.9 for the levels 0.05 and 0.95.
    """
    low, high = (_place(levels, 0.5 + sign * central / 2) for sign in (-1, 1))
    known = np.isfinite(actual)
    inside = known & (actual >= quantiles[..., low]) & (actual <= quantiles[..., high])
    sums = inside.reshape(len(actual), -1).sum(axis=1)
    return _divide(sums, known.reshape(len(actual), -1).sum(axis=1))


def _place(levels: Sequence[float], level: float) -> int:
    distances = np.abs(np.asarray(levels) - level)
    if not len(distances) or distances.min() > 1e-9:
        raise ValueError(f"level {level:g} is not among {', '.join(f'{x:g}' for x in levels)}")
    return int(distances.argmin())


def _root_mean_square(errors: arrays.Floats, count: arrays.Ints) -> arrays.Floats:
    """Return root mean squares, scaled so that squares neither underflow nor overflow."""
    largest = errors.max(axis=1, initial=0.0)
    safe = np.where(largest > 0.0, largest, 1.0)[:, None]
    roots: arrays.Floats = largest * np.sqrt(_divide(((errors / safe) ** 2).sum(axis=1), count))
    return roots


def _divide(
    upper: arrays.Floats | arrays.Ints, lower: arrays.Floats | arrays.Ints
) -> arrays.Floats:
    """Return quotients; ``nan`` where the denominator is not positive."""
    out = np.full(np.broadcast_shapes(np.shape(upper), np.shape(lower)), np.nan)
    np.divide(upper, lower, out=out, where=np.asarray(lower) > 0)
    return out
