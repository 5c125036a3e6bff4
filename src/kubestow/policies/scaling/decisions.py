"""Decisions of scalers with their reasons, and the protocol of scalers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

from kubestow.model import decisions
from kubestow.policies.scaling import observations


class Condition(NamedTuple):
    """A condition of the autoscaler's status, as this sync sets it.

    Attributes:
        kind: ``AbleToScale``, ``ScalingActive``, ``ScalingLimited`` or ``ScaledToZero``.
        status: ``True`` or ``False``.
        reason: One word.
        message: A sentence.
    """

    kind: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class ScalingDecision:
    """The number of replicas to set.

    Attributes:
        time_s: When it was decided.
        current: ``spec.replicas`` of the target.
        proposed: What the metrics alone propose; ``None`` if they were not read or are unusable.
        desired: Replicas to set; equal to ``current`` where nothing changes.
        reason: Why, in upstream's words where upstream has words.
        conditions: Conditions of the autoscaler that were set.
        error: What went wrong; empty if nothing.
        outlook: What a predictive scaler expects, for time lines: ``load`` now, ``mean`` and
            ``upper`` at ``horizon_s``, and ``gate``, which is 1 where a forecast drives it.
    """

    time_s: float
    current: int
    proposed: int | None
    desired: int
    reason: str
    conditions: tuple[Condition, ...]
    error: str
    _record: Callable[[ScalingDecision], decisions.DecisionRecord]
    outlook: Mapping[str, float] = field(default_factory=dict)

    @property
    def rescale(self) -> bool:
        """Whether the target is to be changed."""
        return self.desired != self.current

    def record(self) -> decisions.DecisionRecord:
        """Return the decision record, computed on demand."""
        return self._record(self)

    def as_json(self) -> dict[str, Any]:
        """Return the decision as plain values; the keys are a stable contract."""
        document: dict[str, Any] = {
            "t": self.time_s,
            "proposed": self.proposed,
            "desired": self.desired,
            "reason": self.reason,
            "current": self.current,
            "rescale": self.rescale,
            "conditions": {
                condition.kind: {
                    "status": condition.status,
                    "reason": condition.reason,
                    "message": condition.message,
                }
                for condition in self.conditions
            },
        }
        if self.error:
            document["error"] = self.error
        return document


@runtime_checkable
class ScalerMemory(Protocol):
    """The memory of a scaler; immutable and storable."""

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        ...


Memory = TypeVar("Memory", bound=ScalerMemory)


class Scaler(Protocol[Memory]):
    """A replica controller as a pure function of observation and memory."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    def start(self) -> Memory:
        """Return the initial memory."""
        ...

    def restore(self, value: Mapping[str, Any]) -> Memory:
        """Return the memory that ``as_json`` wrote."""
        ...

    def decide(
        self, observation: observations.ScalingObservation, memory: Memory
    ) -> tuple[ScalingDecision, Memory]:
        """Decide on the number of replicas; return the decision and the new memory."""
        ...
