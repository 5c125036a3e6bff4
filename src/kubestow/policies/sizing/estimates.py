"""Estimates of requests for many containers, and the protocol of estimators.

An estimator is the part of a recommender that turns usage into amounts; rounding, bounds and
policies of users follow. It works on all containers at once, so that a cluster takes seconds and
back-tests (``arena``) are affordable.
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
    rounding and guards. ``recommendations.Recommendation`` is made of one row of it.

    Attributes:
        cpu_cores: CPU to request.
        memory_bytes: Memory to request.
        lower_cpu_cores: CPU requests below this are too small to keep.
        lower_memory_bytes: The same for memory.
        upper_cpu_cores: CPU requests above this are too large to keep.
        upper_memory_bytes: The same for memory.
        reasons: Reasons by container; empty texts where there is nothing to say.
        numbers: Inputs of the decision by name: one number per container.
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

        Unknown amounts are left out.

        Args:
            place: Row of the container.
            bound: The amounts to return: the target, or one of the bounds.
        """
        cpu = float(getattr(self, f"{bound}cpu_cores")[place])
        memory = float(getattr(self, f"{bound}memory_bytes")[place])
        amounts = {}
        # A millionth of a unit is floating-point noise, not usage.
        if math.isfinite(cpu):
            amounts[resources.CPU] = max(math.ceil(cpu * 1000.0 - 1e-6), 0)
        if math.isfinite(memory):
            amounts[resources.MEMORY] = max(math.ceil(memory - 1e-6), 0)
        return amounts


def exact(cpu_cores: Floats, memory_bytes: Floats, reasons: tuple[str, ...] = ()) -> Estimates:
    """Return estimates whose bounds are the estimates themselves."""
    return Estimates(
        cpu_cores, memory_bytes, cpu_cores, memory_bytes, cpu_cores, memory_bytes, reasons
    )


class Estimator(Protocol):
    """Turns usage into amounts."""

    @property
    def name(self) -> str:
        """The registered name."""

    def estimate(self, usage: Usage) -> Estimates:
        """Return what each container should request.

        Args:
            usage: Usage up to now; all of it counts unless the parameters say otherwise.
        """


@runtime_checkable
class Walker(Protocol):
    """An estimator that can compute estimates for several past times at once."""

    def estimate_at(self, usage: Usage, at: Sequence[int]) -> list[Estimates]:
        """Return what ``estimate`` returns for each of several prefixes of the usage.

        Args:
            usage: Usage of many containers.
            at: Lengths of the prefixes in points, ascending.
        """


def estimate_at(estimator: Estimator, usage: Usage, at: Sequence[int]) -> list[Estimates]:
    """Return the estimates of any estimator at several past times."""
    if isinstance(estimator, Walker):
        return estimator.estimate_at(usage, at)
    return [estimator.estimate(usage.until(points)) for points in at]
