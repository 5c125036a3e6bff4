"""``derivative`` and ``line-fit``, corrected: demand instead of utilisation, one start-up ahead.

McNaughton 2016, 8.2 and 8.3 call for: total demand, which does not fall when pods are added;
counting starting pods, which a proposed total does; no prediction downwards; a horizon that is a
high quantile of measured start-up times plus the age of the samples; and the larger of prediction
and reaction upwards. With ``strict`` the printed formulas run instead
(``legacy_predictors``).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kubestow.policies.forecasting import baselines
from kubestow.policies.scaling import decisions, lookahead, theses
from kubestow.policies.scaling import hpa as specs
from kubestow.policies.scaling.ahead import frame

Sample = tuple[float, float]  # time in seconds, load in pods


@dataclass(frozen=True, slots=True)
class DerivativeParameters:
    """Parameters of ``derivative``.

    Attributes:
        strict: Use the formulas as printed, on mean utilisation with forbidden windows.
        samples: Samples the derivative spans (2: current and previous).
        horizon: Parameters of the forecast horizon; not used by ``strict``.
        legacy: Tolerance and forbidden windows of ``strict``.
        outlier_sigmas: ``strict``: ignore start-up times further from the mean than this many
            standard deviations; 0 counts all, as printed.
        enabled: ``strict``: off equals the reactive autoscaler of 2016 bit for bit.
    """

    strict: bool = False
    samples: int = 2
    horizon: lookahead.HorizonParameters = field(default_factory=lookahead.HorizonParameters)
    legacy: theses.LegacyHpaParameters = field(default_factory=theses.LegacyHpaParameters)
    outlier_sigmas: float = 0.0
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class LineFitParameters:
    """Parameters of ``line-fit``.

    Attributes:
        strict: Use the formulas as printed, on mean utilisation with forbidden windows.
        cap_s: Maximum age of samples: 600 in the fork, 180 in the text (McNaughton 2016, 3.6, A12).
        horizon: Parameters of the forecast horizon; not used by ``strict``.
        legacy: Tolerance and forbidden windows of ``strict``.
        outlier_sigmas: ``strict``: ignore start-up times further from the mean than this many
            standard deviations; 0 counts all, as printed.
        enabled: ``strict``: off equals the reactive autoscaler of 2016 bit for bit.
    """

    strict: bool = False
    cap_s: float = 180.0
    horizon: lookahead.HorizonParameters = field(default_factory=lookahead.HorizonParameters)
    legacy: theses.LegacyHpaParameters = field(default_factory=theses.LegacyHpaParameters)
    outlier_sigmas: float = 0.0
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class TrendMemory:
    """Recent samples of demand.

    Attributes:
        sync: Memory common to predictive scalers.
        samples: Times and loads, oldest first.
    """

    sync: lookahead.SyncMemory = field(default_factory=lookahead.SyncMemory)
    samples: tuple[Sample, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {"look": self.sync.as_json(), "samples": [list(s) for s in self.samples]}


Slope = Callable[[tuple[Sample, ...]], float | None]


class TrendProposer:
    """Proposes pods for the load one start-up ahead, along a slope.

    Args:
        spec: The autoscaler's specification.
        horizon: Parameters of the forecast horizon.
        slope: Computes pods per second from samples; ``None`` if there are too few.
        kept_s: How long samples are kept.
    """

    def __init__(
        self,
        spec: specs.AutoscalerSpec,
        horizon: lookahead.HorizonParameters,
        slope: Slope,
        kept_s: float,
    ) -> None:
        self._metric = spec.metrics[0]
        self._horizon = horizon
        self._slope = slope
        self._kept_s = kept_s

    @property
    def down_s(self) -> float:
        """Downscale stabilization in seconds: as upstream, because falls are not forecast."""
        return 300.0

    def start(self) -> TrendMemory:
        """Return the initial memory."""
        return TrendMemory()

    def restore(self, value: Mapping[str, Any]) -> TrendMemory:
        """Return the memory that ``as_json`` wrote."""
        samples = tuple((float(time_s), float(load)) for time_s, load in value["samples"])
        return TrendMemory(lookahead.SyncMemory.from_json(value["look"]), samples)

    def propose(
        self, inputs: frame.ProposalInputs, memory: TrendMemory
    ) -> tuple[frame.Proposed, TrendMemory]:
        """Follow the slope to the horizon."""
        now_s = inputs.observation.time_s
        sample, learnt = lookahead.take(
            inputs.observation, self._metric, memory.sync, self._horizon
        )
        if isinstance(sample.demand, str):
            return frame.fall_back(inputs, sample.demand), TrendMemory(learnt, memory.samples)
        load, target = sample.demand.load, sample.demand.target
        kept = tuple(s for s in memory.samples if now_s - self._kept_s < s[0] < now_s)
        samples = (*kept, (now_s, load))
        after = TrendMemory(learnt, samples)
        slope = self._slope(samples)
        if slope is None:
            return frame.fall_back(inputs, "no history"), after
        if slope <= 0.0:
            return frame.fall_back(inputs, "demand does not rise"), after
        ahead = load + slope * sample.horizon_s
        recommended = max(math.ceil(round(ahead / target, 9)), inputs.reactive or 0)
        numbers = {
            "load": load, "mean": ahead, "slope": slope, "target": target,
            "horizon_s": sample.horizon_s, "startup_s": sample.startup_s,
        }  # fmt: skip
        return frame.Proposed(recommended, "forecast: trend", numbers), after


def difference(samples: tuple[Sample, ...], count: int) -> float | None:
    """Return the slope between the newest sample and one some samples ago."""
    latest = samples[-max(count, 2) :]
    if len(latest) < 2 or latest[-1][0] <= latest[0][0]:
        return None
    return (latest[-1][1] - latest[0][1]) / (latest[-1][0] - latest[0][0])


def best_fit(samples: tuple[Sample, ...]) -> float | None:
    """Return the slope of the least-squares line; three samples at least."""
    if len(samples) < 3:
        return None
    times_s = np.array([time_s for time_s, _ in samples])
    return baselines.fit_line(times_s - times_s[-1], np.array([load for _, load in samples]))[0]


def make_derivative(
    spec: specs.AutoscalerSpec, parameters: DerivativeParameters
) -> decisions.Scaler[Any]:
    """Return ``derivative`` for one specification."""
    if parameters.strict:
        predictor = functools.partial(theses.derivative, count=parameters.samples)
        return theses.LegacyPredictive(
            "derivative", spec, parameters.legacy, predictor, parameters,
            sigmas=parameters.outlier_sigmas, enabled=parameters.enabled,
        )  # fmt: skip
    slope = functools.partial(difference, count=parameters.samples)
    proposer = TrendProposer(spec, parameters.horizon, slope, 600.0)
    return frame.Framed("derivative", spec, parameters, proposer)


def make_line_fit(
    spec: specs.AutoscalerSpec, parameters: LineFitParameters
) -> decisions.Scaler[Any]:
    """Return ``line-fit`` for one specification."""
    if parameters.strict:
        predictor = functools.partial(theses.line_of_best_fit, cap_s=parameters.cap_s)
        return theses.LegacyPredictive(
            "line-fit", spec, parameters.legacy, predictor, parameters,
            sigmas=parameters.outlier_sigmas, enabled=parameters.enabled,
            kept_s=max(parameters.cap_s, 1200.0),
        )  # fmt: skip
    proposer = TrendProposer(spec, parameters.horizon, best_fit, parameters.cap_s)
    return frame.Framed("line-fit", spec, parameters, proposer)
