"""The gate before decisions: a forecast counts only while it beats the last value.

Every forecast is kept until its time has come, then compared with what was, beside the forecast
"as it was when this was said". Skill is ``1 - errors of the model / errors of persistence``, older
errors counting less. Before enough forecasts were judged, or while the skill is not positive, the
gate is closed, and it says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

Waiting = tuple[int, float, float]  # steps to go, the forecast, the value when it was made


@dataclass(frozen=True, slots=True)
class GateParameters:
    """When the gate opens.

    Attributes:
        evidence: So many forecasts must have been judged.
        memory: Weight of errors of the step before: 0.98 looks back about 50 forecasts.
        margin: The skill must be larger than this.
    """

    evidence: int = 10
    memory: float = 0.98
    margin: float = 0.0


@dataclass(frozen=True, slots=True)
class Gate:
    """What is known of a model's forecasts at one horizon.

    Attributes:
        waiting: Forecasts whose time has not come, oldest first.
        model_loss: Errors of the model, discounted.
        last_loss: Errors of persistence, discounted.
        judged: How many forecasts were judged, whole.
    """

    waiting: tuple[Waiting, ...] = ()
    model_loss: float = 0.0
    last_loss: float = 0.0
    judged: int = 0

    def judge(self, value: float, parameters: GateParameters) -> Gate:
        """Compare what was forecast for now with what is."""
        waiting = tuple((left - 1, mean, last) for left, mean, last in self.waiting)
        gate = replace(self, waiting=tuple(entry for entry in waiting if entry[0] > 0))
        for left, mean, last in waiting:
            if left <= 0:
                gate = replace(
                    gate,
                    model_loss=parameters.memory * gate.model_loss + abs(value - mean),
                    last_loss=parameters.memory * gate.last_loss + abs(value - last),
                    judged=gate.judged + 1,
                )
        return gate

    def expect(self, mean: float, last: float, steps: int) -> Gate:
        """Keep a forecast until its time has come."""
        return replace(self, waiting=(*self.waiting, (max(steps, 1), mean, last)))

    @property
    def skill(self) -> float | None:
        """Skill against persistence; ``None`` before anything was judged."""
        if not self.judged:
            return None
        if self.last_loss <= 0.0:  # persistence was perfect: at best the model was, too
            return 0.0
        return 1.0 - self.model_loss / self.last_loss

    def closed(self, parameters: GateParameters) -> str:
        """Return why the gate is closed; nothing if it is open."""
        if self.judged < parameters.evidence:
            return f"{self.judged} of {parameters.evidence} forecasts judged"
        skill = self.skill or 0.0
        if skill <= parameters.margin:
            return f"skill {skill:.2f} against persistence at this horizon"
        return ""

    def as_json(self) -> dict[str, Any]:
        """Return the gate as plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Gate:
        """Return the gate that ``as_json`` wrote."""
        waiting = tuple(
            (int(left), float(mean), float(last)) for left, mean, last in value["waiting"]
        )
        return cls(waiting, value["model_loss"], value["last_loss"], int(value["judged"]))
