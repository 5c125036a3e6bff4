"""Prediction intervals around any point model, from its recent errors at each step ahead.

A model is rolled over the history, and the errors of its forecasts fill a ring buffer per series
and step ahead. Quantiles are the point forecast plus quantiles of the ring, corrected for small
samples. New points add errors to the rings, so that intervals adapt. A model with a few parameters
is fitted once and rolled over the history it was fitted to; any other is fitted to the first part
of the history, rolled over the rest, and then fitted again to all of it.

Errors can be divided by a *scale* that varies with the series: its level, or its recent change.
Intervals then widen and narrow at once, not only after the ring has filled.

If the history was never negative, neither are means and quantiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from kubestow.model import arrays
from kubestow.model.arrays import Floats, Ints
from kubestow.policies import compiling
from kubestow.policies.forecasting import histories, interval_scales, protocols


@compiling.compiled
def _place(ordered: Floats, count: int, value: float) -> int:
    """Return the insertion position of a value in the first ``count`` sorted numbers."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if ordered[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiling.compiled
def _insert(ordered: Floats, count: int, value: float) -> None:
    position = _place(ordered, count, value)
    for i in range(count, position, -1):
        ordered[i] = ordered[i - 1]
    ordered[position] = value


@compiling.compiled
def _remove(ordered: Floats, count: int, value: float) -> None:
    for i in range(_place(ordered, count, value), count - 1):
        ordered[i] = ordered[i + 1]


@compiling.compiled
def _read(ordered: Floats, count: int, levels: Floats, quantiles: Floats) -> None:
    """Fill in the quantiles of sorted errors; 0 without errors."""
    for i in range(len(levels)):
        quantiles[i] = 0.0
        if count > 0:
            position = min(max(levels[i] * (count + 1) - 1.0, 0.0), count - 1.0)
            below = int(position)
            above = min(below + 1, count - 1)
            quantiles[i] = ordered[below] + (position - below) * (ordered[above] - ordered[below])


@compiling.compiled
def read_all(rings: Floats, counts: Ints, levels: Floats, quantiles: Floats) -> None:
    """Fill in quantiles of the rings: by series, step and level."""
    for s in range(rings.shape[0]):
        for h in range(rings.shape[1]):
            count = min(counts[s, h], rings.shape[2])
            _read(np.sort(rings[s, h, :count]), count, levels, quantiles[s, h])


@compiling.compiled
def push(rings: Floats, counts: Ints, errors: Floats) -> None:
    """Add errors to the rings, in place; the oldest are overwritten.

    Args:
        rings: By series, step and position.
        counts: Number of errors ever added, by series and step.
        errors: By series, step and point, oldest first; ``nan`` is skipped.
    """
    size = rings.shape[2]
    for s in range(errors.shape[0]):
        for h in range(errors.shape[1]):
            for t in range(errors.shape[2]):
                if np.isfinite(errors[s, h, t]):
                    rings[s, h, counts[s, h] % size] = errors[s, h, t]
                    counts[s, h] += 1


@compiling.compiled
def roll_errors(
    rings: Floats, counts: Ints, errors: Floats, levels: Floats, quantiles: Floats
) -> None:
    """Add errors one by one, in place, and fill in the quantiles after each.

    Args:
        rings: By series, step and position.
        counts: Number of errors ever added, by series and step.
        errors: By series, step and point.
        levels: Levels of the quantiles.
        quantiles: Filled, by series, point, step and level.
    """
    size = rings.shape[2]
    for s in range(errors.shape[0]):
        for h in range(errors.shape[1]):
            ring = rings[s, h]
            count = min(counts[s, h], size)
            ordered = np.empty(size + 1)
            ordered[:count] = np.sort(ring[:count])
            for t in range(errors.shape[2]):
                error = errors[s, h, t]
                if np.isfinite(error):
                    if count == size:
                        _remove(ordered, count, ring[counts[s, h] % size])
                        count -= 1
                    _insert(ordered, count, error)
                    count += 1
                    ring[counts[s, h] % size] = error
                    counts[s, h] += 1
                _read(ordered, count, levels, quantiles[s, t, h])


HELD_OUT = 0.3
"""Share of the history whose errors fill the rings of models with many parameters."""

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
        fitted = self.point.fit(rows)
        earlier, begin = self._start(fitted, rows)
        count = len(rows)
        fresh = Interval(
            point=earlier,
            scale=interval_scales.begin(self.scaling, rows[:, : max(begin, 1)]),
            rings=np.zeros((count, self.steps, self.ring)),
            counts=np.zeros((count, self.steps), dtype=np.int64),
            pending=np.full((count, self.steps, self.steps), np.nan),
            sizes=np.ones((count, self.steps)),
            lowest=np.where(rows.min(axis=1) >= 0.0, 0.0, -np.inf),
        ).stand()
        return replace(fresh.update(rows[:, begin:]), point=fitted)

    def _start(
        self, fitted: protocols.PointFitted, rows: arrays.Floats
    ) -> tuple[protocols.PointFitted, int]:
        """Return a model at some point of the history, and the number of points before it."""
        least, count = max(1, self.point.least_points), rows.shape[1]
        # More errors than the rings hold would be overwritten at once.
        earliest = max(least, count - self.ring - self.steps)
        if self.few and isinstance(fitted, Restarting):
            begin = min(max(earliest, int(_BEGUN * count)), count)
            return fitted.restart(rows[:, :begin]), begin
        begin = min(max(earliest, int((1.0 - HELD_OUT) * count)), count)
        return (fitted if begin == count else self.point.fit(rows[:, :begin])), begin


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
        pending: Means forecast from the last origins, oldest first, by series, origin and step.
        sizes: The scale at these origins.
        lowest: Lower bound of the forecasts of each series.
    """

    point: protocols.PointFitted
    scale: interval_scales.Scale
    rings: arrays.Floats
    counts: arrays.Ints
    pending: arrays.Floats
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
        push(rings, counts, self._errors(rows, forecasts, sizes))
        return replace(
            self,
            point=self.point.update(rows),
            scale=self.scale.update(rows),
            rings=rings,
            counts=counts,
            pending=_shift(self.pending, forecasts),
            sizes=_shift(self.sizes, sizes),
        )

    def predict(self, steps: int, levels: Sequence[float] = ()) -> protocols.Forecast:
        """Return means and quantiles of the next steps."""
        rising = check_levels(levels)
        means = np.maximum(self.point.means(steps), self.lowest[:, None])
        offsets = np.empty((*self.counts.shape, len(rising)))
        read_all(self.rings, self.counts, np.array(rising), offsets)
        wide = self._widen(offsets, steps) * self.scale.size()[:, None, None]
        lowest = self.lowest[:, None, None]
        return protocols.Forecast(means, rising, np.maximum(means[:, :, None] + wide, lowest))

    def roll(self, points: arrays.Floats, steps: int, levels: Sequence[float] = ()) -> Rolled:
        """Return means and quantiles after each point, updating the errors along the points."""
        rows, rising = histories.as_rows(points), check_levels(levels)
        forecasts = self.point.roll(rows, max(steps, self.steps))
        sizes = self.scale.roll(rows)
        offsets = np.empty((*rows.shape, self.steps, len(rising)))
        roll_errors(
            self.rings.copy(),
            self.counts.copy(),
            self._errors(rows, forecasts[..., : self.steps], sizes),
            np.array(rising),
            offsets,
        )
        means = np.maximum(forecasts[..., :steps], self.lowest[:, None, None])
        wide = self._widen(offsets, steps) * sizes[:, :, None, None]
        quantiles = np.maximum(means[..., None] + wide, self.lowest[:, None, None, None])
        return Rolled(means, rising, quantiles)

    def _errors(
        self, rows: arrays.Floats, forecasts: arrays.Floats, sizes: arrays.Floats
    ) -> arrays.Floats:
        """Return scaled forecast errors of points, by series, step and point."""
        expected = np.concatenate((self.pending, forecasts), axis=1)
        scale = np.concatenate((self.sizes, sizes), axis=1)
        errors = np.empty((len(rows), self.steps, rows.shape[1]))
        for h in range(1, self.steps + 1):
            origins = slice(self.steps - h, self.steps - h + rows.shape[1])
            errors[:, h - 1] = (rows - expected[:, origins, h - 1]) / scale[:, origins]
        return errors

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


def _shift(kept: arrays.Floats, new: arrays.Floats) -> arrays.Floats:
    """Return the last of the kept and new entries, as many as were kept."""
    return np.concatenate((kept, new), axis=1)[:, -kept.shape[1] :]
