"""The scale of errors: none, the level of a series, or its recent absolute change.

A scale is a state that is updated with the points. Level and change are exponential means of the
absolute values and of the absolute changes; 1 % of the historical mean is always added, so that a
constant series does not make scaled errors infinite.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

import numpy as np

from kubestow.model import arrays
from kubestow.policies import compiling
from kubestow.policies.forecasting import histories

SPAN = 20.0
"""Points over which level and change are averaged."""

_FLOOR = 0.01


class ScaleKind(enum.StrEnum):
    """Kind of scale of errors."""

    NONE = "none"
    LEVEL = "level"
    CHANGE = "change"


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The scale at a point.

    Attributes:
        kind: Kind of scale.
        means: Exponential mean of each series.
        last: The last point of each series.
        floors: Positive amount that is always added.
    """

    kind: ScaleKind
    means: arrays.Floats
    last: arrays.Floats
    floors: arrays.Floats

    def size(self) -> arrays.Floats:
        """Return the current scale of each series."""
        if self.kind is ScaleKind.NONE:
            return np.ones(len(self.means))
        return self.means + self.floors

    def update(self, points: arrays.Floats) -> Scale:
        """Update with new points."""
        if not points.shape[1]:
            return self
        means = self._means(points)[:, -1]
        return replace(self, means=means, last=histories.as_rows(points)[:, -1].copy())

    def roll(self, points: arrays.Floats) -> arrays.Floats:
        """Return the scale after each point."""
        if self.kind is ScaleKind.NONE:
            return np.ones(points.shape)
        return self._means(points) + self.floors[:, None]

    def _means(self, points: arrays.Floats) -> arrays.Floats:
        rows = histories.as_rows(points)
        means = np.empty(rows.shape)
        _average(rows, self.means, self.last, self.kind is ScaleKind.CHANGE, means)
        return means


def begin(kind: ScaleKind, values: arrays.Floats) -> Scale:
    """Return the scale at the end of a history."""
    rows = histories.as_rows(values)
    sizes = np.abs(np.diff(rows, axis=1)) if kind is ScaleKind.CHANGE else np.abs(rows)
    usual = sizes.mean(axis=1) if sizes.shape[1] else np.zeros(len(rows))
    floors = np.where(usual > 0.0, _FLOOR * usual, 1.0)
    return Scale(kind, usual, rows[:, 0].copy(), floors).update(rows)


@compiling.compiled
def _average(
    rows: arrays.Floats,
    means: arrays.Floats,
    last: arrays.Floats,
    changes: bool,
    averages: arrays.Floats,
) -> None:
    """Fill in the exponential means after each point."""
    for s in range(rows.shape[0]):
        mean, before = means[s], last[s]
        for t in range(rows.shape[1]):
            size = abs(rows[s, t] - before) if changes else abs(rows[s, t])
            mean += (size - mean) / SPAN
            before = rows[s, t]
            averages[s, t] = mean
