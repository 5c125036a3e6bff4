"""``perfect``: knows the demand to come; the best that any short forecast could do.

Only a simulator can tell it, so it is a yardstick, not a scaler to run. It orders for the largest
demand until a pod ordered at the next look would be ready; noise shorter than its smoothing stays
unknown to it, as it is to anyone who looks at rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kubestow.model import arrays
from kubestow.model import decisions as records
from kubestow.policies.scaling import decisions, observations, static
from kubestow.policies.scaling import hpa as specs

NAME = "perfect"


@dataclass(frozen=True, slots=True)
class PerfectParameters:
    """What it is told.

    Attributes:
        loads: Demand by step from time 0, in pods that use all of their request; told by the
            simulator.
        step_s: Length of a step.
        startup_s: Start-up time of a pod.
        look_s: Time between two looks.
        smooth_s: Demand is known as means over this time.
        target: Share of its request a pod should use.
    """

    loads: tuple[float, ...] = ()
    step_s: float = 15.0
    startup_s: float = 60.0
    look_s: float = 15.0
    smooth_s: float = 60.0
    target: float = 0.6


class Perfect(static.Forgetful):
    """Orders for the largest demand until new pods are ready.

    Args:
        spec: What the autoscaler is told.
        parameters: What is to come.
    """

    name = NAME

    def __init__(
        self, spec: specs.AutoscalerSpec, parameters: PerfectParameters | None = None
    ) -> None:
        self.spec = spec
        self.parameters = parameters or PerfectParameters()
        self._needs = _largest_ahead(self.parameters)

    def decide(
        self, seen: observations.ScalingObservation, memory: static.NoMemory
    ) -> tuple[decisions.ScalingDecision, static.NoMemory]:
        """Return what will be needed, whatever is seen."""
        spec, wanted = self.spec, None
        if len(self._needs):
            step = int(seen.time_s / self.parameters.step_s)
            step = min(max(step, 0), len(self._needs) - 1)
            wanted = math.ceil(round(float(self._needs[step]) / self.parameters.target, 9))
        desired = seen.current_replicas if wanted is None else wanted
        decision = decisions.ScalingDecision(
            time_s=seen.time_s,
            current=seen.current_replicas,
            proposed=wanted,
            desired=min(max(desired, spec.min_replicas), spec.max_replicas),
            reason="perfect forecast" if wanted is not None else "nothing is known",
            conditions=(),
            error="",
            _record=self._record,
        )
        return decision, memory

    def _record(self, decision: decisions.ScalingDecision) -> records.DecisionRecord:
        parameters = self.parameters
        return records.DecisionRecord(
            kind="scaling",
            subject=self.spec.subject,
            policy=self.name,
            outcome=str(decision.desired),
            parameters={"startup_s": parameters.startup_s, "smooth_s": parameters.smooth_s},
            time=decision.time_s,
            numbers={"current": float(decision.current), "target": parameters.target},
        )


def _largest_ahead(parameters: PerfectParameters) -> arrays.Floats:
    """Return, for every step, the largest smoothed load until a pod ordered later is ready."""
    loads = np.array(parameters.loads)
    if not len(loads):
        return loads
    width = max(round(parameters.smooth_s / parameters.step_s), 1)
    padded = np.concatenate([loads, np.full(width, loads[-1])])
    sums = np.concatenate([[0.0], np.cumsum(padded)])
    means = (sums[width:] - sums[:-width])[: len(loads)] / width
    ahead = math.ceil((parameters.startup_s + parameters.look_s) / parameters.step_s)
    needs: arrays.Floats = means.copy()
    for shift in range(1, ahead + 1):
        needs[:-shift] = np.maximum(needs[:-shift], means[shift:])
    return needs
