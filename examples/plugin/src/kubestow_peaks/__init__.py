"""Two policies for kubestow, as a package of their own.

``peak`` requests the largest value ever seen and a margin: safe, dear, and a good yardstick.
``rolling-median`` forecasts the median of the last points: robust against single outliers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kubestow import plugins


@dataclass(frozen=True, slots=True)
class PeakParameters:
    """How much is added to the peak.

    Attributes:
        margin: Share added to the largest value of CPU and memory.
    """

    margin: float = 0.1


@dataclass(frozen=True, slots=True)
class Peak:
    """Estimates by the largest value of any pod of a container."""

    parameters: PeakParameters = PeakParameters()
    name: str = "peak"

    def estimate(self, usage: plugins.Usage) -> plugins.Estimates:
        """Return the peak of each container, with the margin."""
        factor = 1.0 + self.parameters.margin
        cpu, memory = (
            usage.largest(np.fmax.reduce(values, axis=1, initial=0.0)) * factor
            for values in (usage.cpu_cores, usage.memory_bytes)
        )
        return plugins.Estimates(cpu, memory, cpu, memory, cpu, memory)


PEAK = plugins.RecommenderEntry(
    "peak", "The largest value ever seen, and a margin.", PeakParameters, Peak
)


@dataclass(frozen=True, slots=True)
class RollingMedian:
    """The median of the last points, for all steps ahead."""

    points: int = 12
    name: str = "rolling-median"
    least_points: int = 1

    def fit(self, values: plugins.Floats) -> FittedMedian:
        """Remember the last points."""
        return FittedMedian(values[:, -self.points :], self.points)


@dataclass(frozen=True, slots=True, eq=False)
class FittedMedian:
    """The last points of every series."""

    tail: plugins.Floats
    points: int

    def update(self, points: plugins.Floats) -> FittedMedian:
        """Move on by new points."""
        both = np.concatenate((self.tail, points), axis=1)
        return FittedMedian(both[:, -self.points :], self.points)

    def means(self, steps: int) -> plugins.Floats:
        """Repeat the median."""
        return np.repeat(np.median(self.tail, axis=1)[:, None], steps, axis=1)

    def roll(self, points: plugins.Floats, steps: int) -> plugins.Floats:
        """Repeat the median after each of some new points."""
        ahead = [
            self.update(points[:, : count + 1]).means(steps) for count in range(points.shape[1])
        ]
        if not ahead:
            return np.empty((len(self.tail), 0, steps))
        return np.stack(ahead, axis=1)


ROLLING_MEDIAN = plugins.ForecasterEntry(
    "rolling-median", "the median of the last twelve points", lambda _: RollingMedian(), few=True
)
