"""Time series as models take them: several, of equal length, at equal steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Mended:
    """What had to be mended to bring rows to equal steps.

    Attributes:
        gaps: Stretches without a value, over all series.
        filled: Values in these stretches, which repeat the last one known before.
        merged: Rows that shared their step with another one; their mean counts.
    """

    gaps: int = 0
    filled: int = 0
    merged: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TimeGrid:
    """Series side by side.

    Attributes:
        names: One per series.
        start_s: Time of the first point, in seconds since the epoch.
        step_s: Distance of two points.
        values: One row per series, one column per point, oldest first; all finite.
        mended: What had to be mended.
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
        """Return some of the series, in the order asked for."""
        places = [self.names.index(name) for name in names]
        return TimeGrid(names, self.start_s, self.step_s, self.values[places], self.mended)

    def coarsen(self, factor: int) -> TimeGrid:
        """Return means over so many points each; what is left at the end is cut off."""
        length = self.values.shape[1] // factor
        kept = self.values[:, : length * factor].reshape(len(self.values), length, factor)
        return TimeGrid(
            self.names, self.start_s, self.step_s * factor, kept.mean(axis=2), self.mended
        )
