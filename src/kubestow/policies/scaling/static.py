"""``static``: a constant number of replicas, the control group of every comparison.

McNaughton 2016 names three: enough for the largest load, for the smallest, and for the mean. The
rule is ``ceil(load x cpu per request / (request x target))``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kubestow.model import decisions as records
from kubestow.model import errors
from kubestow.policies.scaling import decisions, observations
from kubestow.policies.scaling import hpa as specs

FIXED, OVER, UNDER, AVERAGE = "fixed", "over", "under", "average"
MODES = (FIXED, OVER, UNDER, AVERAGE)


@dataclass(frozen=True, slots=True)
class StaticParameters:
    """The number of replicas, or the load to compute it from.

    Attributes:
        mode: ``fixed``: as many as ``replicas`` says; ``over``, ``under``, ``average``: enough for
            the maximum, minimum, mean of the load.
        replicas: The number for ``fixed``; 0 means the autoscaler's minimum.
        load_max_rps: Largest load, requests per second.
        load_min_rps: Smallest load.
        load_mean_rps: Mean load.
        cpu_per_request_s: CPU seconds a request takes (default 0.036, McNaughton 2016, 8.5).
        request_cores: CPU request of a pod in cores.
        target: Share of its request a pod should use (default 0.6, McNaughton 2016, 3.9).
    """

    mode: str = FIXED
    replicas: int = 0
    load_max_rps: float = 0.0
    load_min_rps: float = 0.0
    load_mean_rps: float = 0.0
    cpu_per_request_s: float = 0.036
    request_cores: float = 1.0
    target: float = 0.6


@dataclass(frozen=True, slots=True)
class NoMemory:
    """The empty memory."""

    def as_json(self) -> dict[str, Any]:
        """Return an empty mapping."""
        return {}


def needed_replicas(
    load_rps: float, cpu_per_request_s: float, request_cores: float, target: float
) -> int:
    """Return how many pods a load needs.

    >>> needed_replicas(100.0, 0.036, 1.0, 0.6)  # 3.6 cores, 0.6 of them per pod
    6
    """
    # Rounded first, because 3.6 / 0.6 is a little more than 6 in floats.
    return math.ceil(round(load_rps * cpu_per_request_s / (request_cores * target), 9))


class Stateless:
    """Mixin of scalers without memory."""

    def start(self) -> NoMemory:
        """Return the empty memory."""
        return NoMemory()

    def restore(self, value: Mapping[str, Any]) -> NoMemory:  # noqa: ARG002 - nothing to restore
        """Return the empty memory."""
        return NoMemory()


class Static(Stateless):
    """Keeps a number of replicas, within the autoscaler's bounds."""

    name = "static"

    def __init__(
        self, spec: specs.AutoscalerSpec, parameters: StaticParameters | None = None
    ) -> None:
        self.spec = spec
        self.parameters = parameters or StaticParameters()
        self.replicas = min(
            max(_count(self.parameters, spec), spec.min_replicas), spec.max_replicas
        )

    def decide(
        self, observation: observations.ScalingObservation, memory: NoMemory
    ) -> tuple[decisions.ScalingDecision, NoMemory]:
        """Return the constant number."""
        decision = decisions.ScalingDecision(
            time_s=observation.time_s,
            current=observation.current_replicas,
            proposed=self.replicas,
            desired=self.replicas,
            reason=f"static: {self.parameters.mode}",
            conditions=(),
            error="",
            _record=self._record,
        )
        return decision, memory

    def _record(self, decision: decisions.ScalingDecision) -> records.DecisionRecord:
        return records.DecisionRecord(
            kind="scaling",
            subject=self.spec.subject,
            policy=self.name,
            outcome=str(decision.desired),
            parameters=asdict(self.parameters),
            time=decision.time_s,
            numbers={"current": float(decision.current)},
        )


def _count(parameters: StaticParameters, spec: specs.AutoscalerSpec) -> int:
    loads = {
        OVER: parameters.load_max_rps,
        UNDER: parameters.load_min_rps,
        AVERAGE: parameters.load_mean_rps,
    }
    if parameters.mode == FIXED:
        return parameters.replicas or spec.min_replicas
    if parameters.mode not in loads:
        raise errors.InputError("mode", f"{parameters.mode!r}: expected one of {', '.join(MODES)}")
    work = (parameters.cpu_per_request_s, parameters.request_cores, parameters.target)
    if min(work) <= 0:
        raise errors.InputError(
            "static", "cpu_per_request_s, request_cores and target must be positive"
        )
    return needed_replicas(loads[parameters.mode], *work)
