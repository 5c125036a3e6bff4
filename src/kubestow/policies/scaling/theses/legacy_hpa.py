"""``hpa-legacy``: the reactive autoscaler of 2016, the baseline of McNaughton 2016 (3.3).

``desired = ceil(mean utilisation / target x replicas)`` with a tolerance of 10 %, and after any
rescale no scale-up for 3 minutes and no scale-down for 5 (forbidden windows).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from kubestow.model import decisions as records
from kubestow.policies.scaling import decisions, hpa, observations
from kubestow.policies.scaling.theses import utilization


@dataclass(frozen=True, slots=True)
class LegacyHpaParameters:
    """Settings of the controller; defaults are those of Kubernetes 1.2 (McNaughton 2016, 3.3).

    Attributes:
        tolerance: Tolerated distance from 1 of the ratio of usage to target.
        upscale_forbidden_s: Seconds after any rescale without scaling up.
        downscale_forbidden_s: Seconds after any rescale without scaling down.
    """

    tolerance: float = 0.1
    upscale_forbidden_s: float = 180.0
    downscale_forbidden_s: float = 300.0


@dataclass(frozen=True, slots=True)
class LegacyMemory:
    """When the target was last rescaled; ``None`` if never."""

    rescaled_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return asdict(self)


class LegacyHpa:
    """The autoscaler of 2016 on the mean utilisation of one resource."""

    name = "hpa-legacy"

    def __init__(
        self, spec: hpa.AutoscalerSpec, parameters: LegacyHpaParameters | None = None
    ) -> None:
        self.spec = spec
        self.parameters = parameters or LegacyHpaParameters()
        self._metric = spec.metrics[0]

    def start(self) -> LegacyMemory:
        """Return the initial memory."""
        return LegacyMemory()

    def restore(self, value: Mapping[str, Any]) -> LegacyMemory:
        """Return the memory that ``as_json`` wrote."""
        return LegacyMemory(**value)

    def decide(
        self, observation: observations.ScalingObservation, memory: LegacyMemory
    ) -> tuple[decisions.ScalingDecision, LegacyMemory]:
        """Run one sync."""
        return self.decide_on(
            observation, memory, utilization.utilization_level(observation, self._metric.key)
        )

    def decide_on(
        self,
        observation: observations.ScalingObservation,
        memory: LegacyMemory,
        level: float | None,
    ) -> tuple[decisions.ScalingDecision, LegacyMemory]:
        """Run one sync with the given value of the metric, e.g. a forecast."""
        current = observation.current_replicas
        proposed, reason = self._propose(current, level)
        recommended = current if proposed is None else proposed
        desired = current
        if self._allowed(recommended - current, observation.time_s, memory):
            desired = recommended
        elif recommended != current:
            reason = "forbidden window"
        if desired != current:
            memory = LegacyMemory(observation.time_s)
        decision = decisions.ScalingDecision(
            time_s=observation.time_s,
            current=current,
            proposed=proposed,
            desired=desired,
            reason=reason,
            conditions=(),
            error="" if proposed is not None else f"no value of {self._metric.key}",
            _record=lambda decision: self.record(decision, level),
        )
        return decision, memory

    def _propose(self, current: int, level: float | None) -> tuple[int | None, str]:
        spec = self.spec
        if current > spec.max_replicas:
            return spec.max_replicas, hpa.ABOVE
        if current < spec.min_replicas:
            return spec.min_replicas, hpa.BELOW
        if current == 0:
            return 1, "never zero"
        if level is None:
            return None, "no metric"
        ratio = level / self._target()
        if abs(1.0 - ratio) <= self.parameters.tolerance:
            return current, "within tolerance"
        # Rounded first, so that float noise in a mean does not lift a whole number to the next.
        recommended = max(math.ceil(round(ratio * current, 9)), 1)
        recommended = min(max(recommended, spec.min_replicas), spec.max_replicas)
        name = self._metric.key
        return recommended, f"{name} above target" if ratio > 1 else "All metrics below target"

    def _target(self) -> float:
        amount = float(self._metric.amount)
        return amount if self._metric.target == hpa.UTILIZATION else amount / 1000.0

    def _allowed(self, change: int, now_s: float, memory: LegacyMemory) -> bool:
        if memory.rescaled_s is None:
            return True
        window_s = (
            self.parameters.upscale_forbidden_s
            if change > 0
            else self.parameters.downscale_forbidden_s
        )
        return now_s > memory.rescaled_s + window_s

    def record(
        self, decision: decisions.ScalingDecision, level: float | None
    ) -> records.DecisionRecord:
        """Return the record of a decision on a value."""
        numbers = {"current": float(decision.current), "target": self._target()}
        if level is not None:
            numbers["level"] = level
        return records.DecisionRecord(
            kind="scaling",
            subject=self.spec.subject,
            policy=self.name,
            outcome=str(decision.desired),
            parameters={**asdict(self.parameters), "reason": decision.reason},
            time=decision.time_s,
            numbers=numbers,
        )
