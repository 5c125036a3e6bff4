"""What a scaler with a fitted model remembers: series, the model, and how good it has been.

The fitted model itself is not stored: it is a function of the series up to the point where it was
fitted, so a scaler that starts again fits it again and goes on as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kubestow.policies.forecasting import gates, protocols
from kubestow.policies.scaling import cooldowns, looks, memories


@dataclass(frozen=True, slots=True, eq=False)
class ModelMemory:
    """What is remembered.

    Attributes:
        look: What is remembered from look to look.
        names: What the rows are.
        values: One row per metric, one column per look, oldest first.
        fitted: The model, moved on to the newest point; ``None`` before the first fit.
        used: How many columns the model was fitted to; later ones have moved it on.
        gate: How good forecasts were.
        cooldowns: When replicas last changed; ``strict`` goes by it.
        pace: Changes of late, for a behaviour's rate rules; ``strict`` goes by it.
    """

    look: looks.LookMemory = field(default_factory=looks.LookMemory)
    names: tuple[str, ...] = ()
    values: protocols.Floats = field(default_factory=lambda: np.empty((0, 0)))
    fitted: protocols.Fitted | None = None
    used: int = 0
    gate: gates.Gate = field(default_factory=gates.Gate)
    cooldowns: cooldowns.Cooldowns = field(default_factory=cooldowns.Cooldowns)
    pace: memories.HpaMemory = field(default_factory=memories.HpaMemory)

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {
            "look": self.look.as_json(),
            "names": list(self.names),
            "values": self.values.tolist(),
            "used": self.used,
            "gate": self.gate.as_json(),
            "cooldowns": [self.cooldowns.up_s, self.cooldowns.down_s],
            "pace": self.pace.as_json(),
        }


def restore(value: Mapping[str, Any], forecaster: protocols.Forecaster) -> ModelMemory:
    """Return the memory that ``as_json`` wrote, with the model fitted again."""
    values = np.array(value["values"], dtype=np.float64)
    used = int(value["used"])
    fitted: protocols.Fitted | None = None
    if used > 0:
        fitted = forecaster.fit(values[:, :used])
        if values.shape[1] > used:
            fitted = fitted.update(values[:, used:])
    up_s, down_s = value["cooldowns"]
    return ModelMemory(
        look=looks.LookMemory.from_json(value["look"]),
        names=tuple(value["names"]),
        values=values,
        fitted=fitted,
        used=used,
        gate=gates.Gate.from_json(value["gate"]),
        cooldowns=cooldowns.Cooldowns(up_s, down_s),
        pace=memories.HpaMemory.from_json(value["pace"]),
    )
