"""Response times as distributions: a histogram with logarithmic buckets.

The response times of one service in one step are taken as gamma distributed, with the mean and the
variation that the station model gives. Steps are added up in a histogram, from which percentiles
are read; the gamma distribution is tabulated once, so that adding a step costs a few hundred
look-ups.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from kubestow.policies.placing.packing.compiling import compiled

Floats = NDArray[np.float64]

LEAST_S, PER_DECADE, DECADES = 1e-5, 40, 9  # 10 microseconds to 10000 seconds
BUCKETS = PER_DECADE * DECADES
_RATIO_LEAST, _RATIO_DECADES = 1e-6, 9  # of a response to the mean
_VARIATIONS = np.concatenate([[1e-4, 0.01, 0.03], np.arange(0.1, 4.01, 0.1), [5.0, 7.0, 10.0]])


class Table(NamedTuple):
    """Distribution function of the gamma distribution with mean 1."""

    variations: Floats  # squared coefficients of variation
    below: Floats  # [variations, ratios]: probability of being below a ratio to the mean


def make_table() -> Table:
    """Tabulate the gamma distribution."""
    steps = np.arange(PER_DECADE * _RATIO_DECADES + 1)
    ratios = _RATIO_LEAST * 10.0 ** (steps / PER_DECADE)
    shapes = 1.0 / _VARIATIONS
    below = special.gammainc(shapes[:, None], shapes[:, None] * ratios[None, :])
    return Table(_VARIATIONS.copy(), np.ascontiguousarray(below))


@compiled
def share_below(ratio: float, variation: float, table: Table) -> float:
    """Return the probability of a response below a ratio to the mean, interpolated."""
    if ratio <= _RATIO_LEAST:
        return 0.0
    place = math.log10(ratio / _RATIO_LEAST) * PER_DECADE
    column = int(place)
    if column + 1 >= table.below.shape[1]:
        return 1.0
    row, across = _between(variation, table)
    along = place - column
    upper = table.below[row, column] * (1 - along) + table.below[row, column + 1] * along
    lower = table.below[row - 1, column] * (1 - along) + table.below[row - 1, column + 1] * along
    return float(upper * across + lower * (1.0 - across))


@compiled
def add(histogram: Floats, count: float, mean_s: float, variation: float, table: Table) -> None:
    """Add so many responses with a mean and a variation to a histogram."""
    row, across = _between(variation, table)
    # Edges of buckets and tabulated ratios are equally dense: from one to the next is one step.
    place = math.log10(LEAST_S / mean_s / _RATIO_LEAST) * PER_DECADE
    shift = math.floor(place)
    along = place - shift
    before = 0.0
    for bucket in range(max(-int(shift), 0), BUCKETS):
        column = bucket + 1 + int(shift)
        if column + 1 >= table.below.shape[1]:
            histogram[bucket] += count * (1.0 - before)
            return
        upper = table.below[row, column] * (1 - along) + table.below[row, column + 1] * along
        lower = table.below[row - 1, column]
        lower = lower * (1 - along) + table.below[row - 1, column + 1] * along
        below = upper * across + lower * (1.0 - across)
        histogram[bucket] += count * (below - before)
        before = below
    histogram[BUCKETS - 1] += count * (1.0 - before)


@compiled
def _between(variation: float, table: Table) -> tuple[int, float]:
    """Return the row above a variation, and how far it is from the row below to that one."""
    row = int(np.searchsorted(table.variations, variation))
    row = min(max(row, 1), len(table.variations) - 1)
    low, high = table.variations[row - 1], table.variations[row]
    return row, min(max((variation - low) / (high - low), 0.0), 1.0)


def percentile(histogram: Floats, share: float) -> float | None:
    """Return the response time (s) that a share of requests stays below; ``None`` without any."""
    total = float(histogram.sum())
    if total <= 0.0:
        return None
    below = np.cumsum(histogram) / total
    bucket = min(int(np.searchsorted(below, share)), BUCKETS - 1)
    before = float(below[bucket - 1]) if bucket else 0.0
    width = float(below[bucket]) - before
    into = (share - before) / width if width > 0.0 else 1.0
    return float(LEAST_S * 10.0 ** ((bucket + into) / PER_DECADE))
