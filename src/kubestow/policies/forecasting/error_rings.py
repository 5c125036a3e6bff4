"""Rings of errors: the newest of each series and step ahead, and their quantiles.

Quantiles are corrected for small samples: of n sorted errors, level q is at position (n + 1) q.
"""

from __future__ import annotations

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.policies import compiling


@compiling.compiled
def _place(ordered: Floats, count: int, value: float) -> int:
    """Return the insertion position of a value in the first ``count`` sorted numbers."""
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
    position = _place(ordered, count, value)
    for i in range(count, position, -1):
        ordered[i] = ordered[i - 1]
    ordered[position] = value


@compiling.compiled
def _remove(ordered: Floats, count: int, value: float) -> None:
    for i in range(_place(ordered, count, value), count - 1):
        ordered[i] = ordered[i + 1]


@compiling.compiled
def _read(ordered: Floats, count: int, levels: Floats, quantiles: Floats) -> None:
    """Fill in the quantiles of sorted errors; 0 without errors."""
    for i in range(len(levels)):
        quantiles[i] = 0.0
        if count > 0:
            position = min(max(levels[i] * (count + 1) - 1.0, 0.0), count - 1.0)
            below = int(position)
            above = min(below + 1, count - 1)
            quantiles[i] = ordered[below] + (position - below) * (ordered[above] - ordered[below])


@compiling.compiled
def read_all(rings: Floats, counts: Ints, levels: Floats, quantiles: Floats) -> None:
    """Fill in quantiles of the rings: by series, step and level."""
    for s in range(rings.shape[0]):
        for h in range(rings.shape[1]):
            count = min(counts[s, h], rings.shape[2])
            _read(np.sort(rings[s, h, :count]), count, levels, quantiles[s, h])


@compiling.compiled
def push(rings: Floats, counts: Ints, errors: Floats) -> None:
    """Add errors to the rings, in place; the oldest are overwritten.

    Args:
        rings: By series, step and position.
        counts: Number of errors ever added, by series and step.
        errors: By series, step and point, oldest first; ``nan`` is skipped.
    """
    size = rings.shape[2]
    for s in range(errors.shape[0]):
        for h in range(errors.shape[1]):
            for t in range(errors.shape[2]):
                if np.isfinite(errors[s, h, t]):
                    rings[s, h, counts[s, h] % size] = errors[s, h, t]
                    counts[s, h] += 1


@compiling.compiled
def roll_errors(
    rings: Floats, counts: Ints, errors: Floats, levels: Floats, quantiles: Floats
) -> None:
    """Add errors one by one, in place, and fill in the quantiles after each.

    Args:
        rings: By series, step and position.
        counts: Number of errors ever added, by series and step.
        errors: By series, step and point.
        levels: Levels of the quantiles.
        quantiles: Filled, by series, point, step and level.
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
                _read(ordered, count, levels, quantiles[s, t, h])
