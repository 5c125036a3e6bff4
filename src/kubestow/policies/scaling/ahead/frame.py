"""The common frame of predictive scalers: an autoscaler's rules around a proposal.

A *proposer* says how many replicas are needed, and why. The frame computes what the
HorizontalPodAutoscaler would propose (the reactive proposal, which is also the fallback), and
obeys the autoscaler's bounds, policies and windows like ``hpa`` itself. The host of a frame is the
only writer of ``spec.replicas``: a HorizontalPodAutoscaler is read as a specification, and its
controller does not run as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from kubestow.model import decisions as records
from kubestow.policies.scaling import decisions, hpa, observations

REACTIVE = "reactive"
# Upstream's downscale stabilization; reactive proposals follow upstream.
_UPSTREAM_DOWN_S = hpa.HpaParameters().downscale_stabilization_s
AT_ZERO = "scaling is disabled since the replica count of the target is zero"

Inner = TypeVar("Inner", bound=decisions.ScalerMemory)


class ProposalInputs(NamedTuple):
    """The inputs of a proposer.

    Attributes:
        observation: The host's observation.
        reactive: What the HorizontalPodAutoscaler would propose; ``None`` if no metric is usable.
        cause: Why none is.
    """

    observation: observations.ScalingObservation
    reactive: int | None
    cause: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal with its reasons.

    Attributes:
        replicas: How many replicas; ``None`` changes nothing.
        reason: Why.
        numbers: What it was computed from.
        candidates: What each part would have proposed.
        rejected: Parts that did not count, with the reason.
        backtest: Measured error or skill of the forecast.
        error: What went wrong.
        need: The replicas before rounding up, for the tolerance; ``None`` where they are whole.
        down_s: Downscale stabilization window in seconds, where it differs from the proposer's.
    """

    replicas: int | None
    reason: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    candidates: tuple[records.Candidate, ...] = ()
    rejected: Mapping[str, str] = field(default_factory=dict)
    backtest: Mapping[str, float] = field(default_factory=dict)
    error: str = ""
    need: float | None = None
    down_s: float | None = None


class Proposer(Protocol[Inner]):
    """Proposes replicas, before any stabilization or rate limit."""

    @property
    def down_s(self) -> float:
        """Downscale stabilization in seconds, where the autoscaler sets no window."""
        ...

    def start(self) -> Inner:
        """Return the initial memory."""
        ...

    def restore(self, value: Mapping[str, Any]) -> Inner:
        """Return the memory that ``as_json`` wrote."""
        ...

    def propose(self, inputs: ProposalInputs, memory: Inner) -> tuple[Proposed, Inner]:
        """Return the proposal and the new memory."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FrameMemory(Generic[Inner]):
    """The memories of the autoscaler and of the proposer."""

    hpa_memory: hpa.HpaMemory
    inner: Inner

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {"pace": self.hpa_memory.as_json(), "inner": self.inner.as_json()}


class Framed(Generic[Inner]):
    """A proposer within the rules of an autoscaler.

    Args:
        name: The name under which it is registered.
        spec: The autoscaler's specification.
        parameters: The proposer's parameters, for the record.
        proposer: Proposes the replicas.
    """

    def __init__(
        self,
        name: str,
        spec: hpa.AutoscalerSpec,
        parameters: Any,
        proposer: Proposer[Inner],
    ) -> None:
        self.name = name
        self.spec = spec
        self.parameters = parameters
        self.proposer = proposer
        settings = hpa.HpaParameters()
        self._calculator = hpa.make_calculator(spec, settings, hpa.hpa_features(settings.version))
        self._metrics = hpa.MetricSet(spec.metrics)

    def start(self) -> FrameMemory[Inner]:
        """Return the initial memory."""
        return FrameMemory(hpa.HpaMemory(), self.proposer.start())

    def restore(self, value: Mapping[str, Any]) -> FrameMemory[Inner]:
        """Return the memory that ``as_json`` wrote."""
        return FrameMemory(
            hpa.HpaMemory.from_json(value["pace"]), self.proposer.restore(value["inner"])
        )

    def decide(
        self, observation: observations.ScalingObservation, memory: FrameMemory[Inner]
    ) -> tuple[decisions.ScalingDecision, FrameMemory[Inner]]:
        """Take a proposal, and follow it as far as the rules allow."""
        now_ns = hpa.nanoseconds(observation.time_s)
        outcome = self._metrics.ask(self._calculator, observation, now_ns)
        inputs = ProposalInputs(
            observation, outcome.replicas, outcome.error or outcome.active.message
        )
        proposed, inner = self.proposer.propose(inputs, memory.inner)
        if len(self.spec.metrics) > 1:
            proposed = _with_others(inputs, proposed)
        desired, reason, hpa_memory = self._follow(inputs, proposed, memory.hpa_memory, now_ns)
        decision = decisions.ScalingDecision(
            time_s=observation.time_s,
            current=observation.current_replicas,
            proposed=proposed.replicas,
            desired=desired,
            reason=reason,
            conditions=(),
            error=proposed.error,
            _record=lambda decision: self._record(decision, proposed, outcome.replicas),
            outlook=proposed.numbers,
        )
        return decision, FrameMemory(hpa_memory, inner)

    def _follow(
        self, inputs: ProposalInputs, proposed: Proposed, hpa_memory: hpa.HpaMemory, now_ns: int
    ) -> tuple[int, str, hpa.HpaMemory]:
        spec, reactive = self.spec, inputs.reactive
        current = inputs.observation.current_replicas
        entries = hpa_memory.recommendations
        if entries is None:
            entries = ((current, now_ns),)
        desired, reason = current, proposed.reason
        if current == 0 and spec.min_replicas > 0:
            reason = AT_ZERO
        elif current > spec.max_replicas:
            desired, reason = spec.max_replicas, hpa.ABOVE
        elif current < spec.min_replicas:
            desired, reason = spec.min_replicas, hpa.BELOW
        elif proposed.replicas is not None:
            recommended = max(proposed.replicas, 0)
            if proposed.replicas != reactive:  # the reactive one has applied the tolerance
                recommended = self._tolerate(current, recommended, proposed.need)
            pair = (current, recommended)
            down_s = self.proposer.down_s if proposed.down_s is None else proposed.down_s
            applied = hpa.apply_behavior(spec, hpa_memory, entries, pair, down_s, now_ns)
            desired, entries = applied.desired, applied.entries
            if applied.stable != recommended:
                reason = f"{reason}; {applied.why[0]}"
            if desired != applied.stable:
                reason = f"{reason}; {applied.limited.reason[0]}"
        up, down = hpa.scale_events(spec, hpa_memory, desired - current, now_ns)
        return desired, reason, hpa.HpaMemory(entries, up, down, hpa_memory.scaled_to_zero)

    def _tolerate(self, current: int, recommended: int, need: float | None) -> int:
        """Return the current replicas if the need is within the autoscaler's tolerance of them.

        As upstream, the tolerance applies to the need before it is rounded up to whole pods.
        """
        exact = float(recommended) if need is None else need
        if current > 0 and self._calculator.tolerates(exact / current):
            return current
        return recommended

    def _record(
        self, decision: decisions.ScalingDecision, proposed: Proposed, reactive: int | None
    ) -> records.DecisionRecord:
        numbers = {"current": float(decision.current), **proposed.numbers}
        if reactive is not None:
            numbers["reactive"] = float(reactive)
        if proposed.replicas is not None:
            numbers["proposed"] = float(proposed.replicas)
        return records.DecisionRecord(
            kind="scaling",
            subject=self.spec.subject,
            policy=self.name,
            outcome=str(decision.desired),
            parameters={**asdict(self.parameters), "reason": decision.reason},
            time=decision.time_s,
            candidates=proposed.candidates,
            rejected=proposed.rejected,
            numbers=numbers,
            backtest=proposed.backtest,
        )


def _with_others(inputs: ProposalInputs, proposed: Proposed) -> Proposed:
    """Take the largest proposal of several metrics; a failed one prevents scaling down."""
    if proposed.replicas is None:
        return proposed
    current = inputs.observation.current_replicas
    if inputs.reactive is not None:
        if proposed.replicas >= inputs.reactive:
            return proposed
        reason = f"{proposed.reason}; another metric wants more"
        return replace(proposed, replicas=inputs.reactive, reason=reason)
    if proposed.replicas >= current:
        return proposed
    rejected = {**proposed.rejected, REACTIVE: inputs.cause}
    reason = f"{proposed.reason}; held, for not all metrics are known"
    return replace(proposed, replicas=current, reason=reason, rejected=rejected)


def fall_back(inputs: ProposalInputs, why: str) -> Proposed:
    """Return the reactive proposal, with the reason why there is no forecast."""
    if inputs.reactive is None:
        return Proposed(
            None, f"{why}; no reactive proposal either", rejected={"forecast": why},
            error=inputs.cause or why,
        )  # fmt: skip
    return Proposed(
        inputs.reactive, f"{REACTIVE}: {why}", rejected={"forecast": why}, down_s=_UPSTREAM_DOWN_S
    )
