"""What an estimator answers for a whole usage, and the shape of an estimator.

An estimator is the part of a recommender that turns usage into amounts; rounding, bounds and rules
of users come around it. It works on all containers at once, so that a cluster takes seconds and a
walk through the past (``arenas``) is affordable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from kubestow.model import resources
from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage


@dataclass(frozen=True, slots=True, eq=False)
class Estimates:
    """Amounts by container, in cores and bytes; NaN where too little is known.

    The array form of recommendations: what an estimator returns for all containers at once, before
    rounding and guards. ``recommendations.Recommendation`` is made of one place of it.

    Attributes:
        cpu_cores: What to request.
        memory_bytes: What to request.
        lower_cpu_cores: Requests below are too small to keep.
        lower_memory_bytes: As above.
        upper_cpu_cores: Requests above are too large to keep.
        upper_memory_bytes: As above.
        reasons: Why, by container; empty texts where there is nothing to say.
        numbers: What led to it, by name: one number per container.
    """

    cpu_cores: Floats
    memory_bytes: Floats
    lower_cpu_cores: Floats
    lower_memory_bytes: Floats
    upper_cpu_cores: Floats
    upper_memory_bytes: Floats
    reasons: tuple[str, ...] = ()
    numbers: Mapping[str, Floats] = field(default_factory=dict)

    def amounts(self, place: int, bound: Literal["", "lower_", "upper_"] = "") -> dict[str, int]:
        """Return one container's amounts in millicores and bytes, rounded up.

        Amounts that are not known are left out.

        Args:
            place: Which container.
            bound: Which amounts: the target, or one of the bounds.
        """
        cpu = float(getattr(self, f"{bound}cpu_cores")[place])
        memory = float(getattr(self, f"{bound}memory_bytes")[place])
        found = {}
        # A millionth of a unit is noise of floating point, not usage.
        if math.isfinite(cpu):
            found[resources.CPU] = max(math.ceil(cpu * 1000.0 - 1e-6), 0)
        if math.isfinite(memory):
            found[resources.MEMORY] = max(math.ceil(memory - 1e-6), 0)
        return found


def exact(cpu_cores: Floats, memory_bytes: Floats, reasons: tuple[str, ...] = ()) -> Estimates:
    """Return estimates whose bounds are the estimates themselves."""
    return Estimates(
        cpu_cores, memory_bytes, cpu_cores, memory_bytes, cpu_cores, memory_bytes, reasons
    )


class Estimator(Protocol):
    """Turns usage into amounts."""

    @property
    def name(self) -> str:
        """The name users write."""

    def estimate(self, usage: Usage) -> Estimates:
        """Return what each container should request.

        Args:
            usage: Usage up to now; all of it counts unless the parameters say otherwise.
        """


@runtime_checkable
class Walker(Protocol):
    """An estimator that can answer at several moments of the past in one go."""

    def estimate_at(self, usage: Usage, at: Sequence[int]) -> list[Estimates]:
        """Return what ``estimate`` would for the first points, at each of some numbers.

        Args:
            usage: Usage of many containers.
            at: Numbers of points, ascending.
        """


def estimate_at(estimator: Estimator, usage: Usage, at: Sequence[int]) -> list[Estimates]:
    """Return the answers of any estimator at several moments of the past."""
    if isinstance(estimator, Walker):
        return estimator.estimate_at(usage, at)
    return [estimator.estimate(usage.until(points)) for points in at]
