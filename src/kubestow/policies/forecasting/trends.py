"""Lines through the past: drift, moving average, line of best fit over a window.

A moving average and a line of best fit are weighted sums of the last points, so one product with a
matrix of weights looks ahead after every point. The line of best fit is the predictor of the final
version of the predictive pod autoscaler (x is time, y is load); ``fit_line`` is its formula for any
x, with which the published example is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kubestow.policies.forecasting import histories, protocols


def fit_line(x: protocols.Floats, y: protocols.Floats) -> tuple[float, float]:
    """Return slope and intercept of the line of least squares; points of one x have no slope."""
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ (y - y.mean())) / spread if spread > 0.0 else 0.0
    return slope, float(y.mean() - slope * x.mean())


@dataclass(frozen=True, slots=True)
class Drift:
    """From the last point on with the mean slope of the whole past."""

    name: ClassVar[str] = "drift"
    least_points: ClassVar[int] = 2

    def fit(self, values: protocols.Floats) -> Drifting:
        """Remember first and last point."""
        rows = histories.check(values, self.least_points, self.name)
        return Drifting(rows[:, :1].copy(), rows[:, -1:].copy(), rows.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Drifting:
    """First and last point of each series, and how many points there were."""

    first: protocols.Floats
    last: protocols.Floats
    count: int

    def update(self, points: protocols.Floats) -> Drifting:
        """Move on by new points."""
        last = histories.extend(self.last, points)
        return Drifting(self.first, last, self.count + points.shape[1])

    def restart(self, values: protocols.Floats) -> Drifting:
        """Return the same model at the end of another past."""
        return Drifting(values[:, :1].copy(), values[:, -1:].copy(), values.shape[1])

    def means(self, steps: int) -> protocols.Floats:
        """Follow the line through the first and the last point."""
        slope = (self.last - self.first) / (self.count - 1)
        means: protocols.Floats = self.last + slope * np.arange(1.0, steps + 1.0)
        return means

    def roll(self, points: protocols.Floats, steps: int) -> protocols.Floats:
        """Follow the line after each point."""
        rows = histories.as_rows(points)
        passed = self.count - 1 + np.arange(1.0, rows.shape[1] + 1.0)
        slopes = (rows - self.first) / passed
        means: protocols.Floats = rows[:, :, None] + slopes[:, :, None] * np.arange(
            1.0, steps + 1.0
        )
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

    def fit(self, values: protocols.Floats) -> Weighted:
        """Remember the last points."""
        rows = histories.check(values, self.least_points, self.name)
        window = min(self.window, rows.shape[1])
        return Weighted(histories.take_tail(rows, window), np.full(window, 1.0 / window))


@dataclass(frozen=True, slots=True)
class Line:
    """The line of least squares through the last points, extended.

    Attributes:
        window: How many points.
    """

    window: int = 10

    name: ClassVar[str] = "line"
    least_points: ClassVar[int] = 2

    def fit(self, values: protocols.Floats) -> Weighted:
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
    """Weighted sums of the last points: a level, and a slope from there on.

    Attributes:
        tail: The last points.
        level: Weights that give the value in the middle of the tail.
        slope: Weights that give the rise per step; ``None`` for none.
        reach: Steps from the middle of the tail to its last point.
    """

    tail: protocols.Floats
    level: protocols.Floats
    slope: protocols.Floats | None = None
    reach: float = 0.0

    def update(self, points: protocols.Floats) -> Weighted:
        """Move on by new points."""
        tail = histories.extend(self.tail, points)
        return Weighted(tail, self.level, self.slope, self.reach)

    def restart(self, values: protocols.Floats) -> Weighted:
        """Return the same model at the end of another past."""
        tail = histories.take_tail(values, self.tail.shape[1])
        return Weighted(tail, self.level, self.slope, self.reach)

    def means(self, steps: int) -> protocols.Floats:
        """Follow the line."""
        return self._ahead(self.tail[:, None, :], steps)[:, 0]

    def roll(self, points: protocols.Floats, steps: int) -> protocols.Floats:
        """Follow the line after each point."""
        return self._ahead(histories.look_through(self.tail, points), steps)

    def _ahead(self, windows: protocols.Floats, steps: int) -> protocols.Floats:
        level = windows @ self.level
        if self.slope is None:
            return np.repeat(level[:, :, None], steps, axis=2)
        distances = self.reach + np.arange(1.0, steps + 1.0)
        return level[:, :, None] + (windows @ self.slope)[:, :, None] * distances
