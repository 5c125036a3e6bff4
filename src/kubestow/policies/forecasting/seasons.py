"""Season lengths, detected by autocorrelation in the history of each series.

A season appears as a peak of the autocorrelation function (theses on time-series scaling call it
pattern matching). A peak counts if it is high, clearly above a preceding trough (without one, high
values are only the slow decay of a smooth series), significant by the seasonality test of the M4
competition's benchmarks (one-sided 90 %, Bartlett's variance), and if the history holds at least
``CYCLES`` such seasons. Of several peaks nearly as high as the highest, the shortest is chosen,
because all multiples of a season are peaks too. Seasons that the calendar suggests (a day, a week)
need not be peaks nor significant: height and trough are enough. If there is still none, they are
looked for behind noise and bursts: in the ranks of means over a 24th of a season.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from kubestow.model import arrays
from kubestow.model.arrays import Ints
from kubestow.policies.forecasting import protocols

NONE = 1
"""The season length of a series without a season."""

CYCLES = 3
"""Minimum number of whole seasons in the history."""

HEIGHT = 0.3
"""Minimum autocorrelation of a peak."""

RISE = 0.15
"""Minimum distance between a peak and the deepest trough before it."""

NEARLY = 0.92
"""A shorter season is chosen if its peak reaches this share of the highest."""

_CHANCE = 1.645
_HINTED = 0.98
_NEARBY = 0.05
_SHORTEST = 2
_PARTS = 24


def choose(values: arrays.Floats, season: int | Ints | None, hints: Sequence[int] = ()) -> Ints:
    """Return the given seasons, or the one detected for each series.

    A given season that is longer than the history counts as none.
    """
    if season is None:
        return find(values, hints)
    given = np.broadcast_to(np.asarray(season, dtype=np.int64), len(values))
    return np.where((given >= _SHORTEST) & (given <= values.shape[1]), given, np.int64(NONE))


def detect(
    forecaster: protocols.PointForecaster, values: arrays.Floats
) -> protocols.PointForecaster:
    """Return a model with the seasons of a whole history, for fits to a part of it.

    A model whose errors are measured on the end of a history is fitted to the part before, which
    may be too short to show a season.
    """
    if isinstance(forecaster, protocols.SeasonalForecaster):
        return forecaster.detect_seasons(values)
    return forecaster


def find(values: arrays.Floats, hints: Sequence[int] = ()) -> Ints:
    """Return the season of each series in steps, ``NONE`` where there is none.

    Args:
        values: One row per series.
        hints: Likely seasons in steps, most likely first.
    """
    longest = values.shape[1] // CYCLES
    if longest < _SHORTEST:
        return np.full(len(values), NONE, dtype=np.int64)
    correlations = correlate(_level(values), longest + 1)
    heights = np.where(_peaks(correlations), correlations, -1.0)
    best = heights.max(axis=1, initial=-1.0)
    first = np.argmax(heights >= NEARLY * best[:, None], axis=1)
    lags = np.arange(heights.shape[1])
    # A broad peak is jagged: its top is the highest value within a quarter of the lag.
    near = (lags >= first[:, None]) & (lags <= 1.25 * first[:, None])
    top = np.argmax(np.where(near, heights, -1.0), axis=1)
    lengths = np.where(best > 0.0, top, NONE).astype(np.int64)
    preferred = _prefer(lengths, correlations, hints)
    return _recover(preferred, values, [hint for hint in hints if _SHORTEST <= hint <= longest])


def _prefer(lengths: Ints, correlations: arrays.Floats, hints: Sequence[int]) -> Ints:
    """Return hints where they pass and no season was detected, or the detected one is no better."""
    trough = np.minimum.accumulate(correlations, axis=1)
    height = np.take_along_axis(correlations, lengths[:, None], axis=1)[:, 0]
    for hint in reversed(hints):
        if not _SHORTEST <= hint < correlations.shape[1] - 1:
            continue
        here = correlations[:, hint]
        passes = (here >= HEIGHT) & (here - trough[:, hint] >= RISE)
        nearby = np.abs(lengths - hint) <= _NEARBY * hint
        lacking = (lengths == NONE) | (here >= np.where(nearby, NEARLY, _HINTED) * height)
        lengths = np.where(passes & lacking, np.int64(hint), lengths)
    return lengths


def _recover(lengths: Ints, values: arrays.Floats, hints: Sequence[int]) -> Ints:
    """Return the first hint that stands out of noise and bursts, where no season was detected."""
    for hint in hints:
        lacking = lengths == NONE
        if lacking.any():
            lengths = lengths.copy()
            lengths[lacking] = np.where(_stands_out(values[lacking], hint), hint, NONE)
    return lengths


def _stands_out(values: arrays.Floats, season: int) -> NDArray[np.bool_]:
    """Return where ranks of means over a 24th of a season repeat after one season.

    Means remove noise and ranks remove bursts, which both hide a season. The correlation after
    one season must be high, and clearly above those after a half and after one and a half.
    """
    width = max(1, season // _PARTS)
    count, length = values.shape[1] // width, season / width
    last = values[:, values.shape[1] - count * width :]
    ranks = _rank(last.reshape(len(values), count, width).mean(axis=2))
    correlations = correlate(_level(ranks), min(count - 1, round(1.5 * length) + 1))
    half, whole, beyond = (
        correlations[:, max(round(share * length) - 1, 1) : round(share * length) + 2]
        for share in (0.5, 1.0, 1.5)
    )
    height = whole.max(axis=1) if width > 1 else correlations[:, season]
    trough = np.maximum(half.mean(axis=1), beyond.mean(axis=1))
    stands: NDArray[np.bool_] = (height >= HEIGHT) & (height - trough >= 2.0 * RISE)
    return stands


def _rank(values: arrays.Floats) -> arrays.Floats:
    """Return the rank of each value in its row; equal values share the mean of their ranks."""
    ranks = np.empty(values.shape)
    for row, ranked in zip(values, ranks, strict=True):
        ordered = np.sort(row)
        ranked[:] = np.searchsorted(ordered, row, "left") + np.searchsorted(ordered, row, "right")
    return ranks / 2.0


def correlate(values: arrays.Floats, most: int) -> arrays.Floats:
    """Return autocorrelations at lags from 0 to ``most``; 0 for constant series.

    The sums are divided by the number of their terms, so that long lags are not damped.
    """
    count = values.shape[1]
    centred = values - values.mean(axis=1, keepdims=True)
    size = fft.next_fast_len(2 * count, real=True)
    spectrum = fft.rfft(centred, size, axis=1)
    sums = fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, : most + 1]
    terms = count - np.arange(most + 1)
    variance = sums[:, :1] / count
    safe = np.where(variance > 0.0, variance, 1.0)
    return np.where(variance > 0.0, sums / terms / safe, 0.0)


def _level(values: arrays.Floats) -> arrays.Floats:
    """Return the detrended series, scaled so that squares stay finite."""
    size = np.abs(values).max(axis=1, keepdims=True)
    scaled = values / np.where(size > 0.0, size, 1.0)
    times = np.arange(values.shape[1]) - (values.shape[1] - 1) / 2
    centred = scaled - scaled.mean(axis=1, keepdims=True)
    level = centred - (centred @ times / (times @ times))[:, None] * times
    # The residual of a line or a constant is rounding error, which has no seasons.
    noise = np.abs(level).max(axis=1, keepdims=True) <= 1e-12
    return np.where(noise, 0.0, level)


def _peaks(correlations: arrays.Floats) -> NDArray[np.bool_]:
    """Return which lags are valid peaks; the last lag has no right neighbour and is none."""
    inner = correlations[:, 1:-1]
    peaks = np.zeros(correlations.shape, dtype=np.bool_)
    tops = (inner >= correlations[:, :-2]) & (inner > correlations[:, 2:])
    trough = np.minimum.accumulate(correlations, axis=1)[:, 1:-1]
    chance = _chances(correlations)[:, 1:-1]
    peaks[:, 1:-1] = tops & (inner >= HEIGHT) & (inner - trough >= RISE) & (inner > chance)
    peaks[:, :_SHORTEST] = False
    return peaks


def _chances(correlations: arrays.Floats) -> arrays.Floats:
    """Return significance limits: Bartlett's variance of a lag grows with the lags before it."""
    squares = np.cumsum(correlations**2, axis=1) - 1.0
    before = np.concatenate((np.zeros((len(squares), 1)), squares[:, :-1]), axis=1)
    count = CYCLES * correlations.shape[1]
    limits: arrays.Floats = _CHANCE * np.sqrt(np.maximum(1.0 + 2.0 * before, 0.0) / count)
    return limits
