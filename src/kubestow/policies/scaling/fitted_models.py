"""Keep a forecasting model fitted: when to fit, to which samples, and updates between fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kubestow.model import arrays
from kubestow.policies.forecasting import gate as forecasting_gate
from kubestow.policies.forecasting import protocols
from kubestow.policies.forecasting import registry as forecasters
from kubestow.policies.scaling import hpa, lookahead


@dataclass(frozen=True, slots=True)
class Cooldowns:
    """When replicas last went up, and when they last went down; ``None`` if never."""

    up_s: float | None = None
    down_s: float | None = None

    def blocks(self, change: int, now_s: float, up_s: float, down_s: float) -> bool:
        """Return whether a change has to wait.

        >>> Cooldowns(up_s=0.0).blocks(+1, 179.0, 180.0, 300.0)
        True
        >>> Cooldowns(up_s=0.0).blocks(+1, 180.0, 180.0, 300.0)
        False
        """
        last_s, wait_s = (self.up_s, up_s) if change > 0 else (self.down_s, down_s)
        return change != 0 and last_s is not None and now_s - last_s < wait_s

    def note(self, change: int, now_s: float) -> Cooldowns:
        """Return the cool-downs after a change."""
        if change > 0:
            return replace(self, up_s=now_s)
        return replace(self, down_s=now_s) if change < 0 else self


@dataclass(frozen=True, slots=True, eq=False)
class ModelMemory:
    """The memory of a scaler with a fitted model.

    Attributes:
        sync: Memory common to predictive scalers.
        names: Names of the rows.
        values: One row per metric, one column per sync, oldest first.
        fitted: The model, updated to the newest point; ``None`` before the first fit.
        used: How many columns the model was fitted to; it was updated with the later ones.
        gate: Skill of past forecasts.
        cooldowns: When replicas last changed; used by ``strict``.
        hpa_memory: Recent changes, for a behaviour's rate rules; used by ``strict``.
    """

    sync: lookahead.SyncMemory = field(default_factory=lookahead.SyncMemory)
    names: tuple[str, ...] = ()
    values: arrays.Floats = field(default_factory=lambda: np.empty((0, 0)))
    fitted: protocols.Fitted | None = None
    used: int = 0
    gate: forecasting_gate.Gate = field(default_factory=forecasting_gate.Gate)
    cooldowns: Cooldowns = field(default_factory=Cooldowns)
    hpa_memory: hpa.HpaMemory = field(default_factory=hpa.HpaMemory)

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {
            "look": self.sync.as_json(),
            "names": list(self.names),
            "values": self.values.tolist(),
            "used": self.used,
            "gate": self.gate.as_json(),
            "cooldowns": [self.cooldowns.up_s, self.cooldowns.down_s],
            "pace": self.hpa_memory.as_json(),
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
        sync=lookahead.SyncMemory.from_json(value["look"]),
        names=tuple(value["names"]),
        values=values,
        fitted=fitted,
        used=used,
        gate=forecasting_gate.Gate.from_json(value["gate"]),
        cooldowns=Cooldowns(up_s, down_s),
        hpa_memory=hpa.HpaMemory.from_json(value["pace"]),
    )


@dataclass(frozen=True, slots=True)
class ModelParameters:
    """When the model is fitted, and how its forecasts are used.

    Attributes:
        strict: Use the steps of Shi 2023, 3.3 as printed.
        least_points: Syncs before the first fit.
        most_points: Number of latest syncs the model is fitted to.
        refit_points: Number of syncs after which the model is fitted again.
        ahead_points: Steps the model is made for; later ones are only less accurate.
        quantile: Quantile of demand that pods are ordered for (Shi 2023, 8.3: p90 upwards).
        horizon: Parameters of the forecast horizon.
        gate: When forecasts count.
        step_s: ``strict``: horizon of the prediction in seconds (Shi 2023: 30 s).
        tolerance: ``strict``: t of (3.17), default 0.1.
        cooldown_up_s: ``strict``: seconds after scaling up before the next (L710: 3 min).
        cooldown_down_s: ``strict``: seconds after scaling down before the next (L710: 5 min).
    """

    strict: bool = False
    least_points: int = 24
    most_points: int = 480
    refit_points: int = 40
    ahead_points: int = 16
    quantile: float = 0.8
    horizon: lookahead.HorizonParameters = field(default_factory=lookahead.HorizonParameters)
    gate: forecasting_gate.GateParameters = field(default_factory=forecasting_gate.GateParameters)
    step_s: float = 30.0
    tolerance: float = 0.1
    cooldown_up_s: float = 180.0
    cooldown_down_s: float = 300.0


class Modeller:
    """Keeps a model of some series fitted and up to date.

    Args:
        name: Name of the forecaster.
        parameters: When to fit it.
    """

    def __init__(self, name: str, parameters: ModelParameters) -> None:
        self._parameters = parameters
        task = forecasters.ForecastTask(lookahead.FIRST_STEP_S, steps=parameters.ahead_points)
        made = forecasters.FORECASTERS.get(name).make_intervals(task)
        self.forecaster: protocols.Forecaster = made
        # Whatever the parameter says, a model needs a minimum of points.
        self._least = max(parameters.least_points, made.point.least_points)
        self._most = max(parameters.most_points, self._least)

    def take(self, memory: ModelMemory, newest: Mapping[str, float], steps: int) -> ModelMemory:
        """Add the newest values, and fit the model if it is due.

        Args:
            memory: The memory so far.
            newest: The newest value of each series, by name.
            steps: How many steps passed since the last one; negative if the series is broken.
        """
        names, column = tuple(newest), np.array(list(newest.values()), dtype=np.float64)
        if steps < 0 or memory.names != names:
            past = np.empty((len(names), 0))
            memory = replace(memory, names=names, values=past, fitted=None, used=0)
        new = np.repeat(column[:, None], max(steps, 1), axis=1)  # fills missed syncs
        values = np.concatenate([memory.values, new], axis=1)
        fitted = None if memory.fitted is None else memory.fitted.update(new)
        memory = replace(memory, values=values, fitted=fitted)
        return self._fit(memory) if self._is_due(memory) else memory

    def _is_due(self, memory: ModelMemory) -> bool:
        count: int = memory.values.shape[1]
        if memory.fitted is None:
            return count >= self._least
        return count - memory.used >= self._parameters.refit_points

    def _fit(self, memory: ModelMemory) -> ModelMemory:
        kept = memory.values[:, -self._most :]
        fitted = self.forecaster.fit(kept)
        return replace(memory, values=kept, fitted=fitted, used=kept.shape[1])
