"""The predictors of McNaughton 2016 as printed: the legacy autoscaler one start-up ahead.

``derivative`` (3.5): current mean utilisation plus start-up time times its derivative, in both
directions. ``line-fit`` (3.6): the value of a least-squares line one start-up ahead, only where it
rises; its level is the line's, not the current value's. Both feed the ratio rule of 2016 with its
tolerance and forbidden windows; without history or start-up time they use the reactive value.
Their known weaknesses are kept (McNaughton 2016, 8.2); the corrected variants are in
``ahead.trends``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from kubestow.model import decisions as records
from kubestow.policies.forecasting import baselines
from kubestow.policies.scaling import decisions, observations, startup
from kubestow.policies.scaling import hpa as specs
from kubestow.policies.scaling.theses import legacy_hpa, utilization

Sample = tuple[float, float]  # time in seconds, mean utilisation in percent
Predictor = Callable[[tuple[Sample, ...], float], float | None]


@dataclass(frozen=True, slots=True)
class LegacyPredictiveMemory:
    """The autoscaler's memory and past utilisation.

    Attributes:
        legacy: When the target was last rescaled.
        samples: Times and mean utilisations, oldest first.
    """

    legacy: legacy_hpa.LegacyMemory
    samples: tuple[Sample, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return {
            "legacy": self.legacy.as_json(),
            "samples": [list(sample) for sample in self.samples],
        }


def derivative(samples: tuple[Sample, ...], startup_s: float, count: int = 2) -> float | None:
    """Return utilisation one start-up ahead by the derivative over the last samples.

    >>> derivative(((0.0, 44.0), (30.0, 50.0)), 135.0)  # V4: 50 + 135 x 0.2
    77.0
    """
    latest = samples[-max(count, 2) :]
    if len(latest) < 2:
        return None
    (first_s, first), (last_s, last) = latest[0], latest[-1]
    if last_s <= first_s:
        return None
    # Clipped at 0, but not at 100 % (McNaughton 2016, A8).
    return max(last + startup_s * ((last - first) / (last_s - first_s)), 0.0)


def line_of_best_fit(
    samples: tuple[Sample, ...], startup_s: float, cap_s: float = 600.0
) -> float | None:
    """Return utilisation one start-up ahead by a line through the recent samples.

    Samples newer than ``min(20 x start-up, cap)`` count; a falling line predicts nothing.
    """
    if not samples:
        return None
    now_s, now = samples[-1]
    window_s = min(20.0 * startup_s, cap_s)
    recent = [sample for sample in samples if sample[0] > now_s - window_s]
    times_s = np.array([time_s for time_s, _ in recent])
    if len(recent) < 2 or np.ptp(times_s) <= 0.0:
        return None
    slope, intercept = baselines.fit_line(times_s - now_s, np.array([value for _, value in recent]))
    return now if slope < 0.0 else intercept + slope * startup_s


class LegacyPredictive:
    """The legacy autoscaler, fed with utilisation one start-up ahead.

    Args:
        name: The name under which it is registered.
        spec: The autoscaler's specification.
        legacy: Tolerance and forbidden windows.
        predictor: Utilisation ahead from samples and start-up time.
        parameters: All parameters, for the record.
        sigmas: Ignore start-up times further from the mean than this many standard deviations.
        enabled: Off equals the legacy autoscaler.
        kept_s: How long samples are kept.
    """

    def __init__(
        self,
        name: str,
        spec: specs.AutoscalerSpec,
        legacy: legacy_hpa.LegacyHpaParameters,
        predictor: Predictor,
        parameters: Any,
        *,
        sigmas: float = 0.0,
        enabled: bool = True,
        kept_s: float = 1200.0,
    ) -> None:
        self.name = name
        self.spec = spec
        self.parameters = parameters
        self._legacy = legacy_hpa.LegacyHpa(spec, legacy)
        self._predictor = predictor
        self._sigmas = sigmas
        self._enabled = enabled
        self._kept_s = kept_s

    def start(self) -> LegacyPredictiveMemory:
        """Return the initial memory."""
        return LegacyPredictiveMemory(self._legacy.start())

    def restore(self, value: Mapping[str, Any]) -> LegacyPredictiveMemory:
        """Return the memory that ``as_json`` wrote."""
        return LegacyPredictiveMemory(
            self._legacy.restore(value["legacy"]),
            tuple((float(time_s), float(level)) for time_s, level in value["samples"]),
        )

    def decide(
        self, observation: observations.ScalingObservation, memory: LegacyPredictiveMemory
    ) -> tuple[decisions.ScalingDecision, LegacyPredictiveMemory]:
        """Run one sync on the predicted utilisation."""
        level = utilization.utilization_level(observation, self.spec.metrics[0].key)
        samples = self._remember(memory.samples, observation.time_s, level)
        predicted, note, lack = self._predict(observation, samples, level)
        decision, legacy = self._legacy.decide_on(observation, memory.legacy, predicted)
        explained = decisions.ScalingDecision(
            time_s=decision.time_s,
            current=decision.current,
            proposed=decision.proposed,
            desired=decision.desired,
            reason=f"{decision.reason}; {note}" if note else decision.reason,
            conditions=(),
            error=decision.error,
            _record=lambda made: self._record(made, level, predicted, lack),
        )
        return explained, LegacyPredictiveMemory(legacy, samples)

    def _remember(
        self, samples: tuple[Sample, ...], now_s: float, level: float | None
    ) -> tuple[Sample, ...]:
        if level is None:
            return samples
        # If the clock was set back, samples with later times are dropped.
        kept = tuple(s for s in samples if now_s - self._kept_s <= s[0] <= now_s)
        return kept if kept and kept[-1][0] == now_s else (*kept, (now_s, level))

    def _predict(
        self,
        observation: observations.ScalingObservation,
        samples: tuple[Sample, ...],
        level: float | None,
    ) -> tuple[float | None, str, str]:
        """Return the input of the rule, a note on it, and why there is no prediction."""
        if not self._enabled:
            return level, "", ""
        if level is None:
            return None, "", f"no value of {self.spec.metrics[0].key}"
        startup_s = startup.mean(observation.pods, self._sigmas)
        if startup_s is None:
            return level, "reactive: no start-up time is known", "no start-up time is known"
        predicted = self._predictor(samples, startup_s)
        if predicted is None:
            return level, "reactive: no history", "no history"
        return predicted, f"{predicted:.0f} % in {startup_s:.0f} s", ""

    def _record(
        self,
        decision: decisions.ScalingDecision,
        level: float | None,
        predicted: float | None,
        lack: str,
    ) -> records.DecisionRecord:
        record = self._legacy.record(decision, predicted)
        numbers = dict(record.numbers)
        if level is not None:
            numbers["now"] = level
        parameters = {**asdict(self.parameters), "reason": decision.reason}
        rejected = {"forecast": lack} if lack else {}
        return replace(
            record, policy=self.name, parameters=parameters, numbers=numbers, rejected=rejected
        )
