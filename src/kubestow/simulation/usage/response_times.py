"""Distributions of response times: histograms with logarithmic buckets.

The response times of one service in one step are assumed to be gamma distributed, with the mean and
the variation of the station model. Steps are summed in a histogram, from which percentiles are
read. The gamma distribution is tabulated once, so adding a step costs a few hundred look-ups.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from kubestow.model.arrays import Floats
from kubestow.policies.compiling import compiled

LEAST_S, PER_DECADE, DECADES = 1e-5, 40, 9  # 10 microseconds to 10000 seconds
BUCKETS = PER_DECADE * DECADES
_RATIO_LEAST, _RATIO_DECADES = 1e-6, 9  # of a response to the mean
_VARIATIONS = np.concatenate([[1e-4, 0.01, 0.03], np.arange(0.1, 4.01, 0.1), [5.0, 7.0, 10.0]])


class ResponseTable(NamedTuple):
    """Distribution function of the gamma distribution with mean 1."""

    variations: Floats  # squared coefficients of variation
    below: Floats  # [variations, ratios]: probability of being below a ratio to the mean


def make_response_table() -> ResponseTable:
    """Tabulate the gamma distribution."""
    steps = np.arange(PER_DECADE * _RATIO_DECADES + 1)
    ratios = _RATIO_LEAST * 10.0 ** (steps / PER_DECADE)
    shapes = 1.0 / _VARIATIONS
    below = special.gammainc(shapes[:, None], shapes[:, None] * ratios[None, :])
    return ResponseTable(_VARIATIONS.copy(), np.ascontiguousarray(below))


@compiled
def share_below(ratio: float, variation: float, table: ResponseTable) -> float:
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
def bucket_of(time_s: float) -> int:
    """Return the bucket a response time falls into."""
    place = math.log10(max(time_s, LEAST_S) / LEAST_S) * PER_DECADE
    return min(int(place), BUCKETS - 1)


@compiled
def add(
    histogram: Floats,
    count: float,
    mean_s: float,
    variation: float,
    most_s: float,
    table: ResponseTable,
) -> float:
    """Add a number of responses with a mean and a variation to a histogram.

    Those above ``most_s`` are counted as ``most_s``.

    Returns:
        The mean of what was added.
    """
    row, across = _between(variation, table)
    # Bucket edges and tabulated ratios are equally dense: one step each.
    place = math.log10(LEAST_S / mean_s / _RATIO_LEAST) * PER_DECADE
    shift = int(np.floor(place))
    along = place - shift
    last = bucket_of(most_s)
    before, cut_s = 0.0, 0.0
    for bucket in range(max(-shift, 0), last):
        column = bucket + 1 + shift
        if column + 1 >= table.below.shape[1]:
            break
        upper = table.below[row, column] * (1 - along) + table.below[row, column + 1] * along
        lower = table.below[row - 1, column]
        lower = lower * (1 - along) + table.below[row - 1, column + 1] * along
        below = upper * across + lower * (1.0 - across)
        histogram[bucket] += count * (below - before)
        before = below
    histogram[last] += count * (1.0 - before)
    if share_below(most_s / mean_s, variation, table) < 1.0 - 1e-9:
        cut_s = _mean_above(mean_s, variation, most_s, table)
    return mean_s - cut_s


@compiled
def _mean_above(mean_s: float, variation: float, most_s: float, table: ResponseTable) -> float:
    """Return the mean excess of response times over a limit, by integration."""
    ratio = 10.0 ** (1.0 / PER_DECADE)
    area, low_s = 0.0, most_s
    above = 1.0 - share_below(low_s / mean_s, variation, table)
    while above > 1e-9 and low_s < mean_s * 1e3:
        high_s = low_s * ratio
        further = 1.0 - share_below(high_s / mean_s, variation, table)
        area += (above + further) / 2.0 * (high_s - low_s)
        above, low_s = further, high_s
    return area


@compiled
def _between(variation: float, table: ResponseTable) -> tuple[int, float]:
    """Return the row above a variation and its weight in the interpolation."""
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
