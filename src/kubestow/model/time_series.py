"""Time series of equal length at equal steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Mended:
    """Repairs made when resampling rows to equal steps.

    Attributes:
        gaps: Number of gaps, over all series.
        filled: Values in the gaps, which repeat the last known one.
        merged: Rows that shared their step with another one and were averaged.
    """

    gaps: int = 0
    filled: int = 0
    merged: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TimeGrid:
    """Several series on one time grid.

    Attributes:
        names: Name of each series.
        start_s: Time of the first point, in seconds since the epoch.
        step_s: Seconds between two points.
        values: One row per series, one column per point, oldest first; all finite.
        mended: Repairs made.
    """

    names: tuple[str, ...]
    start_s: float
    step_s: float
    values: NDArray[np.float64]
    mended: Mended = Mended()

    def times_s(self) -> NDArray[np.float64]:
        """Return the time of each point, in seconds since the epoch."""
        return self.start_s + self.step_s * np.arange(self.values.shape[1], dtype=np.float64)

    def pick(self, names: tuple[str, ...]) -> TimeGrid:
        """Return some of the series, in the given order."""
        places = [self.names.index(name) for name in names]
        return TimeGrid(names, self.start_s, self.step_s, self.values[places], self.mended)

    def coarsen(self, factor: int) -> TimeGrid:
        """Return means over ``factor`` points each; a remainder at the end is dropped."""
        length = self.values.shape[1] // factor
        kept = self.values[:, : length * factor].reshape(len(self.values), length, factor)
        return TimeGrid(
            self.names, self.start_s, self.step_s * factor, kept.mean(axis=2), self.mended
        )
