"""Values that a series keeps repeating, which no interval may exclude.

A series is *flat* at a horizon if at least ``REPEATED`` of its last ``LATEST`` values are close
together, and as many of them are close to the value one horizon before. Close means within a tenth
of the usual change in the history. A model that was fitted to livelier times can miss such a value
by little, but for long: its errors drift, and each is beyond those before.
"""

from __future__ import annotations

import numpy as np

from kubestow.model.arrays import Floats
from kubestow.policies import compiling

LATEST = 20
"""Number of values that count."""

REPEATED = 12
"""How many of them must be close: a majority, so that the median is one of them."""

_CLOSE = 0.1


def measure_width(rows: Floats) -> Floats:
    """Return how far apart close values may be, for each series."""
    if rows.shape[1] < 2:
        return np.zeros(len(rows))
    widths: Floats = _CLOSE * np.abs(np.diff(rows, axis=1)).mean(axis=1)
    return widths


def take_tail(rows: Floats, steps: int) -> Floats:
    """Return the last points, as many as ``find_bands`` needs; ``nan`` before the first."""
    unknown = np.full((len(rows), LATEST + steps), np.nan)
    return np.concatenate((unknown, rows), axis=1)[:, -unknown.shape[1] :]


@compiling.compiled
def find_bands(values: Floats, widths: Floats, low: Floats, high: Floats) -> None:
    """Fill in the range of the repeated values after each of the last points.

    Args:
        values: One row per series, at least as long as ``take_tail`` makes it at each point.
        widths: How far apart close values may be, by series.
        low: Filled, by series, point and step; ``inf`` where a series is not flat.
        high: Filled likewise; ``-inf`` where a series is not flat.
    """
    low[:], high[:] = np.inf, -np.inf
    outside = (LATEST - REPEATED) // 2
    points = low.shape[1]
    for s in range(values.shape[0]):
        for t in range(points):
            end = values.shape[1] - points + t + 1
            ordered = np.sort(values[s, end - LATEST : end])
            first, last = ordered[outside], ordered[LATEST - 1 - outside]
            # Unknown values are sorted to the end; comparisons with them are false.
            if not last - first <= widths[s]:
                continue
            for h in range(low.shape[2]):
                close = 0
                for k in range(end - LATEST, end):
                    close += abs(values[s, k] - values[s, k - h - 1]) <= widths[s]
                if close >= REPEATED:
                    low[s, t, h], high[s, t, h] = first, last
