"""Statistics of series: quantiles per series, and peaks and quantiles per window.

Quantiles are those of NumPy and of Prometheus' ``quantile_over_time``: linear between the two
nearest ranks. Missing points (NaN) do not count. Windows are counted from the end of the grid, so
that the last one is whole; a remainder at the beginning is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies.compiling import compiled


def quantiles(values: Floats, share: float) -> Floats:
    """Return a quantile of each row; NaN where nothing was measured."""
    return several_quantiles(values, (share,))[:, 0]


def several_quantiles(values: Floats, shares: Sequence[float]) -> Floats:
    """Return quantiles of each row, by row and share."""
    out = np.empty((len(values), len(shares)))
    _quantiles(values, np.array(shares, dtype=np.float64), out)
    return out


def pooled_quantiles(values: Floats, owners: Ints, count: int, share: float) -> Floats:
    """Return a quantile over all rows of each owner; rows are sorted by owner."""
    starts = np.searchsorted(owners, np.arange(count + 1))
    out = np.empty(count)
    _pooled(values, starts, share, out)
    return out


def counts(values: Floats) -> Ints:
    """Return how many points of each row were measured."""
    measured: Ints = np.count_nonzero(~np.isnan(values), axis=1)
    return measured


def largest(values: Floats) -> Floats:
    """Return the largest value of each row; NaN where nothing was measured."""
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    maxima: Floats = np.fmax.reduce(values, axis=1)
    return maxima


def peaks(values: Floats, points: int) -> Floats:
    """Return the largest value by row and window; NaN where nothing was measured.

    Args:
        values: Values by row and point.
        points: Length of a window in points.
    """
    shaped = windows(values, points)
    maxima: Floats = np.fmax.reduce(shaped, axis=2)
    return maxima


def window_quantiles(values: Floats, points: int, share: float) -> Floats:
    """Return a quantile by row and window; NaN where nothing was measured."""
    shaped = windows(values, points)
    rows, count, _ = shaped.shape
    return quantiles(np.ascontiguousarray(shaped).reshape(-1, points), share).reshape(rows, count)


def windows(values: Floats, points: int) -> Floats:
    """Return values by row, window and point; a remainder at the beginning is left out."""
    count = values.shape[1] // points
    return values[:, values.shape[1] - count * points :].reshape(len(values), count, points)


@compiled
def _quantile(known: Floats, share: float) -> float:
    """Return a quantile of unsorted values; reorders them in place."""
    count = len(known)
    if count == 0:
        return np.nan
    if share >= 1.0:
        return float(known.max())
    rank = share * (count - 1)
    below = min(int(np.floor(rank)), count - 1)
    low = _select(known, below)
    if below + 1 >= count or rank == below:
        return low
    # All larger values now follow it.
    high = known[below + 1 :].min()
    return float(low + (rank - below) * (high - low))


@compiled
def _select(values: Floats, place: int) -> float:
    """Return the value at an index of the sorted order (Hoare's selection)."""
    left, right = 0, len(values) - 1
    while left < right:
        pivot = values[(left + right) // 2]
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if place <= j:
            right = j
        elif place >= i:
            left = i
        else:
            break
    return float(values[place])


@compiled
def _quantiles(values: Floats, shares: Floats, out: Floats) -> None:
    for row in range(len(values)):
        line = values[row]
        known = line[~np.isnan(line)]
        for place in range(len(shares)):
            out[row, place] = _quantile(known, shares[place])


@compiled
def _pooled(values: Floats, starts: Ints, share: float, out: Floats) -> None:
    for owner in range(len(out)):
        block = values[starts[owner] : starts[owner + 1]].copy().reshape(-1)
        out[owner] = _quantile(block[~np.isnan(block)], share)
