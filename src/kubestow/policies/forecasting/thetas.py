"""The theta method: a smoothed level that drifts with half the slope of the line of best fit.

Assimakopoulos and Nikolopoulos, The theta model: a decomposition approach to forecasting
(International Journal of Forecasting 16, 2000), in the form of Hyndman and Billah (2003): the mean
of a line of best fit and of simple smoothing of the line with doubled curvature is simple smoothing
with a drift of half the slope. Seasons are taken out before by the median deviation at each place
from a centred moving average, and put back after; medians, because a single spike must not return
every day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kubestow.policies.forecasting import histories, profiles, protocols, seasons, smoothings


@dataclass(frozen=True, slots=True)
class Theta:
    """The theta method with additive seasons.

    Attributes:
        season: Steps of a season; ``None`` to find it in the past of each series.
        hints: Seasons that are likely from the calendar, in steps.
        horizons: Steps ahead that matter.
    """

    season: int | None = None
    hints: Sequence[int] = ()
    horizons: Sequence[int] = (1,)

    name: ClassVar[str] = "theta"
    least_points: ClassVar[int] = 3

    def fit(self, values: protocols.Floats) -> Theted:
        """Take out seasons, fit the line and the level."""
        rows = histories.check(values, self.least_points, self.name)
        lengths = seasons.choose(rows, self.season, self.hints)
        lengths = np.where(2 * lengths <= rows.shape[1], lengths, seasons.NONE)
        profile = profiles.find(rows, lengths)
        plain = rows - profiles.unroll(profile, lengths, 0, rows.shape[1])
        times = np.arange(rows.shape[1]) - (rows.shape[1] - 1) / 2
        slopes = plain @ (times / (times @ times))
        level = smoothings.Ses(self.horizons).fit(plain)
        return Theted(level, slopes / 2, profile, lengths, rows.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Theted:
    """A smoothed level, half a slope, and a profile of the season.

    Attributes:
        level: Simple smoothing of the series without seasons.
        drifts: Half the slope of each series, per step.
        profile: Deviation at each place of the season.
        lengths: Steps of a season of each series.
        count: Points so far, which tells the place in the season.
    """

    level: smoothings.Smoothed
    drifts: protocols.Floats
    profile: protocols.Floats
    lengths: seasons.Lengths
    count: int

    def update(self, points: protocols.Floats) -> Theted:
        """Move the level on by new points."""
        level = self.level.update(points - self._seasonal(0, points.shape[1]))
        count = self.count + points.shape[1]
        return Theted(level, self.drifts, self.profile, self.lengths, count)

    def means(self, steps: int) -> protocols.Floats:
        """Add drift and season to the level."""
        return self.level.means(steps) + self._drift(steps) + self._seasonal(0, steps)

    def roll(self, points: protocols.Floats, steps: int) -> protocols.Floats:
        """Add drift and season to the level after each point."""
        count = points.shape[1]
        ahead = self._seasonal(1, count + steps - 1) if steps else np.zeros((len(points), count))
        windows = np.lib.stride_tricks.sliding_window_view(ahead, max(1, steps), axis=1)
        levels = self.level.roll(points - self._seasonal(0, count), steps)
        return levels + self._drift(steps)[:, None, :] + windows[:, :count, :steps]

    def _drift(self, steps: int) -> protocols.Floats:
        return self.drifts[:, None] * np.arange(1.0, steps + 1.0)

    def _seasonal(self, begin: int, steps: int) -> protocols.Floats:
        return profiles.unroll(self.profile, self.lengths, self.count + begin, steps)
