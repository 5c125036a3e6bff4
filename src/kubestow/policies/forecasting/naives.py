"""The models every other one has to beat: the last value, the value one season ago.

Both are read off a tail of the past. A season is given, or found on the training part by
``seasons``, for each series on its own; a series without one has a season of one step, which makes
the seasonal model the same as persistence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kubestow.policies.forecasting import histories, protocols, seasons


@dataclass(frozen=True, slots=True)
class Persistence:
    """Tomorrow is like now."""

    name: ClassVar[str] = "persistence"
    least_points: ClassVar[int] = 1

    def fit(self, values: protocols.Floats) -> Repeated:
        """Remember the last point."""
        rows = histories.check(values, self.least_points, self.name)
        return Repeated(rows[:, -1:].copy(), np.ones(len(rows), dtype=np.int64))


@dataclass(frozen=True, slots=True)
class SeasonalNaive:
    """The next step is like the same step one season ago.

    Attributes:
        season: Steps of a season; ``None`` to find it in the past of each series.
        hints: Seasons that are likely from the calendar, in steps, tried before others.
    """

    season: int | None = None
    hints: Sequence[int] = ()

    name: ClassVar[str] = "seasonal-naive"
    least_points: ClassVar[int] = 1

    def fit(self, values: protocols.Floats) -> Repeated:
        """Find the seasons and remember the last one."""
        rows = histories.check(values, self.least_points, self.name)
        lengths = seasons.choose(rows, self.season, self.hints)
        return Repeated(histories.take_tail(rows, int(lengths.max(initial=1))), lengths)


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """The last season over and over again.

    Attributes:
        tail: The last points, as many as the longest season has.
        lengths: Steps of a season of each series.
    """

    tail: protocols.Floats
    lengths: seasons.Lengths

    def update(self, points: protocols.Floats) -> Repeated:
        """Move on by new points."""
        return Repeated(histories.extend(self.tail, points), self.lengths)

    def restart(self, values: protocols.Floats) -> Repeated:
        """Return the same model at the end of another past."""
        return Repeated(histories.take_tail(values, self.tail.shape[1]), self.lengths)

    def means(self, steps: int) -> protocols.Floats:
        """Repeat the last season."""
        return np.take_along_axis(self.tail, self._places(steps), axis=1)

    def roll(self, points: protocols.Floats, steps: int) -> protocols.Floats:
        """Repeat the last season after each point."""
        windows = histories.look_through(self.tail, points)
        places = np.broadcast_to(
            self._places(steps)[:, None, :], (*windows.shape[:2], max(0, steps))
        )
        return np.take_along_axis(windows, places, axis=2)

    def _places(self, steps: int) -> seasons.Lengths:
        """Return where in the tail the value of each step stands."""
        lengths = self.lengths[:, None]
        ahead = np.arange(steps, dtype=np.int64)[None, :]
        return np.int64(self.tail.shape[1]) - lengths + ahead % lengths
