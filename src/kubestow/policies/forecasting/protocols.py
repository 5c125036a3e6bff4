"""Protocols of forecasters: fit once, update with new points without refitting, forecast.

The first axis is always the series: many series of equal length are one array, and a single
series is an array of one row. Steps are equally long; gaps must be filled first (``sources``). A
model has two parts. A *point model* forecasts means only and can produce rolling forecasts along
a stretch of points (``roll``), which back-tests, residuals and gates use; ``intervals`` adds
quantiles to any point model. A forecast at one point uses only data at or before that point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from kubestow.model.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """A forecast of the next steps.

    Attributes:
        mean: Means, one row per series and one column per step.
        levels: Levels of the quantiles, ascending, each between 0 and 1.
        quantiles: One per series, step and level; non-decreasing along the levels.
    """

    mean: Floats
    levels: tuple[float, ...]
    quantiles: Floats


class PointFitted(Protocol):
    """A fitted model of means with its current state."""

    def update(self, points: Floats) -> PointFitted:
        """Return the model with its state updated by new points; parameters stay.

        Args:
            points: One row per series, one column per new point, oldest first.
        """
        ...

    def means(self, steps: int) -> Floats:
        """Return the means of the next steps: one row per series, one column per step."""
        ...

    def roll(self, points: Floats, steps: int) -> Floats:
        """Return rolling forecasts of the mean, one after each new point.

        ``roll(points, steps)[:, k]`` equals ``update(points[:, : k + 1]).means(steps)``.

        Returns:
            One entry per series, point and step ahead.
        """
        ...


class PointForecaster(Protocol):
    """A model of means that can be fitted."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    @property
    def least_points(self) -> int:
        """Minimum number of points to fit."""
        ...

    def fit(self, values: Floats) -> PointFitted:
        """Fit to a history: one row per series, one column per point, oldest first."""
        ...


@runtime_checkable
class SeasonalForecaster(Protocol):
    """A point model that detects seasons, unless they are given."""

    def detect_seasons(self, values: Floats) -> PointForecaster:
        """Return the model with the seasons of a history, which later fits then use."""
        ...


class Fitted(Protocol):
    """A fitted model with prediction intervals."""

    def update(self, points: Floats) -> Fitted:
        """Return the model updated by new points; parameters stay, error statistics are updated."""
        ...

    def predict(self, steps: int, levels: Sequence[float] = ()) -> Forecast:
        """Return means and quantiles of the next steps."""
        ...


class Forecaster(Protocol):
    """A model with prediction intervals that can be fitted."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    def fit(self, values: Floats) -> Fitted:
        """Fit to a history: one row per series, one column per point, oldest first."""
        ...
