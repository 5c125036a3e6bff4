"""Inputs of predictive scalers from one observation: demand, its age, and the horizon.

All of them share this module, so that they differ only in how they forecast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from kubestow.policies.scaling import demand as scaling_demand
from kubestow.policies.scaling import hpa as specs
from kubestow.policies.scaling import observations, startup

# Window of a rate where the sample has none (usual with Prometheus and metrics-server).
_WINDOW_S = 60.0
# Sync period before it is measured (--horizontal-pod-autoscaler-sync-period).
FIRST_STEP_S = 15.0
# A gap of more than this many sync periods breaks a series.
_LONGEST_GAP = 20
# Syncs closer together, in seconds, count as one and do not set the sync period.
_SHORTEST_S = 1.0
# A sync interval that differs from the period by more than this share moves it, by a tenth.
_OFF, _MOVED = 0.01, 0.1


@dataclass(frozen=True, slots=True)
class HorizonParameters:
    """The forecast horizon.

    Attributes:
        startup_s: Start-up time of a pod in seconds until one is measured; 0 makes the horizon end
            at the next decision.
        startup_quantile: Quantile of the measured start-up times that counts.
        hold_s: Downscale stabilization in seconds, where the autoscaler sets no window; shorter
            than upstream's 300 s, because a forecast knows a fall sooner.
    """

    startup_s: float = 30.0
    startup_quantile: float = 0.9
    hold_s: float = 45.0


@dataclass(frozen=True, slots=True)
class SyncMemory:
    """The memory from sync to sync common to predictive scalers.

    Attributes:
        startups: Measured start-up times.
        cost: Cost of a request.
        last_s: Time of the last sync that read demand (of the last sync while the sync period is
            unknown); ``None`` before the first.
        step_s: Sync period in seconds; 0 if not known.
    """

    startups: startup.Startups = field(default_factory=startup.Startups)
    cost: scaling_demand.RequestCost = field(default_factory=scaling_demand.RequestCost)
    last_s: float | None = None
    step_s: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> SyncMemory:
        """Return the memory that ``as_json`` wrote."""
        startups = value["startups"]
        return cls(
            startups=startup.Startups(tuple(startups["times_s"]), tuple(startups["counted"])),
            cost=scaling_demand.RequestCost(value["cost"]["load"]),
            last_s=value["last_s"],
            step_s=value["step_s"],
        )


class DemandSample(NamedTuple):
    """Demand at one sync, with its age and the horizon.

    Attributes:
        demand: The demand; a text says why it is not known.
        steps: Sync periods since demand was last read: usually 1; 0 at the first sync or where
            the clock stands still or goes back; -1 if the gap is too long to continue a series.
        horizon_s: Seconds from the middle of the sample window until a pod ordered at the next
            decision is ready.
        startup_s: The part of it that is the start-up of a pod.
        window_s: Length of the sample window.
        until_s: Seconds from the middle of the sample window until the next sync.
    """

    demand: scaling_demand.Demand | str
    steps: int
    horizon_s: float
    startup_s: float
    window_s: float
    until_s: float


def take(
    observation: observations.ScalingObservation,
    metric: specs.MetricSpec,
    memory: SyncMemory,
    parameters: HorizonParameters,
) -> tuple[DemandSample, SyncMemory]:
    """Return the demand of one observation, and the new memory."""
    steps, step_s = _rhythm(observation.time_s, memory)
    learnt = memory.startups.take(observation.pods)
    startup_s = learnt.quantile(parameters.startup_quantile, parameters.startup_s)
    demand = scaling_demand.read(observation, metric)
    cost = memory.cost
    if isinstance(demand, scaling_demand.Demand) and metric.key != scaling_demand.RATE:
        rate = scaling_demand.rate(observation)
        cost = cost.learn(rate, demand, observation.pods.count_ready())
        demand = scaling_demand.lifted(demand, rate, cost)
    age_s, window_s = _age(observation, metric.key)
    lag_s = age_s + window_s / 2.0
    # What is set now holds until the next sync.
    until_s = lag_s + step_s
    sample = DemandSample(demand, steps, startup_s + until_s, startup_s, window_s, until_s)
    after = replace(memory, startups=learnt, cost=cost, last_s=observation.time_s, step_s=step_s)
    return sample, missed(memory, after) if isinstance(demand, str) else after


def missed(before: SyncMemory, after: SyncMemory) -> SyncMemory:
    """Return the memory after a sync without demand; it keeps the time of the last with demand."""
    if before.step_s <= 0.0:
        return after
    return replace(after, last_s=before.last_s, step_s=before.step_s)


def count_steps(time_s: float, memory: SyncMemory) -> tuple[int, SyncMemory]:
    """Return the sync periods since the last sync, as in ``DemandSample``, and the new memory."""
    steps, step_s = _rhythm(time_s, memory)
    return steps, replace(memory, last_s=time_s, step_s=step_s)


def _rhythm(now_s: float, memory: SyncMemory) -> tuple[int, float]:
    """Return how many sync periods have passed, and the length of one."""
    if memory.last_s is None or now_s <= memory.last_s:
        return 0, memory.step_s
    passed_s, step_s = now_s - memory.last_s, memory.step_s
    if step_s <= 0.0:
        return (1, passed_s) if passed_s >= _SHORTEST_S else (0, 0.0)
    steps = max(round(passed_s / step_s), 1)
    if steps > _LONGEST_GAP:
        return -1, 0.0  # the sync period may have changed
    if steps == 1 and abs(passed_s - step_s) > _OFF * step_s:
        step_s = max(step_s + _MOVED * (passed_s - step_s), _SHORTEST_S)
    return steps, step_s


def _age(observation: observations.ScalingObservation, key: str) -> tuple[float, float]:
    """Return the age and the window of a metric's samples, in seconds."""
    reading = observation.metrics.get(key)
    if not isinstance(reading, observations.PodSamples) or not reading.present.any():
        return 0.0, _WINDOW_S
    sampled_s = reading.sampled_s[reading.present]
    age_s = 0.0
    if np.isfinite(sampled_s).any():
        age_s = max(observation.time_s - float(np.nanmax(sampled_s)), 0.0)
    return age_s, float(np.nanmax(reading.window_s[reading.present]))
