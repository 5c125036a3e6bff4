"""``arima``, ``gru``, ``arima-gru``, ``holt-winters``: a fitted model looks ahead (Shi 2023, 3.3).

The sound variant forecasts total demand per metric one start-up ahead and proposes, for an upper
quantile of it, the pods that meet the target utilisation: the larger of this and the reactive
proposal upwards, the reactive one with its stabilisation downwards. It counts only while the gate
is open. With ``strict`` the printed steps run instead: predicted mean use per pod of CPU and
memory, (3.16) to (3.18) in whole numbers, and a cool-down per direction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kubestow.model import arrays
from kubestow.model import decisions as records
from kubestow.policies.forecasting import gate as forecasting_gate
from kubestow.policies.scaling import decisions, fitted_models, lookahead, startup, theses
from kubestow.policies.scaling import demand as scaling_demand
from kubestow.policies.scaling import hpa as specs
from kubestow.policies.scaling.ahead import frame

MODEL_SCALERS = ("arima", "gru", "arima-gru", "holt-winters")


class ModelProposer:
    """Proposes for an upper quantile of each metric's demand, one start-up ahead."""

    def __init__(
        self, name: str, spec: specs.AutoscalerSpec, parameters: fitted_models.ModelParameters
    ) -> None:
        self._metrics = spec.metrics
        self._parameters = parameters
        self._modeller = fitted_models.Modeller(name, parameters)

    @property
    def down_s(self) -> float:
        """How long the largest proposal counts: as upstream, 5 minutes."""
        return 300.0

    def start(self) -> fitted_models.ModelMemory:
        """Return the memory of a proposer that has seen nothing yet."""
        return fitted_models.ModelMemory()

    def restore(self, value: Mapping[str, Any]) -> fitted_models.ModelMemory:
        """Return the memory that ``as_json`` wrote."""
        return fitted_models.restore(value, self._modeller.forecaster)

    def propose(
        self, seen: frame.Seen, memory: fitted_models.ModelMemory
    ) -> tuple[frame.Proposed, fitted_models.ModelMemory]:
        """Forecast every metric's demand, and say how many pods the largest takes."""
        parameters = self._parameters
        look, learnt = lookahead.take(
            seen.observation, self._metrics[0], memory.look, parameters.horizon
        )
        found = self._demands(seen, look)
        if isinstance(found, str):
            learnt = lookahead.missed(memory.look, learnt)
            return frame.fall_back(seen, found), replace(memory, look=learnt)
        memory = replace(memory, look=learnt)
        loads = [demand.load for demand in found]
        gate = memory.gate if look.steps >= 0 else forecasting_gate.Gate()
        for _ in range(max(look.steps, 1)):
            gate = gate.judge(loads[0], parameters.gate)
        newest = {metric.key: load for metric, load in zip(self._metrics, loads, strict=True)}
        memory = self._modeller.take(replace(memory, gate=gate), newest, look.steps)
        if memory.fitted is None:
            return frame.fall_back(seen, "the model is not fitted yet"), memory
        steps = startup.steps(look.horizon_s, learnt.step_s or lookahead.FIRST_STEP_S)
        forecast = memory.fitted.predict(steps, (0.5, parameters.quantile))
        mean, upper = forecast.mean[:, -1], forecast.quantiles[:, -1, -1]
        if not (np.isfinite(mean).all() and np.isfinite(upper).all()):
            return frame.fall_back(seen, "the forecast is not a number"), memory
        memory = replace(memory, gate=memory.gate.expect(float(mean[0]), loads[0], steps))
        return self._weigh(seen, look, found, memory, (mean, upper)), memory

    def _demands(self, seen: frame.Seen, look: lookahead.Look) -> list[scaling_demand.Demand] | str:
        found = [look.demand]
        found += [scaling_demand.read(seen.observation, metric) for metric in self._metrics[1:]]
        good = [demand for demand in found if isinstance(demand, scaling_demand.Demand)]
        if len(good) == len(found):
            return good
        return "; ".join(demand for demand in found if isinstance(demand, str))

    def _weigh(
        self,
        seen: frame.Seen,
        look: lookahead.Look,
        found: list[scaling_demand.Demand],
        memory: fitted_models.ModelMemory,
        ahead: tuple[arrays.Floats, arrays.Floats],
    ) -> frame.Proposed:
        mean, upper = ahead
        targets = np.array([demand.target for demand in found])
        needs = np.ceil(np.round(np.maximum(upper, 0.0) / targets, 9))
        numbers = {
            "load": found[0].load, "mean": float(mean[0]), "upper": float(upper[0]),
            "target": float(targets[0]), "horizon_s": look.horizon_s, "startup_s": look.startup_s,
        }  # fmt: skip
        skill, closed = memory.gate.skill, memory.gate.closed(self._parameters.gate)
        backtest = {"judged": float(memory.gate.judged)}
        if skill is not None:
            backtest["skill"] = skill
        if closed:
            held = frame.fall_back(seen, closed)
            return replace(held, numbers=numbers | {"gate": 0.0}, backtest=backtest)
        candidates = tuple(
            records.Candidate(metric.key, {"upper": float(load)}, float(need))
            for metric, load, need in zip(self._metrics, upper, needs, strict=True)
        )
        wanted = max(int(needs.max()), seen.reactive or 0)
        return frame.Proposed(
            wanted, "forecast: model", numbers | {"gate": 1.0}, candidates, backtest=backtest
        )


def make_model_scaler(
    name: str,
) -> Callable[[specs.AutoscalerSpec, fitted_models.ModelParameters], decisions.Scaler[Any]]:
    """Return what makes the scaler with one model."""

    def make_it(
        spec: specs.AutoscalerSpec, parameters: fitted_models.ModelParameters
    ) -> decisions.Scaler[Any]:
        if parameters.strict:
            return theses.StrictModel(name, spec, parameters)
        return frame.Framed(name, spec, parameters, ModelProposer(name, spec, parameters))

    return make_it
