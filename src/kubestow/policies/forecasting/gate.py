"""The gate before decisions: a forecast is used only while it beats persistence.

Every forecast is kept until its time, then compared with the actual value, as is the persistence
forecast (the last value when it was made). Skill is ``1 - errors of the model / errors of
persistence``, with older errors discounted. Before enough forecasts were evaluated, or while the
skill is not positive, the gate is closed and gives the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

Waiting = tuple[int, float, float]  # steps left, the forecast, the last value when it was made


@dataclass(frozen=True, slots=True)
class GateParameters:
    """When the gate opens.

    Attributes:
        evidence: Minimum number of evaluated forecasts.
        memory: Discount factor of past errors per forecast: 0.98 averages over about 50 forecasts.
        margin: The skill must exceed this.
    """

    evidence: int = 10
    memory: float = 0.98
    margin: float = 0.0


@dataclass(frozen=True, slots=True)
class Gate:
    """Accuracy of a model's forecasts at one horizon.

    Attributes:
        waiting: Forecasts not yet evaluated, oldest first.
        model_loss: Discounted absolute errors of the model.
        last_loss: Discounted absolute errors of persistence.
        judged: Number of evaluated forecasts, not discounted.
    """

    waiting: tuple[Waiting, ...] = ()
    model_loss: float = 0.0
    last_loss: float = 0.0
    judged: int = 0

    def evaluate(self, value: float, parameters: GateParameters) -> Gate:
        """Compare the forecasts for now with the actual value."""
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
        """Keep a forecast until it can be evaluated."""
        return replace(self, waiting=(*self.waiting, (max(steps, 1), mean, last)))

    @property
    def skill(self) -> float | None:
        """Skill against persistence; ``None`` before any evaluation."""
        if not self.judged:
            return None
        if self.last_loss <= 0.0:  # persistence was perfect: at best the model was too
            return 0.0
        return 1.0 - self.model_loss / self.last_loss

    def closed(self, parameters: GateParameters) -> str:
        """Return why the gate is closed; empty if it is open."""
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
