"""Decision records: one format for the reasons of placing, sizing, scaling and moving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate: its score by term, and in total."""

    name: str
    terms: Mapping[str, float] = field(default_factory=dict)
    total: float | None = None


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision with its reasons.

    Attributes:
        kind: ``placing``, ``sizing``, ``scaling`` or ``moving``.
        subject: The object of the decision, e.g. ``pod/shop/web-0``.
        policy: Name of the policy.
        parameters: Parameters of the policy.
        time: Seconds on the host's clock; ``None`` where there is no clock.
        candidates: The candidates, best first.
        rejected: Rejected options with the reason.
        outcome: The choice; ``None`` if there is none.
        numbers: Further inputs of the decision.
        backtest: Back-test of the model that was used.
    """

    kind: str
    subject: str
    policy: str
    outcome: str | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    time: float | None = None
    candidates: tuple[Candidate, ...] = ()
    rejected: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)
    backtest: Mapping[str, float] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the record as plain values, ready for JSON."""
        return asdict(self)
