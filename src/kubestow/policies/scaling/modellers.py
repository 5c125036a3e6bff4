"""A model kept fitted: when it is fitted, to what, and how it is moved on between fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from kubestow.policies.forecasting import gates, protocols
from kubestow.policies.forecasting import registries as forecasters
from kubestow.policies.scaling import looks, model_memories


@dataclass(frozen=True, slots=True)
class ModelParameters:
    """When the model is fitted, and how its forecasts are used.

    Attributes:
        strict: The steps of theses/003 3.3 as printed.
        least_points: Looks before the first fit.
        most_points: The latest so many looks are fitted to.
        refit_points: After so many looks the model is fitted anew.
        ahead_points: Steps the model is made for; further ones cost it nothing but accuracy.
        quantile: Which quantile of demand pods are ordered for (theses/003 8.3: p90 upwards).
        horizon: How far to look ahead.
        gate: When forecasts count.
        step_s: ``strict``: how far the prediction looks ahead (theses/003 L1131: 30 s).
        tolerance: ``strict``: t of (3.17), default 0.1.
        cooldown_up_s: ``strict``: no growth for so long after growing (L710: 3 min).
        cooldown_down_s: ``strict``: no shrinking for so long after shrinking (L710: 5 min).
    """

    strict: bool = False
    least_points: int = 24
    most_points: int = 480
    refit_points: int = 40
    ahead_points: int = 16
    quantile: float = 0.8
    horizon: looks.HorizonParameters = field(default_factory=looks.HorizonParameters)
    gate: gates.GateParameters = field(default_factory=gates.GateParameters)
    step_s: float = 30.0
    tolerance: float = 0.1
    cooldown_up_s: float = 180.0
    cooldown_down_s: float = 300.0


class Modeller:
    """Keeps a model of some series fitted and up to date.

    Args:
        name: Which forecaster.
        parameters: When it is fitted.
    """

    def __init__(self, name: str, parameters: ModelParameters) -> None:
        self._parameters = parameters
        task = forecasters.Task(looks.FIRST_STEP_S, steps=parameters.ahead_points)
        made = forecasters.find(name).make_intervals(task)
        self.forecaster: protocols.Forecaster = made
        # Whatever is asked for, a model has a number of points below which it cannot be fitted.
        self._least = max(parameters.least_points, made.point.least_points)
        self._most = max(parameters.most_points, self._least)

    def take(
        self, memory: model_memories.ModelMemory, newest: Mapping[str, float], steps: int
    ) -> model_memories.ModelMemory:
        """Take in the newest values; fit where it is time.

        Args:
            memory: What is remembered.
            newest: The newest value of each series, by name.
            steps: How many steps passed since the last one; negative if the series is broken.
        """
        names, column = tuple(newest), np.array(list(newest.values()), dtype=np.float64)
        if steps < 0 or memory.names != names:
            past = np.empty((len(names), 0))
            memory = replace(memory, names=names, values=past, fitted=None, used=0)
        new = np.repeat(column[:, None], max(steps, 1), axis=1)  # what was missed was as it is now
        values = np.concatenate([memory.values, new], axis=1)
        fitted = None if memory.fitted is None else memory.fitted.update(new)
        memory = replace(memory, values=values, fitted=fitted)
        return self._fit(memory) if self._is_due(memory) else memory

    def _is_due(self, memory: model_memories.ModelMemory) -> bool:
        count: int = memory.values.shape[1]
        if memory.fitted is None:
            return count >= self._least
        return count - memory.used >= self._parameters.refit_points

    def _fit(self, memory: model_memories.ModelMemory) -> model_memories.ModelMemory:
        kept = memory.values[:, -self._most :]
        fitted = self.forecaster.fit(kept)
        return replace(memory, values=kept, fitted=fitted, used=kept.shape[1])
