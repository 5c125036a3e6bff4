"""What a scaler that looks ahead takes from one observation: demand, its age, and the horizon.

Shared by all of them, so that they differ in how they forecast and in nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from kubestow.policies.scaling import demand as scaling_demand
from kubestow.policies.scaling import hpa as specs
from kubestow.policies.scaling import observations, startup

# A rate of one minute, where the reading does not tell (Prometheus' habit, metrics-server's too).
_WINDOW_S = 60.0
# Time between two looks before a second one has told (--horizontal-pod-autoscaler-sync-period).
FIRST_STEP_S = 15.0
# Looks further apart than this many usual ones break a series.
_LONGEST_GAP = 20
# Looks closer together, in seconds, are one and the same and tell no rhythm.
_SHORTEST_S = 1.0
# A time between looks that is off the usual one by more than this share moves it, by a tenth.
_OFF, _MOVED = 0.01, 0.1


@dataclass(frozen=True, slots=True)
class HorizonParameters:
    """How far to look ahead.

    Attributes:
        startup_s: Start-up time of a pod as long as none was measured; 0 looks no further than
            the next decision.
        startup_quantile: Which quantile of the measured start-up times counts.
        hold_s: How long the largest proposal counts before replicas go, where the autoscaler does
            not say; upstream waits 300 s for what a forecast knows sooner.
    """

    startup_s: float = 30.0
    startup_quantile: float = 0.9
    hold_s: float = 45.0


@dataclass(frozen=True, slots=True)
class LookMemory:
    """What is remembered from look to look.

    Attributes:
        startups: Start-up times that were seen.
        cost: What a request costs.
        last_s: When demand was last seen (as long as no rhythm is known: when the last look was);
            ``None`` before the first.
        step_s: Time between two looks; 0 where it is not known.
    """

    startups: startup.Startups = field(default_factory=startup.Startups)
    cost: scaling_demand.RequestCost = field(default_factory=scaling_demand.RequestCost)
    last_s: float | None = None
    step_s: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the memory as plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> LookMemory:
        """Return the memory that ``as_json`` wrote."""
        seen = value["startups"]
        return cls(
            startups=startup.Startups(tuple(seen["times_s"]), tuple(seen["counted"])),
            cost=scaling_demand.RequestCost(value["cost"]["load"]),
            last_s=value["last_s"],
            step_s=value["step_s"],
        )


class Look(NamedTuple):
    """What was seen.

    Attributes:
        demand: The work there is; a text says why it is not known.
        steps: How many steps ago demand was last seen: 1 usually, 0 at the first look or where
            time stands still or goes back, and -1 if it is so long ago that a series cannot go on.
        horizon_s: From the middle of what was measured until a pod ordered at the next decision is
            ready.
        startup_s: Of that, the start-up of a pod.
        window_s: Over how long the demand was measured.
        until_s: From the middle of that until the next look.
    """

    demand: scaling_demand.Demand | str
    steps: int
    horizon_s: float
    startup_s: float
    window_s: float
    until_s: float


def take(
    seen: observations.ScalingObservation,
    metric: specs.MetricSpec,
    memory: LookMemory,
    parameters: HorizonParameters,
) -> tuple[Look, LookMemory]:
    """Take in one observation."""
    steps, step_s = _rhythm(seen.time_s, memory)
    learnt = memory.startups.take(seen.pods)
    startup_s = learnt.quantile(parameters.startup_quantile, parameters.startup_s)
    demand = scaling_demand.read(seen, metric)
    cost = memory.cost
    if isinstance(demand, scaling_demand.Demand) and metric.key != scaling_demand.RATE:
        rate = scaling_demand.rate(seen)
        cost = cost.learn(rate, demand, seen.pods.count_ready())
        demand = scaling_demand.lifted(demand, rate, cost)
    age_s, window_s = _age(seen, metric.key)
    lag_s = age_s + window_s / 2.0
    # What is set now holds until the next look.
    until_s = lag_s + step_s
    look = Look(demand, steps, startup_s + until_s, startup_s, window_s, until_s)
    after = replace(memory, startups=learnt, cost=cost, last_s=seen.time_s, step_s=step_s)
    return look, missed(memory, after) if isinstance(demand, str) else after


def missed(before: LookMemory, after: LookMemory) -> LookMemory:
    """Return the memory after a look that saw nothing: the next one tells how long that was."""
    if before.step_s <= 0.0:
        return after
    return replace(after, last_s=before.last_s, step_s=before.step_s)


def beat(time_s: float, memory: LookMemory) -> tuple[int, LookMemory]:
    """Return how many steps ago the last look was, as ``Look`` has it, and the new memory."""
    steps, step_s = _rhythm(time_s, memory)
    return steps, replace(memory, last_s=time_s, step_s=step_s)


def _rhythm(now_s: float, memory: LookMemory) -> tuple[int, float]:
    """Return how many steps have passed, and how long one is."""
    if memory.last_s is None or now_s <= memory.last_s:
        return 0, memory.step_s
    passed_s, step_s = now_s - memory.last_s, memory.step_s
    if step_s <= 0.0:
        return (1, passed_s) if passed_s >= _SHORTEST_S else (0, 0.0)
    steps = max(round(passed_s / step_s), 1)
    if steps > _LONGEST_GAP:
        return -1, 0.0  # the rhythm may be another one now
    if steps == 1 and abs(passed_s - step_s) > _OFF * step_s:
        step_s = max(step_s + _MOVED * (passed_s - step_s), _SHORTEST_S)
    return steps, step_s


def _age(seen: observations.ScalingObservation, key: str) -> tuple[float, float]:
    """Return how old a reading is, and over which time it was measured."""
    reading = seen.metrics.get(key)
    if not isinstance(reading, observations.PodSamples) or not reading.present.any():
        return 0.0, _WINDOW_S
    sampled_s = reading.sampled_s[reading.present]
    age_s = 0.0
    if np.isfinite(sampled_s).any():
        age_s = max(seen.time_s - float(np.nanmax(sampled_s)), 0.0)
    return age_s, float(np.nanmax(reading.window_s[reading.present]))
