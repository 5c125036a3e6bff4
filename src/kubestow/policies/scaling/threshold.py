"""``threshold``: add replicas above one level, remove some below another, then pause.

McNaughton 2016, 5.1: if the metric is above the upper threshold for a hold time, add a step and
inhibit scaling up for a while; the same downwards. The step may grow with the excess (AWS step
scaling).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from kubestow.model import decisions as records
from kubestow.policies.scaling import decisions, observations, theses
from kubestow.policies.scaling import hpa as specs


@dataclass(frozen=True, slots=True)
class ThresholdParameters:
    """Levels, steps and times; defaults are those of McNaughton 2016, 5.1.

    Attributes:
        metric: Which metric; empty means the autoscaler's first one.
        upper: Above this level replicas are added (percent of the request for resources).
        lower: Below this level replicas are removed.
        step_up: Replicas to add.
        step_down: Replicas to remove.
        hold_up_s: Seconds the metric must have been above.
        hold_down_s: Seconds it must have been below.
        inhibit_up_s: Seconds after any change in which nothing is added.
        inhibit_down_s: Seconds after any change in which nothing is removed.
        excess_step: Each excess of this size over the upper level adds another step; 0 disables
            it.
    """

    metric: str = ""
    upper: float = 80.0
    lower: float = 20.0
    step_up: int = 1
    step_down: int = 1
    hold_up_s: float = 60.0
    hold_down_s: float = 60.0
    inhibit_up_s: float = 180.0
    inhibit_down_s: float = 300.0
    excess_step: float = 0.0


@dataclass(frozen=True, slots=True)
class ThresholdMemory:
    """Since when the metric is beyond a threshold, and when replicas last changed.

    Attributes:
        above_since_s: Since when it is above the upper level; ``None`` if it is not.
        below_since_s: Since when it is below the lower level; ``None`` if it is not.
        changed_s: When replicas were last changed; ``None`` if never.
    """

    above_since_s: float | None = None
    below_since_s: float | None = None
    changed_s: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return asdict(self)


class Threshold:
    """Threshold rules for one target."""

    name = "threshold"

    def __init__(
        self, spec: specs.AutoscalerSpec, parameters: ThresholdParameters | None = None
    ) -> None:
        self.spec = spec
        self.parameters = parameters or ThresholdParameters()
        self._metric = self.parameters.metric or spec.metrics[0].key

    def start(self) -> ThresholdMemory:
        """Return the initial memory."""
        return ThresholdMemory()

    def restore(self, value: Mapping[str, Any]) -> ThresholdMemory:
        """Return the memory that ``as_json`` wrote."""
        return ThresholdMemory(**value)

    def decide(
        self, observation: observations.ScalingObservation, memory: ThresholdMemory
    ) -> tuple[decisions.ScalingDecision, ThresholdMemory]:
        """Compare the metric with the levels."""
        current, now_s = observation.current_replicas, observation.time_s
        level = theses.utilization_level(observation, self._metric)
        memory = _track(memory, self.parameters, level, now_s)
        proposed, reason = self._propose(memory, current, level, now_s)
        desired = min(max(proposed, self.spec.min_replicas), self.spec.max_replicas)
        if desired != current:
            memory = ThresholdMemory(changed_s=now_s)
        decision = decisions.ScalingDecision(
            time_s=now_s,
            current=current,
            proposed=None if level is None else proposed,
            desired=desired,
            reason=reason,
            conditions=(),
            error="" if level is not None else f"no value of {self._metric}",
            _record=lambda decision: self._record(decision, level),
        )
        return decision, memory

    def _propose(
        self, memory: ThresholdMemory, current: int, level: float | None, now_s: float
    ) -> tuple[int, str]:
        parameters = self.parameters
        if level is None:
            return current, "no metric"
        if _lasts(memory.above_since_s, parameters.hold_up_s, now_s):
            if _inhibited(memory, parameters.inhibit_up_s, now_s):
                return current, "above the upper threshold, inhibited"
            return current + _step(parameters, level), "above the upper threshold"
        if _lasts(memory.below_since_s, parameters.hold_down_s, now_s):
            if _inhibited(memory, parameters.inhibit_down_s, now_s):
                return current, "below the lower threshold, inhibited"
            return max(current - parameters.step_down, 0), "below the lower threshold"
        beyond = memory.above_since_s is not None or memory.below_since_s is not None
        return current, "not long enough beyond a threshold" if beyond else "between thresholds"

    def _record(
        self, decision: decisions.ScalingDecision, level: float | None
    ) -> records.DecisionRecord:
        numbers = {"current": float(decision.current)}
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


def _track(
    memory: ThresholdMemory, parameters: ThresholdParameters, level: float | None, now_s: float
) -> ThresholdMemory:
    """Track since when the metric is beyond a threshold; an unknown value resets it."""
    above = level is not None and level > parameters.upper
    below = level is not None and level < parameters.lower
    since_above, since_below = memory.above_since_s, memory.below_since_s
    return replace(
        memory,
        above_since_s=(now_s if since_above is None else since_above) if above else None,
        below_since_s=(now_s if since_below is None else since_below) if below else None,
    )


def _lasts(since_s: float | None, hold_s: float, now_s: float) -> bool:
    return since_s is not None and now_s - since_s >= hold_s


def _inhibited(memory: ThresholdMemory, inhibit_s: float, now_s: float) -> bool:
    return memory.changed_s is not None and now_s - memory.changed_s < inhibit_s


def _step(parameters: ThresholdParameters, level: float) -> int:
    if parameters.excess_step <= 0:
        return parameters.step_up
    return parameters.step_up * (
        1 + math.floor((level - parameters.upper) / parameters.excess_step)
    )
