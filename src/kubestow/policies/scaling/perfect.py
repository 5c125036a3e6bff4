"""``perfect``: knows future demand; the bound of what a short-term forecast can achieve.

Only a simulator knows future demand, so it is a yardstick, not a scaler for clusters. It orders
pods for the largest demand until a pod ordered at the next sync would be ready. It does not know
noise shorter than its smoothing, like any scaler that reads rates.
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
    """The future demand, and the timing of pods and syncs.

    Attributes:
        loads: Demand by step from time 0, in pods that use their whole request; set by the
            simulator.
        step_s: Length of a step in seconds.
        startup_s: Start-up time of a pod.
        look_s: Sync period.
        smooth_s: Demand is known as means over this time.
        target: Share of its request a pod should use.
    """

    loads: tuple[float, ...] = ()
    step_s: float = 15.0
    startup_s: float = 60.0
    look_s: float = 15.0
    smooth_s: float = 60.0
    target: float = 0.6


class Perfect(static.Stateless):
    """Orders pods for the largest demand until new pods are ready.

    Args:
        spec: The autoscaler's specification.
        parameters: The future demand.
    """

    name = NAME

    def __init__(
        self, spec: specs.AutoscalerSpec, parameters: PerfectParameters | None = None
    ) -> None:
        self.spec = spec
        self.parameters = parameters or PerfectParameters()
        self._needs = _largest_ahead(self.parameters)

    def decide(
        self, observation: observations.ScalingObservation, memory: static.NoMemory
    ) -> tuple[decisions.ScalingDecision, static.NoMemory]:
        """Return the future need, whatever the observation."""
        spec, recommended = self.spec, None
        if len(self._needs):
            step = int(observation.time_s / self.parameters.step_s)
            step = min(max(step, 0), len(self._needs) - 1)
            recommended = math.ceil(round(float(self._needs[step]) / self.parameters.target, 9))
        desired = observation.current_replicas if recommended is None else recommended
        decision = decisions.ScalingDecision(
            time_s=observation.time_s,
            current=observation.current_replicas,
            proposed=recommended,
            desired=min(max(desired, spec.min_replicas), spec.max_replicas),
            reason="perfect forecast" if recommended is not None else "nothing is known",
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
    """Return, per step, the largest smoothed load until a pod ordered next is ready."""
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
