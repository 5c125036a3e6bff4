"""What a scaler decides, with the reasons; and the protocol every scaler keeps."""

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
    """How many replicas there shall be.

    Attributes:
        time_s: When it was decided.
        current: Replicas the target was told to have.
        proposed: What the metrics alone say; ``None`` if they were not asked or cannot tell.
        desired: What the target shall be told; equal to ``current`` where nothing changes.
        reason: Why, in upstream's words where upstream has words.
        conditions: Conditions of the autoscaler that were set.
        error: What went wrong; empty if nothing.
        outlook: What a scaler that looks ahead expects, for time lines: ``load`` now, ``mean`` and
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
        """Tell whether the target is to be changed."""
        return self.desired != self.current

    def record(self) -> decisions.DecisionRecord:
        """Return the decision in the shape all policies share, worked out on demand."""
        return self._record(self)

    def as_json(self) -> dict[str, Any]:
        """Return the decision as plain values, with names that are a contract."""
        found: dict[str, Any] = {
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
            found["error"] = self.error
        return found


@runtime_checkable
class ScalerMemory(Protocol):
    """What a scaler remembers: frozen, and ready to be stored."""

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        ...


Memory = TypeVar("Memory", bound=ScalerMemory)


class Scaler(Protocol[Memory]):
    """A replica controller as a pure function of what it sees and remembers."""

    @property
    def name(self) -> str:
        """The name under which it is registered."""
        ...

    def start(self) -> Memory:
        """Return the memory of a scaler that has seen nothing yet."""
        ...

    def restore(self, value: Mapping[str, Any]) -> Memory:
        """Return the memory that ``as_json`` wrote."""
        ...

    def decide(
        self, seen: observations.ScalingObservation, memory: Memory
    ) -> tuple[ScalingDecision, Memory]:
        """Decide on the number of replicas; return the decision and the new memory."""
        ...
