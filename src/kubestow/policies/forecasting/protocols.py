"""What every forecaster keeps: fit once, take new points without fitting again, look ahead.

All shapes begin with the series: many series of equal length are one array, and a single series is
an array of one row. Steps are equally long; who has gaps closes them first (``sources``). A model
comes in two halves. A *point model* knows means only and can run along a stretch of points
(``roll``), which is what back-tests, residuals and gates are made of; ``intervals`` puts quantiles
around any point model. Everything a forecast at one point uses lies at or before that point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kubestow.model.arrays import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What is expected in the steps to come.

    Attributes:
        mean: Means, one row per series and one column per step.
        levels: Levels of the quantiles, rising, each between 0 and 1.
        quantiles: One per series, step and level; never falling along the levels.
    """

    mean: Floats
    levels: tuple[float, ...]
    quantiles: Floats


class PointFitted(Protocol):
    """A fitted model of means, with the state it has reached."""

    def update(self, points: Floats) -> PointFitted:
        """Return the model with its state moved on by new points; parameters stay.

        Args:
            points: One row per series, one column per new point, oldest first.
        """
        ...

    def means(self, steps: int) -> Floats:
        """Return the means of the next steps: one row per series, one column per step."""
        ...

    def roll(self, points: Floats, steps: int) -> Floats:
        """Return the means looked ahead after each of some new points, moving along them.

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
        """With fewer points it cannot be fitted."""
        ...

    def fit(self, values: Floats) -> PointFitted:
        """Fit to the past: one row per series, one column per point, oldest first."""
        ...


class Fitted(Protocol):
    """A fitted model that knows how sure it is."""

    def update(self, points: Floats) -> Fitted:
        """Return the model moved on by new points; parameters stay, errors are learnt from."""
        ...

    def predict(self, steps: int, levels: Sequence[float] = ()) -> Forecast:
        """Return means and quantiles of the next steps."""
        ...


class Forecaster(Protocol):
    """A model with intervals that can be fitted."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    def fit(self, values: Floats) -> Fitted:
        """Fit to the past: one row per series, one column per point, oldest first."""
        ...
