"""DecisionRecord: one shape for the reasons of placing, sizing, scaling and moving."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that could have been chosen: its score by term, and in sum."""

    name: str
    terms: Mapping[str, float] = field(default_factory=dict)
    total: float | None = None


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """Why something was decided.

    Attributes:
        kind: ``placing``, ``sizing``, ``scaling`` or ``moving``.
        subject: What was decided upon, e.g. ``pod/shop/web-0``.
        policy: Name of the policy that decided.
        parameters: Its parameters.
        time: Seconds on the host's clock; ``None`` where there is no clock.
        candidates: What could have been chosen, best first.
        rejected: What could not, with the reason.
        outcome: What was chosen; ``None`` if nothing.
        numbers: Further numbers that were used.
        backtest: Error of the model that was used, measured on the past.
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
