"""Baselines that every other model has to beat, such as the last value or the last season.

They use only a tail of the history. A season is given, or detected in the training part by
``seasons``, separately for each series; a series without one has a season of one step, which makes
the seasonal model the same as persistence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kubestow.model import arrays
from kubestow.policies.forecasting import histories, seasons


@dataclass(frozen=True, slots=True)
class Persistence:
    """The last value."""

    name: ClassVar[str] = "persistence"
    least_points: ClassVar[int] = 1

    def fit(self, values: arrays.Floats) -> Repeated:
        """Keep the last point."""
        rows = histories.check(values, self.least_points, self.name)
        return Repeated(rows[:, -1:].copy(), np.ones(len(rows), dtype=np.int64))


@dataclass(frozen=True, slots=True)
class SeasonalNaive:
    """The value one season ago.

    Attributes:
        season: Steps of a season, of all or of each series; ``None`` to detect it in the history.
        hints: Seasons that the calendar suggests, in steps, tried before others.
    """

    season: int | arrays.Ints | None = None
    hints: Sequence[int] = ()

    name: ClassVar[str] = "seasonal-naive"
    least_points: ClassVar[int] = 1

    def fit(self, values: arrays.Floats) -> Repeated:
        """Detect the seasons and keep the last one."""
        rows = histories.check(values, self.least_points, self.name)
        lengths = seasons.choose(rows, self.season, self.hints)
        return Repeated(histories.take_tail(rows, int(lengths.max(initial=1))), lengths)

    def detect_seasons(self, values: arrays.Floats) -> SeasonalNaive:
        """Return the model with the seasons of a history."""
        return replace(self, season=seasons.choose(values, self.season, self.hints))


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """The last season, repeated.

    Attributes:
        tail: The last points, as many as the longest season has.
        lengths: Season length of each series, in steps.
    """

    tail: arrays.Floats
    lengths: arrays.Ints

    def update(self, points: arrays.Floats) -> Repeated:
        """Update with new points."""
        return Repeated(histories.extend(self.tail, points), self.lengths)

    def restart(self, values: arrays.Floats) -> Repeated:
        """Return the same model at the end of another history."""
        return Repeated(histories.take_tail(values, self.tail.shape[1]), self.lengths)

    def means(self, steps: int) -> arrays.Floats:
        """Repeat the last season."""
        return np.take_along_axis(self.tail, self._places(steps), axis=1)

    def roll(self, points: arrays.Floats, steps: int) -> arrays.Floats:
        """Repeat the last season after each point."""
        windows = histories.sliding_tails(self.tail, points)
        places = np.broadcast_to(
            self._places(steps)[:, None, :], (*windows.shape[:2], max(0, steps))
        )
        return np.take_along_axis(windows, places, axis=2)

    def _places(self, steps: int) -> arrays.Ints:
        """Return the position in the tail of the value of each step."""
        lengths = self.lengths[:, None]
        ahead = np.arange(steps, dtype=np.int64)[None, :]
        return np.int64(self.tail.shape[1]) - lengths + ahead % lengths


def fit_line(x: arrays.Floats, y: arrays.Floats) -> tuple[float, float]:
    """Return slope and intercept of the least-squares line; the slope is 0 if all x are equal."""
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ (y - y.mean())) / spread if spread > 0.0 else 0.0
    return slope, float(y.mean() - slope * x.mean())


@dataclass(frozen=True, slots=True)
class Drift:
    """Extrapolation from the last point with the mean slope of the whole history."""

    name: ClassVar[str] = "drift"
    least_points: ClassVar[int] = 2

    def fit(self, values: arrays.Floats) -> Drifting:
        """Keep the first and last point."""
        rows = histories.check(values, self.least_points, self.name)
        return Drifting(rows[:, :1].copy(), rows[:, -1:].copy(), rows.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Drifting:
    """First and last point of each series, and the number of points."""

    first: arrays.Floats
    last: arrays.Floats
    count: int

    def update(self, points: arrays.Floats) -> Drifting:
        """Update with new points."""
        last = histories.extend(self.last, points)
        return Drifting(self.first, last, self.count + points.shape[1])

    def restart(self, values: arrays.Floats) -> Drifting:
        """Return the same model at the end of another history."""
        return Drifting(values[:, :1].copy(), values[:, -1:].copy(), values.shape[1])

    def means(self, steps: int) -> arrays.Floats:
        """Extrapolate the line through the first and the last point."""
        slope = (self.last - self.first) / (self.count - 1)
        means: arrays.Floats = self.last + slope * np.arange(1.0, steps + 1.0)
        return means

    def roll(self, points: arrays.Floats, steps: int) -> arrays.Floats:
        """Follow the line after each point."""
        rows = histories.as_rows(points)
        passed = self.count - 1 + np.arange(1.0, rows.shape[1] + 1.0)
        slopes = (rows - self.first) / passed
        means: arrays.Floats = rows[:, :, None] + slopes[:, :, None] * np.arange(1.0, steps + 1.0)
        return means


@dataclass(frozen=True, slots=True)
class MovingAverage:
    """The mean of the last points.

    Attributes:
        window: How many points.
    """

    window: int = 5

    name: ClassVar[str] = "moving-average"
    least_points: ClassVar[int] = 1

    def fit(self, values: arrays.Floats) -> Weighted:
        """Remember the last points."""
        rows = histories.check(values, self.least_points, self.name)
        window = min(self.window, rows.shape[1])
        return Weighted(histories.take_tail(rows, window), np.full(window, 1.0 / window))


@dataclass(frozen=True, slots=True)
class LineFit:
    """The least-squares line through the last points, extrapolated.

    Attributes:
        window: How many points.
    """

    window: int = 10

    name: ClassVar[str] = "line"
    least_points: ClassVar[int] = 2

    def fit(self, values: arrays.Floats) -> Weighted:
        """Remember the last points."""
        rows = histories.check(values, self.least_points, self.name)
        window = max(2, min(self.window, rows.shape[1]))
        times = np.arange(window) - (window - 1) / 2
        return Weighted(
            histories.take_tail(rows, window),
            np.full(window, 1.0 / window),
            times / (times @ times),
            reach=(window - 1) / 2,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """Weighted sums of the last points: a level and a slope.

    Attributes:
        tail: The last points.
        level: Weights that give the value in the middle of the tail.
        slope: Weights that give the rise per step; ``None`` for none.
        reach: Steps from the middle of the tail to its last point.
    """

    tail: arrays.Floats
    level: arrays.Floats
    slope: arrays.Floats | None = None
    reach: float = 0.0

    def update(self, points: arrays.Floats) -> Weighted:
        """Update with new points."""
        tail = histories.extend(self.tail, points)
        return Weighted(tail, self.level, self.slope, self.reach)

    def restart(self, values: arrays.Floats) -> Weighted:
        """Return the same model at the end of another history."""
        tail = histories.take_tail(values, self.tail.shape[1])
        return Weighted(tail, self.level, self.slope, self.reach)

    def means(self, steps: int) -> arrays.Floats:
        """Follow the line."""
        return self._ahead(self.tail[:, None, :], steps)[:, 0]

    def roll(self, points: arrays.Floats, steps: int) -> arrays.Floats:
        """Follow the line after each point."""
        return self._ahead(histories.sliding_tails(self.tail, points), steps)

    def _ahead(self, windows: arrays.Floats, steps: int) -> arrays.Floats:
        level = windows @ self.level
        if self.slope is None:
            return np.repeat(level[:, :, None], steps, axis=2)
        distances = self.reach + np.arange(1.0, steps + 1.0)
        return level[:, :, None] + (windows @ self.slope)[:, :, None] * distances
