"""Profiles of a season: the usual deviation of each place in it from the level around.

The level is a moving average over one season, centred, so that it holds no season itself. Compiled,
for seasons differ from series to series.
"""

from __future__ import annotations

import numpy as np

from kubestow.policies import compiling
from kubestow.policies.forecasting import protocols, seasons


def find(values: protocols.Floats, lengths: seasons.Lengths) -> protocols.Floats:
    """Return the median deviation at each place of the season; zeros where there is no season.

    Args:
        values: One row per series.
        lengths: Steps of a season of each series.

    Returns:
        One row per series, as long as the longest season; each profile has a mean of zero.
    """
    found = np.zeros((len(values), int(lengths.max(initial=1))))
    _find(values, lengths, found)
    return found


def unroll(
    profile: protocols.Floats, lengths: seasons.Lengths, begin: int, steps: int
) -> protocols.Floats:
    """Return the profile along some steps, of which the first is ``begin`` points after all."""
    places = (begin + np.arange(steps, dtype=np.int64)[None, :]) % lengths[:, None]
    return np.take_along_axis(profile, places, axis=1)


@compiling.compiled
def _find(values: protocols.Floats, lengths: seasons.Lengths, found: protocols.Floats) -> None:
    for s in range(values.shape[0]):
        length = lengths[s]
        if length > 1:
            deviations = values[s] - _level(values[s], length)
            for place in range(length):
                found[s, place] = np.median(deviations[place::length])
            found[s, :length] -= found[s, :length].mean()


@compiling.compiled
def _level(values: protocols.Floats, length: int) -> protocols.Floats:
    """Return the mean over one season around each point; at the ends over what is there."""
    half = length // 2
    sums = np.zeros(len(values) + 1)
    for t in range(len(values)):
        sums[t + 1] = sums[t] + values[t]
    level = np.empty(len(values))
    for t in range(len(values)):
        first = min(max(0, t - half), max(0, len(values) - length))
        last = min(len(values), first + length)
        level[t] = (sums[last] - sums[first]) / (last - first)
    return level
