"""``derivative`` and ``line-fit`` made sound: demand instead of utilisation, one start-up ahead.

What McNaughton 2016, 8.2 and 8.3 ask for: total demand, which does not fall when pods are added;
pods on their way are counted, since what is proposed is a total; no prediction downwards; the
horizon is a high quantile of measured start-up times plus the age of what is seen; and the larger
of prediction and reaction upwards. With ``strict`` the printed formulas run instead
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
    """How the slope of demand is taken, and what it is used for.

    Attributes:
        strict: The formulas as printed, on mean utilisation with forbidden windows.
        samples: Over how many samples the derivative is taken (2: current and previous).
        horizon: How far to look ahead; not used by ``strict``.
        legacy: Tolerance and forbidden windows of ``strict``.
        outlier_sigmas: ``strict``: start-up times further out than so many standard deviations do
            not count; 0 counts all, as printed.
        enabled: ``strict``: off is the reactive autoscaler of 2016, to the bit.
    """

    strict: bool = False
    samples: int = 2
    horizon: lookahead.HorizonParameters = field(default_factory=lookahead.HorizonParameters)
    legacy: theses.LegacyHpaParameters = field(default_factory=theses.LegacyHpaParameters)
    outlier_sigmas: float = 0.0
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class LineFitParameters:
    """Through which samples the line goes, and what it is used for.

    Attributes:
        strict: The formulas as printed, on mean utilisation with forbidden windows.
        cap_s: No older samples count: 600 in the fork, 180 in the text (McNaughton 2016, 3.6, A12).
        horizon: How far to look ahead; not used by ``strict``.
        legacy: Tolerance and forbidden windows of ``strict``.
        outlier_sigmas: ``strict``: start-up times further out than so many standard deviations do
            not count; 0 counts all, as printed.
        enabled: ``strict``: off is the reactive autoscaler of 2016, to the bit.
    """

    strict: bool = False
    cap_s: float = 180.0
    horizon: lookahead.HorizonParameters = field(default_factory=lookahead.HorizonParameters)
    legacy: theses.LegacyHpaParameters = field(default_factory=theses.LegacyHpaParameters)
    outlier_sigmas: float = 0.0
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class TrendMemory:
    """What was seen of late.

    Attributes:
        look: What is remembered from look to look.
        samples: Times and loads, oldest first.
    """

    look: lookahead.LookMemory = field(default_factory=lookahead.LookMemory)
    samples: tuple[Sample, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {"look": self.look.as_json(), "samples": [list(s) for s in self.samples]}


Slope = Callable[[tuple[Sample, ...]], float | None]


class TrendProposer:
    """Proposes for the load one start-up ahead, along a slope.

    Args:
        spec: What the autoscaler is told.
        horizon: How far to look ahead.
        slope: Pods per second out of samples; ``None`` if they do not tell.
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
        """How long the largest proposal counts: as upstream, for falls are not foretold."""
        return 300.0

    def start(self) -> TrendMemory:
        """Return the memory of a proposer that has seen nothing yet."""
        return TrendMemory()

    def restore(self, value: Mapping[str, Any]) -> TrendMemory:
        """Return the memory that ``as_json`` wrote."""
        samples = tuple((float(time_s), float(load)) for time_s, load in value["samples"])
        return TrendMemory(lookahead.LookMemory.from_json(value["look"]), samples)

    def propose(self, seen: frame.Seen, memory: TrendMemory) -> tuple[frame.Proposed, TrendMemory]:
        """Follow the slope to the horizon."""
        now_s = seen.observation.time_s
        look, learnt = lookahead.take(seen.observation, self._metric, memory.look, self._horizon)
        if isinstance(look.demand, str):
            return frame.fall_back(seen, look.demand), TrendMemory(learnt, memory.samples)
        load, target = look.demand.load, look.demand.target
        kept = tuple(s for s in memory.samples if now_s - self._kept_s < s[0] < now_s)
        samples = (*kept, (now_s, load))
        after = TrendMemory(learnt, samples)
        slope = self._slope(samples)
        if slope is None:
            return frame.fall_back(seen, "no history"), after
        if slope <= 0.0:
            return frame.fall_back(seen, "demand does not rise"), after
        ahead = load + slope * look.horizon_s
        wanted = max(math.ceil(round(ahead / target, 9)), seen.reactive or 0)
        numbers = {
            "load": load, "mean": ahead, "slope": slope, "target": target,
            "horizon_s": look.horizon_s, "startup_s": look.startup_s,
        }  # fmt: skip
        return frame.Proposed(wanted, "forecast: trend", numbers), after


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
