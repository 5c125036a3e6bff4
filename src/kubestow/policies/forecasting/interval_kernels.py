"""Compiled loops of intervals: rings of errors, and quantiles of the errors seen lately.

The quantile at a level q of n errors is the one at place (n + 1) q of the sorted errors, between
two of them by linear interpolation and never outside. That is the correction of conformal
prediction for small samples: the next error is as likely to fall in any of the n + 1 gaps between
the n errors seen (Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005), so an
interval has to be a little wider than the plain quantiles.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kubestow.policies import compiling

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiling.compiled
def _place(ordered: Floats, count: int, value: float) -> int:
    """Return before how many of the first sorted numbers a value stands."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiling.compiled
def _insert(ordered: Floats, count: int, value: float) -> None:
    place = _place(ordered, count, value)
    for i in range(count, place, -1):
        ordered[i] = ordered[i - 1]
    ordered[place] = value


@compiling.compiled
def _remove(ordered: Floats, count: int, value: float) -> None:
    for i in range(_place(ordered, count, value), count - 1):
        ordered[i] = ordered[i + 1]


@compiling.compiled
def _read(ordered: Floats, count: int, levels: Floats, found: Floats) -> None:
    """Fill in the quantiles of sorted errors; without any, zeros."""
    for i in range(len(levels)):
        found[i] = 0.0
        if count > 0:
            place = min(max(levels[i] * (count + 1) - 1.0, 0.0), count - 1.0)
            below = int(place)
            above = min(below + 1, count - 1)
            found[i] = ordered[below] + (place - below) * (ordered[above] - ordered[below])


@compiling.compiled
def read_all(rings: Floats, counts: Integers, levels: Floats, found: Floats) -> None:
    """Fill in quantiles of the rings: by series, step and level."""
    for s in range(rings.shape[0]):
        for h in range(rings.shape[1]):
            count = min(counts[s, h], rings.shape[2])
            _read(np.sort(rings[s, h, :count]), count, levels, found[s, h])


@compiling.compiled
def push(rings: Floats, counts: Integers, errors: Floats) -> None:
    """Add errors to the rings, in place; the oldest give way.

    Args:
        rings: By series, step and place.
        counts: How many errors ever came, by series and step.
        errors: By series, step and point, oldest first; ``nan`` is passed over.
    """
    size = rings.shape[2]
    for s in range(errors.shape[0]):
        for h in range(errors.shape[1]):
            for t in range(errors.shape[2]):
                if np.isfinite(errors[s, h, t]):
                    rings[s, h, counts[s, h] % size] = errors[s, h, t]
                    counts[s, h] += 1


@compiling.compiled
def roll(rings: Floats, counts: Integers, errors: Floats, levels: Floats, found: Floats) -> None:
    """Add errors one by one, in place, and fill in the quantiles after each.

    Args:
        rings: By series, step and place.
        counts: How many errors ever came, by series and step.
        errors: By series, step and point.
        levels: Levels of the quantiles.
        found: By series, point, step and level, to be filled.
    """
    size = rings.shape[2]
    for s in range(errors.shape[0]):
        for h in range(errors.shape[1]):
            ring = rings[s, h]
            count = min(counts[s, h], size)
            ordered = np.empty(size + 1)
            ordered[:count] = np.sort(ring[:count])
            for t in range(errors.shape[2]):
                error = errors[s, h, t]
                if np.isfinite(error):
                    if count == size:
                        _remove(ordered, count, ring[counts[s, h] % size])
                        count -= 1
                    _insert(ordered, count, error)
                    count += 1
                    ring[counts[s, h] % size] = error
                    counts[s, h] += 1
                _read(ordered, count, levels, found[s, t, h])
