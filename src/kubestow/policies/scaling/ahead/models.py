"""``arima``, ``gru``, ``arima-gru``, ``holt-winters``: scale by a fitted model (Shi 2023, 3.3).

The corrected variant forecasts total demand per metric one start-up ahead and proposes, for an
upper quantile of it, the pods that meet the target utilisation: upwards the larger of this and the
reactive proposal, downwards the reactive one with its stabilisation. It counts only while the gate
is open. With ``strict`` the printed steps run instead: predicted mean usage per pod of CPU and
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
    """Proposes pods for an upper quantile of each metric's demand, one start-up ahead."""

    def __init__(
        self, name: str, spec: specs.AutoscalerSpec, parameters: fitted_models.ModelParameters
    ) -> None:
        self._metrics = spec.metrics
        self._parameters = parameters
        self._modeller = fitted_models.Modeller(name, parameters)

    @property
    def down_s(self) -> float:
        """Downscale stabilization in seconds: as upstream, 5 minutes."""
        return 300.0

    def start(self) -> fitted_models.ModelMemory:
        """Return the initial memory."""
        return fitted_models.ModelMemory()

    def restore(self, value: Mapping[str, Any]) -> fitted_models.ModelMemory:
        """Return the memory that ``as_json`` wrote."""
        return fitted_models.restore(value, self._modeller.forecaster)

    def propose(
        self, inputs: frame.ProposalInputs, memory: fitted_models.ModelMemory
    ) -> tuple[frame.Proposed, fitted_models.ModelMemory]:
        """Forecast every metric's demand, and propose the pods for the largest."""
        parameters = self._parameters
        sample, learnt = lookahead.take(
            inputs.observation, self._metrics[0], memory.sync, parameters.horizon
        )
        demands = self._demands(inputs, sample)
        if isinstance(demands, str):
            learnt = lookahead.missed(memory.sync, learnt)
            return frame.fall_back(inputs, demands), replace(memory, sync=learnt)
        memory = replace(memory, sync=learnt)
        loads = [demand.load for demand in demands]
        gate = memory.gate if sample.steps >= 0 else forecasting_gate.Gate()
        for _ in range(max(sample.steps, 1)):
            gate = gate.evaluate(loads[0], parameters.gate)
        newest = {metric.key: load for metric, load in zip(self._metrics, loads, strict=True)}
        memory = self._modeller.take(replace(memory, gate=gate), newest, sample.steps)
        if memory.fitted is None:
            return frame.fall_back(inputs, "the model is not fitted yet"), memory
        steps = startup.steps(sample.horizon_s, learnt.step_s or lookahead.FIRST_STEP_S)
        forecast = memory.fitted.predict(steps, (0.5, parameters.quantile))
        mean, upper = forecast.mean[:, -1], forecast.quantiles[:, -1, -1]
        if not (np.isfinite(mean).all() and np.isfinite(upper).all()):
            return frame.fall_back(inputs, "the forecast is not a number"), memory
        memory = replace(memory, gate=memory.gate.expect(float(mean[0]), loads[0], steps))
        return self._weigh(inputs, sample, demands, memory, (mean, upper)), memory

    def _demands(
        self, inputs: frame.ProposalInputs, sample: lookahead.DemandSample
    ) -> list[scaling_demand.Demand] | str:
        demands = [sample.demand]
        demands += [scaling_demand.read(inputs.observation, metric) for metric in self._metrics[1:]]
        good = [demand for demand in demands if isinstance(demand, scaling_demand.Demand)]
        if len(good) == len(demands):
            return good
        return "; ".join(demand for demand in demands if isinstance(demand, str))

    def _weigh(
        self,
        inputs: frame.ProposalInputs,
        sample: lookahead.DemandSample,
        demands: list[scaling_demand.Demand],
        memory: fitted_models.ModelMemory,
        ahead: tuple[arrays.Floats, arrays.Floats],
    ) -> frame.Proposed:
        mean, upper = ahead
        targets = np.array([demand.target for demand in demands])
        needs = np.ceil(np.round(np.maximum(upper, 0.0) / targets, 9))
        numbers = {
            "load": demands[0].load, "mean": float(mean[0]), "upper": float(upper[0]),
            "target": float(targets[0]), "horizon_s": sample.horizon_s,
            "startup_s": sample.startup_s,
        }  # fmt: skip
        skill, closed = memory.gate.skill, memory.gate.closed(self._parameters.gate)
        backtest = {"judged": float(memory.gate.judged)}
        if skill is not None:
            backtest["skill"] = skill
        if closed:
            held = frame.fall_back(inputs, closed)
            return replace(held, numbers=numbers | {"gate": 0.0}, backtest=backtest)
        candidates = tuple(
            records.Candidate(metric.key, {"upper": float(load)}, float(need))
            for metric, load, need in zip(self._metrics, upper, needs, strict=True)
        )
        recommended = max(int(needs.max()), inputs.reactive or 0)
        return frame.Proposed(
            recommended, "forecast: model", numbers | {"gate": 1.0}, candidates, backtest=backtest
        )


def make_model_scaler(
    name: str,
) -> Callable[[specs.AutoscalerSpec, fitted_models.ModelParameters], decisions.Scaler[Any]]:
    """Return the factory of the scaler with one model."""

    def make_it(
        spec: specs.AutoscalerSpec, parameters: fitted_models.ModelParameters
    ) -> decisions.Scaler[Any]:
        if parameters.strict:
            return theses.StrictModel(name, spec, parameters)
        return frame.Framed(name, spec, parameters, ModelProposer(name, spec, parameters))

    return make_it
