"""How long a season is, found by autocorrelation in the past of each series on its own.

A season shows as a peak of the autocorrelation function (theses of time-series scaling call it
pattern matching). A peak counts if it is high, stands clearly above a trough before it (without
one, high values are only the slow decay of a smooth series), exceeds the limit of chance of the
seasonality test of the M4 competition's benchmarks (one-sided 90 %, Bartlett's variance), and if
the past holds at least ``CYCLES`` such seasons. Of several peaks nearly as high as the highest the
shortest counts: all multiples of a season are peaks, too. Seasons the calendar suggests (a day, a
week) need not be peaks of their own nor exceed chance: height and trough are enough.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from kubestow.model import arrays
from kubestow.model.arrays import Ints

NONE = 1
"""The season of a series that has none: each step is like the one before."""

CYCLES = 3
"""Whole seasons the past must hold."""

HEIGHT = 0.3
"""Least autocorrelation of a peak."""

RISE = 0.15
"""Least distance between a peak and the deepest trough before it."""

NEARLY = 0.92
"""A shorter season wins if its peak reaches this share of the highest."""

_CHANCE = 1.645
_HINTED = 0.98
_BESIDE = 0.05
_SHORTEST = 2


def choose(values: arrays.Floats, season: int | None, hints: Sequence[int] = ()) -> Ints:
    """Return the season that was given, or the one found for each series.

    A given season of which the past does not even hold one counts as none.
    """
    if season is None:
        return find(values, hints)
    usable = season if _SHORTEST <= season <= values.shape[1] else NONE
    return np.full(len(values), usable, dtype=np.int64)


def find(values: arrays.Floats, hints: Sequence[int] = ()) -> Ints:
    """Return the season of each series in steps, ``NONE`` where there is none.

    Args:
        values: One row per series.
        hints: Likely seasons in steps, likeliest first.
    """
    longest = values.shape[1] // CYCLES
    if longest < _SHORTEST:
        return np.full(len(values), NONE, dtype=np.int64)
    correlations = correlate(_level(values), longest + 1)
    heights = np.where(_peaks(correlations), correlations, -1.0)
    best = heights.max(axis=1, initial=-1.0)
    first = np.argmax(heights >= NEARLY * best[:, None], axis=1)
    lags = np.arange(heights.shape[1])
    # A broad peak is jagged: its top is the highest within a quarter of the lag.
    near = (lags >= first[:, None]) & (lags <= 1.25 * first[:, None])
    top = np.argmax(np.where(near, heights, -1.0), axis=1)
    found = np.where(best > 0.0, top, NONE).astype(np.int64)
    return _prefer(found, correlations, hints)


def _prefer(found: Ints, correlations: arrays.Floats, hints: Sequence[int]) -> Ints:
    """Return hints where no season was found and they pass, or the one found is no better."""
    trough = np.minimum.accumulate(correlations, axis=1)
    height = np.take_along_axis(correlations, found[:, None], axis=1)[:, 0]
    for hint in reversed(hints):
        if not _SHORTEST <= hint < correlations.shape[1] - 1:
            continue
        here = correlations[:, hint]
        passes = (here >= HEIGHT) & (here - trough[:, hint] >= RISE)
        beside = np.abs(found - hint) <= _BESIDE * hint
        lacking = (found == NONE) | (here >= np.where(beside, NEARLY, _HINTED) * height)
        found = np.where(passes & lacking, np.int64(hint), found)
    return found


def correlate(values: arrays.Floats, most: int) -> arrays.Floats:
    """Return autocorrelations at lags from 0 to a largest one; of constants they are 0.

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
    """Return the series without their lines of best fit, scaled so that squares stay finite."""
    size = np.abs(values).max(axis=1, keepdims=True)
    scaled = values / np.where(size > 0.0, size, 1.0)
    times = np.arange(values.shape[1]) - (values.shape[1] - 1) / 2
    centred = scaled - scaled.mean(axis=1, keepdims=True)
    level = centred - (centred @ times / (times @ times))[:, None] * times
    # What is left of a line or a constant is rounding, and rounding has no seasons.
    noise = np.abs(level).max(axis=1, keepdims=True) <= 1e-12
    return np.where(noise, 0.0, level)


def _peaks(correlations: arrays.Floats) -> NDArray[np.bool_]:
    """Tell which lags are peaks that count; the last lag has no right neighbour and is none."""
    inner = correlations[:, 1:-1]
    peaks = np.zeros(correlations.shape, dtype=np.bool_)
    tops = (inner >= correlations[:, :-2]) & (inner > correlations[:, 2:])
    trough = np.minimum.accumulate(correlations, axis=1)[:, 1:-1]
    chance = _chances(correlations)[:, 1:-1]
    peaks[:, 1:-1] = tops & (inner >= HEIGHT) & (inner - trough >= RISE) & (inner > chance)
    peaks[:, :_SHORTEST] = False
    return peaks


def _chances(correlations: arrays.Floats) -> arrays.Floats:
    """Return the limits of chance: Bartlett's variance of a lag grows with the lags before it."""
    squares = np.cumsum(correlations**2, axis=1) - 1.0
    before = np.concatenate((np.zeros((len(squares), 1)), squares[:, :-1]), axis=1)
    count = CYCLES * correlations.shape[1]
    limits: arrays.Floats = _CHANCE * np.sqrt(np.maximum(1.0 + 2.0 * before, 0.0) / count)
    return limits
