"""``hpa``: an exact model of the HorizontalPodAutoscaler as a pure function.

Ports ``reconcileAutoscaler`` and its helpers (pkg/controller/podautoscaler/horizontal.go), by
version. The memory advances as the controller's does: every sync with a proposal stores a
recommendation, and a decision that differs from the current replicas stores a scale event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from kubestow.model import decisions as records
from kubestow.policies.scaling import decisions, observations
from kubestow.policies.scaling.hpa import (
    behavior,
    go_arithmetic,
    metrics,
    replica_calculator,
    versions,
)
from kubestow.policies.scaling.hpa import memory as hpa_memory
from kubestow.policies.scaling.hpa import specification as specs

ABOVE = "Current number of replicas above Spec.MaxReplicas"
BELOW = "Current number of replicas below Spec.MinReplicas"
_GOT = decisions.Condition(
    "AbleToScale",
    "True",
    "SucceededGetScale",
    "the HPA controller was able to get the target's current scale",
)
_READY = decisions.Condition(
    "AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size"
)
_DISABLED = decisions.Condition(
    "ScalingActive",
    "False",
    "ScalingDisabled",
    "scaling is disabled since the replica count of the target is zero",
)
_AT_ZERO = decisions.Condition(
    "ScaledToZero", "True", "ScaledToZero", "the HPA controller scaled the workload to zero"
)
_NOT_AT_ZERO = decisions.Condition(
    "ScaledToZero",
    "False",
    "NotScaledToZero",
    "the HPA controller did not scale the workload to zero",
)


@dataclass(frozen=True, slots=True)
class HpaParameters:
    """Settings of the controller: flags of kube-controller-manager, with their defaults.

    Attributes:
        version: Release of Kubernetes whose rules apply.
        tolerance: Share by which usage may differ from its target without a change
            (``--horizontal-pod-autoscaler-tolerance``, default 0.1).
        downscale_stabilization_s: Window in which the largest recommendation counts
            (``--horizontal-pod-autoscaler-downscale-stabilization``, default 5 min).
        cpu_initialization_period_s: Time after its start in which a pod's CPU may be start-up work
            (``--horizontal-pod-autoscaler-cpu-initialization-period``, default 5 min).
        initial_readiness_delay_s: Readiness that changes within this time after the start is the
            first one (``--horizontal-pod-autoscaler-initial-readiness-delay``, default 30 s).
    """

    version: str = versions.DEFAULT_VERSION
    tolerance: float = 0.1
    downscale_stabilization_s: float = 300.0
    cpu_initialization_period_s: float = 300.0
    initial_readiness_delay_s: float = 30.0


class _Plan(NamedTuple):
    """The outcome of a sync, before the decision is made of it."""

    desired: int
    reason: str
    conditions: tuple[decisions.Condition, ...]
    recommendations: tuple[hpa_memory.Stamped, ...]
    outcome: metrics.MetricsOutcome | None = None
    error: str = ""


class Hpa:
    """The HorizontalPodAutoscaler with one specification.

    Args:
        spec: The autoscaler's specification.
        parameters: Settings of the controller.
        features: The release's behaviour, where feature gates differ from their defaults.
    """

    name = "hpa"

    def __init__(
        self,
        spec: specs.AutoscalerSpec,
        parameters: HpaParameters | None = None,
        features: versions.HpaFeatures | None = None,
    ) -> None:
        self.spec = spec
        self.parameters = parameters or HpaParameters()
        self.features = features or versions.hpa_features(self.parameters.version)
        self._calculator = make_calculator(spec, self.parameters, self.features)
        self._metrics = metrics.MetricSet(spec.metrics)
        self._single = any(metric.single for metric in spec.metrics)

    def start(self) -> hpa_memory.HpaMemory:
        """Return the initial memory."""
        return hpa_memory.HpaMemory(scaled_to_zero=self.spec.scaled_to_zero)

    def restore(self, value: Mapping[str, Any]) -> hpa_memory.HpaMemory:
        """Return the memory that ``as_json`` wrote."""
        return hpa_memory.HpaMemory.from_json(value)

    def decide(
        self, observation: observations.ScalingObservation, memory: hpa_memory.HpaMemory
    ) -> tuple[decisions.ScalingDecision, hpa_memory.HpaMemory]:
        """Run one sync."""
        now_ns = go_arithmetic.nanoseconds(observation.time_s)
        current = observation.current_replicas
        entries = memory.recommendations
        if entries is None:
            entries = ((current, now_ns),)
        plan = self._plan(observation, memory, entries, now_ns)
        outcome = plan.outcome
        after = self._remember(memory, plan, current, now_ns)
        conditions = plan.conditions
        if plan.desired != current:
            conditions = (*_rescaled(conditions, plan.desired), *self._zero_condition(after))
        decision = decisions.ScalingDecision(
            observation.time_s,
            current,
            outcome.replicas if outcome is not None else None,
            plan.desired,
            plan.reason,
            conditions,
            plan.error,
            lambda decision: self._record(decision, outcome),
        )
        return decision, after

    def _plan(
        self,
        observation: observations.ScalingObservation,
        memory: hpa_memory.HpaMemory,
        entries: tuple[hpa_memory.Stamped, ...],
        now_ns: int,
    ) -> _Plan:
        current, spec = observation.current_replicas, self.spec
        if current == 0:
            if self._is_disabled(memory):
                return _Plan(0, _DISABLED.reason, (_GOT, _DISABLED), entries)
        elif current > spec.max_replicas:
            return _Plan(spec.max_replicas, ABOVE, (_GOT,), entries)
        elif current < spec.min_replicas:
            return _Plan(spec.min_replicas, BELOW, (_GOT,), entries)
        outcome = self._metrics.ask(self._calculator, observation, now_ns)
        if outcome.replicas is None:
            reason = outcome.active.reason
            return _Plan(current, reason, (_GOT, outcome.active), entries, outcome, outcome.error)
        return self._follow(observation, memory, entries, outcome, now_ns)

    def _is_disabled(self, memory: hpa_memory.HpaMemory) -> bool:
        """Return whether scaling is disabled for a target without replicas."""
        least = self.spec.min_replicas
        if not self.features.zero_condition:
            return least != 0
        if not (self.features.scale_to_zero and memory.scaled_to_zero):
            return True
        return least == 0 and not self._single

    def _follow(
        self,
        observation: observations.ScalingObservation,
        memory: hpa_memory.HpaMemory,
        entries: tuple[hpa_memory.Stamped, ...],
        outcome: metrics.MetricsOutcome,
        now_ns: int,
    ) -> _Plan:
        """Follow a proposal as far as stabilisation and limits allow."""
        current, spec = observation.current_replicas, self.spec
        recommended = max(outcome.replicas or 0, 0)
        reason = _compare(recommended, current, outcome.metric)
        down_s = self.parameters.downscale_stabilization_s
        applied = behavior.apply_behavior(
            spec, memory, entries, (current, recommended), down_s, now_ns
        )
        desired, stable, why, limited, entries = applied
        able = _READY if stable == recommended else decisions.Condition("AbleToScale", "True", *why)
        held = "True" if desired != stable else "False"
        conditions = (
            able,
            outcome.active,
            decisions.Condition("ScalingLimited", held, *limited.reason),
        )
        if current == 0 and spec.min_replicas > desired and self._was_at_zero(memory):
            desired, reason = spec.min_replicas, reason or BELOW
        if desired == current:
            reason = able.reason if stable != recommended else limited.reason[0]
        # Upstream has no reason text for following an earlier, higher recommendation upwards.
        reason = reason or able.reason
        return _Plan(desired, reason, conditions, entries, outcome, outcome.error)

    def _was_at_zero(self, memory: hpa_memory.HpaMemory) -> bool:
        features = self.features
        return features.zero_condition and features.scale_to_zero and memory.scaled_to_zero

    def _remember(
        self, memory: hpa_memory.HpaMemory, plan: _Plan, current: int, now_ns: int
    ) -> hpa_memory.HpaMemory:
        zero = memory.scaled_to_zero
        change = plan.desired - current
        up, down = behavior.scale_events(self.spec, memory, change, now_ns)
        if change:
            zero = (
                self.features.scale_to_zero
                and current > 0
                and plan.desired == 0
                and self.spec.min_replicas == 0
                and self._single
            )
        return hpa_memory.HpaMemory(plan.recommendations, up, down, zero)

    def _zero_condition(self, after: hpa_memory.HpaMemory) -> tuple[decisions.Condition, ...]:
        if not (self.features.zero_condition and self.features.scale_to_zero):
            return ()
        return (_AT_ZERO,) if after.scaled_to_zero else (_NOT_AT_ZERO,)

    def _record(
        self, decision: decisions.ScalingDecision, outcome: metrics.MetricsOutcome | None
    ) -> records.DecisionRecord:
        candidates, rejected = [], {}
        answers = outcome.answers if outcome is not None else ()
        metrics = zip(self.spec.metrics, self._metrics.names, strict=True)
        for (metric, name), answer in zip(metrics, answers, strict=False):
            if isinstance(answer, str):
                rejected[name] = answer
            else:
                terms = {"usage": float(answer.usage), "target": float(metric.amount)}
                candidates.append(records.Candidate(name, terms, float(answer.replicas)))
        candidates.sort(key=lambda candidate: -(candidate.total or 0.0))
        numbers = {
            "current": float(decision.current),
            "minReplicas": float(self.spec.min_replicas),
            "maxReplicas": float(self.spec.max_replicas),
        }
        if decision.proposed is not None:
            numbers["proposed"] = float(decision.proposed)
        return records.DecisionRecord(
            kind="scaling",
            subject=self.spec.subject,
            policy=self.name,
            outcome=str(decision.desired),
            parameters={**asdict(self.parameters), "reason": decision.reason},
            time=decision.time_s,
            candidates=tuple(candidates),
            rejected=rejected,
            numbers=numbers,
        )


def make_calculator(
    spec: specs.AutoscalerSpec, parameters: HpaParameters, features: versions.HpaFeatures
) -> replica_calculator.Calculator:
    """Return the calculator that computes proposals from metrics with these settings."""
    up = down = parameters.tolerance
    if spec.behavior is not None and features.configurable_tolerance:
        up = up if spec.behavior.up.tolerance is None else spec.behavior.up.tolerance
        down = down if spec.behavior.down.tolerance is None else spec.behavior.down.tolerance
    return replica_calculator.Calculator(
        low=1.0 - down,
        high=1.0 + up,
        distance=None if features.tolerance_bounds else parameters.tolerance,
        initialisation_ns=go_arithmetic.nanoseconds(parameters.cpu_initialization_period_s),
        delay_ns=go_arithmetic.nanoseconds(parameters.initial_readiness_delay_s),
        features=features,
        namespace=spec.namespace,
    )


def _compare(recommended: int, current: int, metric: str) -> str:
    """Return upstream's reason for a rescale; empty where none is needed."""
    if recommended > current:
        return f"{metric} above target"
    return "All metrics below target" if recommended < current else ""


def _rescaled(
    conditions: tuple[decisions.Condition, ...], desired: int
) -> tuple[decisions.Condition, ...]:
    """Replace the first condition by the one of a rescale that succeeded."""
    done = decisions.Condition(
        "AbleToScale",
        "True",
        "SucceededRescale",
        f"the HPA controller was able to update the target scale to {desired}",
    )
    return (done, *conditions[1:])
