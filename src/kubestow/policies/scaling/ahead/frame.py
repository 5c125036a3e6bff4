"""What all scalers that look ahead have in common: an autoscaler's rules around a proposal.

A *proposer* says how many replicas it wants, and why. The frame asks the HorizontalPodAutoscaler's
arithmetic what it would want (the reactive proposal, which is also the fallback), and obeys the
autoscaler's bounds, policies and windows like ``hpa`` itself. Whoever hosts a frame is the only
writer of ``spec.replicas``: a HorizontalPodAutoscaler is read as a specification, not run beside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from kubestow.model import decisions as records
from kubestow.policies.scaling import decisions, hpa, observations

REACTIVE = "reactive"
# How long upstream holds on to a larger proposal; what is reactive does as upstream does.
_UPSTREAM_DOWN_S = hpa.HpaParameters().downscale_stabilization_s
AT_ZERO = "scaling is disabled since the replica count of the target is zero"

Inner = TypeVar("Inner", bound=decisions.ScalerMemory)


class Seen(NamedTuple):
    """What a proposer goes by.

    Attributes:
        observation: What the host saw.
        reactive: What the HorizontalPodAutoscaler would propose; ``None`` if metrics cannot tell.
        cause: Why they cannot.
    """

    observation: observations.ScalingObservation
    reactive: int | None
    cause: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """What a proposer wants.

    Attributes:
        replicas: How many; ``None`` leaves things as they are.
        reason: Why.
        numbers: What it was worked out from.
        candidates: What each part would have wanted.
        rejected: Parts that were not heard, with the reason.
        backtest: Measured error or skill of the forecast.
        error: What went wrong.
        need: The same before it was rounded up, for the tolerance; ``None`` where it is whole.
        down_s: How long the largest proposal counts, where it differs from the proposer's rule.
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
    """Says how many replicas there should be, before any rule of pace."""

    @property
    def down_s(self) -> float:
        """How long the largest proposal counts, where the autoscaler does not say."""
        ...

    def start(self) -> Inner:
        """Return the memory of a proposer that has seen nothing yet."""
        ...

    def restore(self, value: Mapping[str, Any]) -> Inner:
        """Return the memory that ``as_json`` wrote."""
        ...

    def propose(self, seen: Seen, memory: Inner) -> tuple[Proposed, Inner]:
        """Return what is wanted, and the new memory."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FrameMemory(Generic[Inner]):
    """The autoscaler's memory and the proposer's own."""

    pace: hpa.HpaMemory
    inner: Inner

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {"pace": self.pace.as_json(), "inner": self.inner.as_json()}


class Framed(Generic[Inner]):
    """A proposer within the rules of an autoscaler.

    Args:
        name: The name under which it is registered.
        spec: What the autoscaler is told.
        parameters: The proposer's parameters, for the record.
        proposer: Says how many replicas there should be.
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
        """Return the memory of a scaler that has seen nothing yet."""
        return FrameMemory(hpa.HpaMemory(), self.proposer.start())

    def restore(self, value: Mapping[str, Any]) -> FrameMemory[Inner]:
        """Return the memory that ``as_json`` wrote."""
        return FrameMemory(
            hpa.HpaMemory.from_json(value["pace"]), self.proposer.restore(value["inner"])
        )

    def decide(
        self, seen: observations.ScalingObservation, memory: FrameMemory[Inner]
    ) -> tuple[decisions.ScalingDecision, FrameMemory[Inner]]:
        """Ask the proposer, and follow it as far as the rules allow."""
        now_ns = hpa.nanoseconds(seen.time_s)
        outcome = self._metrics.ask(self._calculator, seen, now_ns)
        looked = Seen(seen, outcome.replicas, outcome.error or outcome.active.message)
        proposed, inner = self.proposer.propose(looked, memory.inner)
        if len(self.spec.metrics) > 1:
            proposed = _with_others(looked, proposed)
        desired, reason, pace = self._follow(looked, proposed, memory.pace, now_ns)
        decision = decisions.ScalingDecision(
            time_s=seen.time_s,
            current=seen.current_replicas,
            proposed=proposed.replicas,
            desired=desired,
            reason=reason,
            conditions=(),
            error=proposed.error,
            _record=lambda decision: self._record(decision, proposed, outcome.replicas),
            outlook=proposed.numbers,
        )
        return decision, FrameMemory(pace, inner)

    def _follow(
        self, seen: Seen, proposed: Proposed, pace: hpa.HpaMemory, now_ns: int
    ) -> tuple[int, str, hpa.HpaMemory]:
        spec, reactive = self.spec, seen.reactive
        current = seen.observation.current_replicas
        entries = pace.recommendations
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
            wanted = max(proposed.replicas, 0)
            if proposed.replicas != reactive:  # the reactive one knows its own tolerance
                wanted = self._tolerate(current, wanted, proposed.need)
            pair = (current, wanted)
            down_s = self.proposer.down_s if proposed.down_s is None else proposed.down_s
            paced = hpa.apply_behavior(spec, pace, entries, pair, down_s, now_ns)
            desired, entries = paced.desired, paced.entries
            if paced.stable != wanted:
                reason = f"{reason}; {paced.why[0]}"
            if desired != paced.stable:
                reason = f"{reason}; {paced.limited.reason[0]}"
        up, down = hpa.scale_events(spec, pace, desired - current, now_ns)
        return desired, reason, hpa.HpaMemory(entries, up, down, pace.scaled_to_zero)

    def _tolerate(self, current: int, wanted: int, need: float | None) -> int:
        """Return what there is where what is wanted is within the autoscaler's tolerance of it.

        As upstream, the tolerance is about the need before it is rounded up to whole pods.
        """
        exact = float(wanted) if need is None else need
        if current > 0 and self._calculator.tolerates(exact / current):
            return current
        return wanted

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


def _with_others(seen: Seen, proposed: Proposed) -> Proposed:
    """Let the largest proposal of several metrics win; one that fails prevents scaling down."""
    if proposed.replicas is None:
        return proposed
    current = seen.observation.current_replicas
    if seen.reactive is not None:
        if proposed.replicas >= seen.reactive:
            return proposed
        reason = f"{proposed.reason}; another metric wants more"
        return replace(proposed, replicas=seen.reactive, reason=reason)
    if proposed.replicas >= current:
        return proposed
    rejected = {**proposed.rejected, REACTIVE: seen.cause}
    reason = f"{proposed.reason}; held, for not all metrics are known"
    return replace(proposed, replicas=current, reason=reason, rejected=rejected)


def fall_back(seen: Seen, why: str) -> Proposed:
    """Return the reactive proposal, with the reason why nothing is foretold."""
    if seen.reactive is None:
        return Proposed(
            None, f"{why}; no reactive proposal either", rejected={"forecast": why},
            error=seen.cause or why,
        )  # fmt: skip
    return Proposed(
        seen.reactive, f"{REACTIVE}: {why}", rejected={"forecast": why}, down_s=_UPSTREAM_DOWN_S
    )
