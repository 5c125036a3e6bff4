"""The scaling steps of Shi 2023, 3.3 as printed, with a fitted model's prediction.

1. The autoscaler's bounds are read; one that forbids scaling ends it. 2. Requests per pod and
current replicas. 3. Predicted mean usage per pod, (3.16). 4. and 5. Thresholds, (3.17). 6. (3.18).
7. Rate rules, and a cool-down per direction. Defects of the text are kept: it scales to the whole
request, not to a target (8.1 point 6), and usage per pod depends on past replicas (point 7).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np

from kubestow.model import decisions as records
from kubestow.policies.scaling import (
    decisions,
    fitted_models,
    hpa,
    lookahead,
    observations,
    startup,
)


def desired(replicas: int, used: Sequence[int], requested: Sequence[int]) -> int | None:
    """Return (3.16); resources without a request do not count, ``None`` if none has one.

    Args:
        replicas: Current replicas.
        used: Predicted usage per pod, by resource.
        requested: Request per pod, by resource, in the same units.

    >>> desired(5, [140], [100])
    7
    """
    needs = [
        -(-replicas * use // request)
        for use, request in zip(used, requested, strict=True)
        if request > 0
    ]
    return max(needs, default=None)


def bounds(least: int, most: int, tolerance: float, *, strict: bool) -> tuple[int, int]:
    """Return (3.17) in whole replicas: as printed, or never outside the autoscaler's bounds.

    >>> bounds(2, 8, 0.1, strict=True), bounds(20, 40, 0.1, strict=True)
    ((2, 8), (18, 44))
    >>> bounds(20, 40, 0.1, strict=False)
    (20, 40)
    """
    share = Fraction(str(tolerance))
    low, high = math.ceil((1 - share) * least), math.floor((1 + share) * most)
    if strict:
        return low, high
    return max(low, least), min(high, most)


def clamp(recommended: int, low: int, high: int) -> int:
    """Return (3.18)."""
    return min(max(recommended, low), high)


RESOURCES = ("cpu", "memory")
_REACTIVE, _FORECAST = "reactive: ", "forecast: model"


def mean_use(
    observation: observations.ScalingObservation, resource: str
) -> tuple[float, int] | None:
    """Return mean usage and mean request per pod, in thousandths; ``None`` if unknown."""
    reading = observation.metrics.get(resource)
    requests = observation.pods.requests_milli.get((resource, ""))
    if not isinstance(reading, observations.PodSamples) or requests is None:
        return None
    counted = reading.present & ~observation.pods.deleted & (requests > 0)
    if not counted.any():
        return None
    return float(reading.values_milli[counted].mean()), round(float(requests[counted].mean()))


class StrictModel:
    """The elastic scaling module of Shi 2023 with one model.

    Args:
        name: The name under which it is registered.
        spec: The autoscaler's specification.
        parameters: Model, step, tolerance and cool-downs.
    """

    def __init__(
        self, name: str, spec: hpa.AutoscalerSpec, parameters: fitted_models.ModelParameters
    ) -> None:
        self.name = name
        self.spec = spec
        self.parameters = parameters
        self._modeller = fitted_models.Modeller(name, parameters)
        self._bounds = bounds(
            spec.min_replicas, spec.max_replicas, parameters.tolerance, strict=True
        )

    def start(self) -> fitted_models.ModelMemory:
        """Return the initial memory."""
        return fitted_models.ModelMemory()

    def restore(self, value: Mapping[str, Any]) -> fitted_models.ModelMemory:
        """Return the memory that ``as_json`` wrote."""
        return fitted_models.restore(value, self._modeller.forecaster)

    def decide(
        self, observation: observations.ScalingObservation, memory: fitted_models.ModelMemory
    ) -> tuple[decisions.ScalingDecision, fitted_models.ModelMemory]:
        """Follow the printed steps."""
        now_s, current = observation.time_s, observation.current_replicas
        known = {
            name: use for name in RESOURCES if (use := mean_use(observation, name)) is not None
        }
        proposed, reason, memory = self._propose(observation, memory, known)
        lack = reason.removeprefix(_REACTIVE) if reason != _FORECAST else ""
        desired = current
        if proposed is not None and proposed != current and current > 0:
            change, waits = proposed - current, self.parameters
            if memory.cooldowns.blocks(change, now_s, waits.cooldown_up_s, waits.cooldown_down_s):
                reason = f"{reason}; cool-down"
            else:
                desired = self._limit(current, proposed, memory.hpa_memory, now_s)
        memory = self._note(memory, desired - current, now_s)
        decision = decisions.ScalingDecision(
            time_s=now_s, current=current, proposed=proposed, desired=desired, reason=reason,
            conditions=(), error="" if known else "no use of cpu or memory is known",
            _record=lambda decision: self._record(decision, known, lack),
        )  # fmt: skip
        return decision, memory

    def _propose(
        self,
        observation: observations.ScalingObservation,
        memory: fitted_models.ModelMemory,
        known: Mapping[str, tuple[float, int]],
    ) -> tuple[int | None, str, fitted_models.ModelMemory]:
        if not known:
            return None, "no use is known", memory
        used, reason, memory = self._predict(observation, memory, known)
        whole = [max(round(use), 0) for use in used]
        requested = [request for _, request in known.values()]
        recommended = desired(observation.current_replicas, whole, requested)
        if recommended is None:
            return None, "no request is known", memory
        return clamp(recommended, *self._bounds), reason, memory

    def _predict(
        self,
        observation: observations.ScalingObservation,
        memory: fitted_models.ModelMemory,
        known: Mapping[str, tuple[float, int]],
    ) -> tuple[list[float], str, fitted_models.ModelMemory]:
        """Return the usage per pod to scale by, the reason, and the new memory."""
        passed, learnt = lookahead.count_steps(observation.time_s, memory.sync)
        now = {name: use for name, (use, _) in known.items()}
        lost = [name for name in memory.names if name not in now]
        if lost and passed >= 0:  # wait a while for the missing series
            return list(now.values()), f"{_REACTIVE}{', '.join(lost)} was not read", memory
        memory = self._modeller.take(replace(memory, sync=learnt), now, passed)
        if memory.fitted is None:
            return list(now.values()), f"{_REACTIVE}the model is not fitted yet", memory
        steps = startup.steps(self.parameters.step_s, learnt.step_s or lookahead.FIRST_STEP_S)
        ahead = memory.fitted.predict(steps).mean[:, -1]
        if not np.isfinite(ahead).all():
            return list(now.values()), f"{_REACTIVE}the forecast is not a number", memory
        return ahead.tolist(), _FORECAST, memory

    def _note(
        self, memory: fitted_models.ModelMemory, change: int, now_s: float
    ) -> fitted_models.ModelMemory:
        now_ns = hpa.nanoseconds(now_s)
        up, down = hpa.scale_events(self.spec, memory.hpa_memory, change, now_ns)
        hpa_memory = replace(memory.hpa_memory, up_events=up, down_events=down)
        return replace(
            memory, cooldowns=memory.cooldowns.note(change, now_s), hpa_memory=hpa_memory
        )

    def _limit(self, current: int, proposed: int, hpa_memory: hpa.HpaMemory, now_s: float) -> int:
        """Obey the rate rules of a behaviour; cool-downs replace its windows."""
        behavior = self.spec.behavior
        if behavior is None:
            return proposed
        now_ns = hpa.nanoseconds(now_s)
        if proposed > current:
            most = hpa.up_limit(current, behavior.up, hpa_memory, now_ns)
            return min(proposed, max(current, most))
        least = hpa.down_limit(current, behavior.down, hpa_memory, now_ns)
        return max(proposed, min(current, least))

    def _record(
        self,
        decision: decisions.ScalingDecision,
        known: Mapping[str, tuple[float, int]],
        lack: str,
    ) -> records.DecisionRecord:
        numbers = {"current": float(decision.current)}
        numbers |= {f"{name}_used": use for name, (use, _) in known.items()}
        numbers |= {f"{name}_requested": float(request) for name, (_, request) in known.items()}
        return records.DecisionRecord(
            kind="scaling",
            subject=self.spec.subject,
            policy=self.name,
            outcome=str(decision.desired),
            parameters={**asdict(self.parameters), "reason": decision.reason},
            time=decision.time_s,
            rejected={"forecast": lack} if lack else {},
            numbers=numbers,
        )
