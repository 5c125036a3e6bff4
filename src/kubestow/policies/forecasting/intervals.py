"""Prediction intervals around any point model, from its recent errors at each step ahead.

A model is rolled over the history, and the errors of its forecasts fill a ring buffer per series
and step ahead. Quantiles are the point forecast plus quantiles of the ring, corrected for small
samples. New points add errors to the rings, so that intervals adapt. A model with a few parameters
is fitted once and rolled over the history it was fitted to; any other is fitted to the first part
of the history, rolled over the rest, and then fitted again to all of it.

Errors can be divided by a *scale* that varies with the series: its level, or its recent change.
Intervals then widen and narrow at once, not only after the ring has filled.

A ring forgets slowly. Two rules widen intervals, never narrow them, when a series goes flat or its
model goes wrong: an interval reaches as far as the last errors demand (``recent_errors``), and it
contains the value that a series keeps repeating (``flat_stretches``). It also contains the mean.

If the history was never negative, neither are means and quantiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from kubestow.model import arrays
from kubestow.policies.forecasting import (
    error_rings,
    flat_stretches,
    histories,
    interval_scales,
    protocols,
    recent_errors,
    seasons,
)

HELD_OUT = 0.3
"""Share of the history whose errors fill the rings of models with many parameters."""

_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)

_BEGUN = 0.25
"""Share of the history before the first error of models with few parameters."""


@runtime_checkable
class Restarting(Protocol):
    """A fitted model that can move to the end of another history with the same parameters."""

    def restart(self, values: arrays.Floats) -> protocols.PointFitted:
        """Return the same model at the end of another history."""
        ...


@dataclass(frozen=True, slots=True)
class Intervals:
    """A point model with prediction intervals.

    Attributes:
        point: The model.
        steps: Steps ahead whose errors are tracked; beyond them the width grows with the square
            root of the distance, as for a random walk.
        few: Whether the model has only a few parameters, so that errors may come from the history
            it was fitted to.
        ring: Errors kept per series and step.
        scaling: Scale of the errors.
    """

    point: protocols.PointForecaster
    steps: int = 1
    few: bool = False
    ring: int = 500
    scaling: interval_scales.ScaleKind = interval_scales.ScaleKind.CHANGE

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.point.name

    def fit(self, values: arrays.Floats) -> Interval:
        """Fit the model and collect its errors."""
        rows = histories.check(values, self.point.least_points, self.name)
        model = seasons.detect(self.point, rows)
        fitted = model.fit(rows)
        earlier, begin = self._start(model, fitted, rows)
        count = len(rows)
        fresh = Interval(
            point=earlier,
            scale=interval_scales.begin(self.scaling, rows[:, : max(begin, 1)]),
            rings=np.zeros((count, self.steps, self.ring)),
            counts=np.zeros((count, self.steps), dtype=np.int64),
            latest=np.zeros((count, self.steps, recent_errors.LATEST)),
            pending=np.full((count, self.steps, self.steps), np.nan),
            tail=flat_stretches.take_tail(rows[:, :begin], self.steps),
            close=flat_stretches.measure_width(rows),
            sizes=np.ones((count, self.steps)),
            lowest=np.where(rows.min(axis=1) >= 0.0, 0.0, -np.inf),
        ).stand()
        return replace(fresh.update(rows[:, begin:]), point=fitted)

    def _start(
        self, model: protocols.PointForecaster, fitted: protocols.PointFitted, rows: arrays.Floats
    ) -> tuple[protocols.PointFitted, int]:
        """Return a model at some point of the history, and the number of points before it."""
        least, count = max(1, self.point.least_points), rows.shape[1]
        # More errors than the rings hold would be overwritten at once.
        earliest = max(least, count - self.ring - self.steps)
        if self.few and isinstance(fitted, Restarting):
            begin = min(max(earliest, int(_BEGUN * count)), count)
            return fitted.restart(rows[:, :begin]), begin
        begin = min(max(earliest, int((1.0 - HELD_OUT) * count)), count)
        return (fitted if begin == count else model.fit(rows[:, :begin])), begin


@dataclass(frozen=True, slots=True, eq=False)
class Rolled:
    """Means and quantiles after each of some points: by series, point, step (and level)."""

    mean: arrays.Floats
    levels: tuple[float, ...]
    quantiles: arrays.Floats


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """A fitted point model with its rings of errors.

    Attributes:
        point: The model.
        scale: Scale of the errors at the last point.
        rings: Scaled errors, by series, step and position.
        counts: Number of errors ever added, by series and step.
        latest: The newest errors, not scaled, by series, step and position.
        pending: Means forecast from the last origins, oldest first, by series, origin and step.
        tail: The last points, ``nan`` before the first.
        close: How far apart values may be that count as repeated, by series.
        sizes: The scale at these origins.
        lowest: Lower bound of the forecasts of each series.
    """

    point: protocols.PointFitted
    scale: interval_scales.Scale
    rings: arrays.Floats
    counts: arrays.Ints
    latest: arrays.Floats
    pending: arrays.Floats
    tail: arrays.Floats
    close: arrays.Floats
    sizes: arrays.Floats
    lowest: arrays.Floats

    def stand(self) -> Interval:
        """Return the model with its current forecast appended to the pending ones."""
        forecast = self.point.means(self.steps)[:, None, :]
        return replace(
            self,
            pending=_shift(self.pending, forecast),
            sizes=_shift(self.sizes, self.scale.size()[:, None]),
        )

    @property
    def steps(self) -> int:
        """Steps ahead whose errors are tracked."""
        return int(self.rings.shape[1])

    def update(self, points: arrays.Floats) -> Interval:
        """Update with new points and their forecast errors."""
        rows = histories.as_rows(points)
        forecasts = self.point.roll(rows, self.steps)
        sizes = self.scale.roll(rows)
        rings, counts = self.rings.copy(), self.counts.copy()
        latest = self.latest.copy()
        errors, scaled = self._errors(rows, forecasts, sizes)
        error_rings.push(latest, counts.copy(), errors)
        error_rings.push(rings, counts, scaled)
        return replace(
            self,
            point=self.point.update(rows),
            scale=self.scale.update(rows),
            rings=rings,
            counts=counts,
            latest=latest,
            pending=_shift(self.pending, forecasts),
            tail=_shift(self.tail, rows),
            sizes=_shift(self.sizes, sizes),
        )

    def predict(self, steps: int, levels: Sequence[float] = ()) -> protocols.Forecast:
        """Return means and quantiles of the next steps."""
        rising = check_levels(levels)
        means = np.maximum(self.point.means(steps), self.lowest[:, None])
        offsets, reach = (np.empty((*self.counts.shape, len(rising))) for _ in range(2))
        error_rings.read_all(self.rings, self.counts, np.array(rising), offsets)
        recent_errors.read_all(self.latest, self.counts, np.array(rising), reach)
        offsets = _stretch(offsets * self.scale.size()[:, None, None], rising, reach, reach)
        low, high = self._bands(self.tail, 1, steps)
        quantiles = self._add(means, offsets, rising)
        return protocols.Forecast(means, rising, _stretch(quantiles, rising, low[:, 0], high[:, 0]))

    def roll(self, points: arrays.Floats, steps: int, levels: Sequence[float] = ()) -> Rolled:
        """Return means and quantiles after each point, updating the errors along the points."""
        rows, rising = histories.as_rows(points), check_levels(levels)
        forecasts = self.point.roll(rows, max(steps, self.steps))
        sizes = self.scale.roll(rows)
        errors, scaled = self._errors(rows, forecasts[..., : self.steps], sizes)
        offsets, reach = (np.empty((*rows.shape, self.steps, len(rising))) for _ in range(2))
        rings, latest, at = self.rings.copy(), self.latest.copy(), np.array(rising)
        error_rings.roll_errors(rings, self.counts.copy(), scaled, at, offsets)
        recent_errors.roll_errors(latest, self.counts.copy(), errors, at, reach)
        offsets = _stretch(offsets * sizes[:, :, None, None], rising, reach, reach)
        means = np.maximum(forecasts[..., :steps], self.lowest[:, None, None])
        low, high = self._bands(_join(self.tail, rows), rows.shape[1], steps)
        quantiles = self._add(means, offsets, rising)
        return Rolled(means, rising, _stretch(quantiles, rising, low, high))

    def _errors(
        self, rows: arrays.Floats, forecasts: arrays.Floats, sizes: arrays.Floats
    ) -> tuple[arrays.Floats, arrays.Floats]:
        """Return forecast errors of points, plain and scaled, by series, step and point."""
        expected, scale = _join(self.pending, forecasts), _join(self.sizes, sizes)
        errors, scaled = (np.empty((len(rows), self.steps, rows.shape[1])) for _ in range(2))
        for h in range(1, self.steps + 1):
            origins = slice(self.steps - h, self.steps - h + rows.shape[1])
            errors[:, h - 1] = rows - expected[:, origins, h - 1]
            scaled[:, h - 1] = errors[:, h - 1] / scale[:, origins]
        return errors, scaled

    def _bands(
        self, values: arrays.Floats, points: int, steps: int
    ) -> tuple[arrays.Floats, arrays.Floats]:
        """Return the range of repeated values after each of the last points, at each step."""
        low, high = (np.empty((len(values), points, self.steps)) for _ in range(2))
        flat_stretches.find_bands(values, self.close, low, high)
        at = np.minimum(np.arange(steps), self.steps - 1)
        return low[:, :, at, None], high[:, :, at, None]

    def _add(
        self, means: arrays.Floats, offsets: arrays.Floats, levels: tuple[float, ...]
    ) -> arrays.Floats:
        """Return the quantiles; the mean is between those below and above the median."""
        wide = _stretch(self._widen(offsets, means.shape[-1]), levels, 0.0, 0.0)
        # Rounded outwards, so that a value that repeats itself to the last digit is not outside.
        rounding = _ROUNDING * (np.abs(means)[..., None] + np.abs(wide)) * _sides(levels)
        quantiles = means[..., None] + wide + np.where(wide != 0.0, rounding, 0.0)
        return np.maximum(quantiles, self.lowest.reshape(-1, *(1,) * means.ndim))

    def _widen(self, offsets: arrays.Floats, steps: int) -> arrays.Floats:
        """Return offsets for ``steps`` steps; beyond the tracked ones they grow with the root."""
        ahead = np.arange(1, steps + 1)
        near = offsets[..., np.minimum(ahead, self.steps) - 1, :]
        widths = np.sqrt(np.maximum(ahead / self.steps, 1.0))
        wide: arrays.Floats = near * widths[:, None]
        return wide


def check_levels(levels: Sequence[float]) -> tuple[float, ...]:
    """Return levels in ascending order.

    Raises:
        ValueError: If one is not between 0 and 1.
    """
    for level in levels:
        if not 0.0 < level < 1.0:
            raise ValueError(f"level {level!r}: expected more than 0 and less than 1")
    return tuple(sorted(levels))


def _sides(levels: tuple[float, ...]) -> arrays.Floats:
    """Return 1 for levels above the median, -1 below it and 0 for the median."""
    distances = np.array(levels) - 0.5
    sides: arrays.Floats = np.where(np.abs(distances) < 1e-9, 0.0, np.sign(distances))
    return sides


def _stretch(
    quantiles: arrays.Floats,
    levels: tuple[float, ...],
    low: arrays.Floats | float,
    high: arrays.Floats | float,
) -> arrays.Floats:
    """Return quantiles that reach down to ``low`` below the median and up to ``high`` above it."""
    sides = _sides(levels)
    lower = np.where(sides < 0.0, np.minimum(quantiles, low), quantiles)
    return np.where(sides > 0.0, np.maximum(quantiles, high), lower)


def _join(kept: arrays.Floats, new: arrays.Floats) -> arrays.Floats:
    return np.concatenate((kept, new), axis=1)


def _shift(kept: arrays.Floats, new: arrays.Floats) -> arrays.Floats:
    """Return the last of the kept and new entries, as many as were kept."""
    return _join(kept, new)[:, -kept.shape[1] :]
