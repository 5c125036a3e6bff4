"""The theta method: a smoothed level that drifts with half the slope of the regression line.

Assimakopoulos and Nikolopoulos, The theta model: a decomposition approach to forecasting
(International Journal of Forecasting 16, 2000), in the form of Hyndman and Billah (2003): the mean
of a regression line and of simple smoothing of the line with doubled curvature is simple smoothing
with a drift of half the slope. Seasons are first removed by the median deviation at each phase from
a centred moving average, and added back afterwards; medians, because a single spike must not recur
every day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kubestow.model import arrays
from kubestow.policies import compiling
from kubestow.policies.forecasting import histories, seasons
from kubestow.policies.forecasting.smoothing import models


def find(values: arrays.Floats, lengths: arrays.Ints) -> arrays.Floats:
    """Return the median deviation at each phase of the season; zeros without a season.

    Args:
        values: One row per series.
        lengths: Season length of each series, in steps.

    Returns:
        One row per series, as long as the longest season; each profile has mean 0.
    """
    profile = np.zeros((len(values), int(lengths.max(initial=1))))
    _find(values, lengths, profile)
    return profile


def unroll(profile: arrays.Floats, lengths: arrays.Ints, begin: int, steps: int) -> arrays.Floats:
    """Return the seasonal profile for ``steps`` steps from point ``begin`` on."""
    places = (begin + np.arange(steps, dtype=np.int64)[None, :]) % lengths[:, None]
    return np.take_along_axis(profile, places, axis=1)


@compiling.compiled
def _find(values: arrays.Floats, lengths: arrays.Ints, profile: arrays.Floats) -> None:
    for s in range(values.shape[0]):
        length = lengths[s]
        if length > 1:
            deviations = values[s] - _level(values[s], length)
            for place in range(length):
                profile[s, place] = np.median(deviations[place::length])
            profile[s, :length] -= profile[s, :length].mean()


@compiling.compiled
def _level(values: arrays.Floats, length: int) -> arrays.Floats:
    """Return the mean over one season around each point, shifted inwards at the ends."""
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


@dataclass(frozen=True, slots=True)
class Theta:
    """The theta method with additive seasons.

    Attributes:
        season: Steps of a season, of all or of each series; ``None`` to detect it in the history.
        hints: Seasons that the calendar suggests, in steps.
        horizons: Steps ahead to optimise for.
    """

    season: int | arrays.Ints | None = None
    hints: Sequence[int] = ()
    horizons: Sequence[int] = (1,)

    name: ClassVar[str] = "theta"
    least_points: ClassVar[int] = 3

    def fit(self, values: arrays.Floats) -> FittedTheta:
        """Remove seasons, fit the line and the level."""
        rows = histories.check(values, self.least_points, self.name)
        lengths = seasons.choose(rows, self.season, self.hints)
        lengths = np.where(2 * lengths <= rows.shape[1], lengths, seasons.NONE)
        profile = find(rows, lengths)
        plain = rows - unroll(profile, lengths, 0, rows.shape[1])
        times = np.arange(rows.shape[1]) - (rows.shape[1] - 1) / 2
        slopes = plain @ (times / (times @ times))
        level = models.Ses(self.horizons).fit(plain)
        return FittedTheta(level, slopes / 2, profile, lengths, rows.shape[1])

    def detect_seasons(self, values: arrays.Floats) -> Theta:
        """Return the model with the seasons of a history."""
        return replace(self, season=seasons.choose(values, self.season, self.hints))


@dataclass(frozen=True, slots=True, eq=False)
class FittedTheta:
    """A smoothed level, a drift, and a seasonal profile.

    Attributes:
        level: Simple smoothing of the deseasonalised series.
        drifts: Half the slope of each series, per step.
        profile: Deviation at each phase of the season.
        lengths: Season length of each series, in steps.
        count: Points so far, which determine the phase of the season.
    """

    level: models.Smoothed
    drifts: arrays.Floats
    profile: arrays.Floats
    lengths: arrays.Ints
    count: int

    def update(self, points: arrays.Floats) -> FittedTheta:
        """Update the level with new points."""
        level = self.level.update(points - self._seasonal(0, points.shape[1]))
        count = self.count + points.shape[1]
        return FittedTheta(level, self.drifts, self.profile, self.lengths, count)

    def means(self, steps: int) -> arrays.Floats:
        """Add drift and season to the level."""
        return self.level.means(steps) + self._drift(steps) + self._seasonal(0, steps)

    def roll(self, points: arrays.Floats, steps: int) -> arrays.Floats:
        """Add drift and season to the level after each point."""
        count = points.shape[1]
        ahead = self._seasonal(1, count + steps - 1) if steps else np.zeros((len(points), count))
        windows = np.lib.stride_tricks.sliding_window_view(ahead, max(1, steps), axis=1)
        levels = self.level.roll(points - self._seasonal(0, count), steps)
        return levels + self._drift(steps)[:, None, :] + windows[:, :count, :steps]

    def _drift(self, steps: int) -> arrays.Floats:
        return self.drifts[:, None] * np.arange(1.0, steps + 1.0)

    def _seasonal(self, begin: int, steps: int) -> arrays.Floats:
        return unroll(self.profile, self.lengths, self.count + begin, steps)
