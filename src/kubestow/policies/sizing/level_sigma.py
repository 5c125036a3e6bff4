"""The recommender ``level-sigma``: the mean plus a number of standard deviations.

Schubert 2023, E8 suspects that the deviation dominates a forecast with a margin, so that an
estimate without time would do as well (interpretation a). It is the cheap baseline of comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kubestow.model import decoding
from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage
from kubestow.policies.compiling import compiled
from kubestow.policies.sizing import estimates, reasons

NAME = "level-sigma"

Amount = Annotated[float, decoding.ValueBounds(least=0.0)]


@dataclass(frozen=True, slots=True)
class LevelSigmaParameters:
    """Number of standard deviations, and floors.

    Attributes:
        cpu_sigmas: Standard deviations above the mean.
        memory_sigmas: Standard deviations above the mean.
        cpu_floor_cores: Added, for series that hardly vary (as in Schubert 2023, 5.16).
        memory_floor_bytes: The same for memory (2 MiB, Schubert 2023, 5.13).
    """

    cpu_sigmas: Amount = 2.0
    memory_sigmas: Amount = 3.0
    cpu_floor_cores: Amount = 0.0015
    memory_floor_bytes: Amount = 2.0 * 2**20


@dataclass(frozen=True, slots=True)
class LevelSigma:
    """Estimates by mean and deviation."""

    parameters: LevelSigmaParameters = LevelSigmaParameters()
    name: str = NAME

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return mean plus deviations of the largest pod."""
        p = self.parameters
        cpu, cpu_deviation = moments(usage.cpu_cores)
        memory, memory_deviation = moments(usage.memory_bytes)
        targets = (
            usage.largest(cpu + p.cpu_sigmas * cpu_deviation + p.cpu_floor_cores),
            usage.largest(memory + p.memory_sigmas * memory_deviation + p.memory_floor_bytes),
        )
        return estimates.Estimates(
            *targets,
            usage.largest(cpu),
            usage.largest(memory),
            usage.largest(cpu + 2.0 * p.cpu_sigmas * cpu_deviation + p.cpu_floor_cores),
            usage.largest(memory + 2.0 * p.memory_sigmas * memory_deviation + p.memory_floor_bytes),
            reasons.by_container(
                *targets,
                f"{{}} is the mean plus {p.cpu_sigmas:g} standard deviations",
                f"{{}} is the mean plus {p.memory_sigmas:g}",
            ),
        )


def moments(values: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of each row; NaN where nothing was measured."""
    means, deviations = np.empty(len(values)), np.empty(len(values))
    _moments(values, means, deviations)
    return means, deviations


@compiled
def _moments(values: Floats, means: Floats, deviations: Floats) -> None:
    for row in range(len(values)):
        line = values[row]
        known = line[~np.isnan(line)]
        means[row] = known.mean() if len(known) else np.nan
        deviations[row] = known.std() if len(known) else np.nan
