"""Inputs of predictive scalers from one observation."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection

import numpy as np
import pytest

from kubestow.policies.scaling import demand, lookahead, observations
from tests.policies.scaling import make, scenes

PARAMETERS = lookahead.HorizonParameters(startup_s=40.0)


def take(
    memory: lookahead.SyncMemory, observation: observations.ScalingObservation
) -> tuple[lookahead.DemandSample, lookahead.SyncMemory]:
    return lookahead.take(observation, make.CPU, memory, PARAMETERS)


def steps_of(times_s: list[float], failed: Collection[float] = ()) -> list[int]:
    memory, result = lookahead.SyncMemory(), []
    for time_s in times_s:
        observation = scenes.observe(time_s, [None if time_s in failed else 50.0])
        observe, memory = take(memory, observation)
        result.append(observe.steps)
    return result


def test_the_horizon_reaches_from_the_middle_of_the_sample_to_the_readiness_of_new_pods() -> None:
    _, memory = take(lookahead.SyncMemory(), scenes.observe(0.0, [50.0]))
    observe, _ = take(memory, scenes.observe(15.0, [50.0], window_s=60.0, age_s=10.0))
    # 10 s old, half of 60 s, 15 s until the next look; then a start of 40 s
    assert (observe.until_s, observe.startup_s, observe.horizon_s) == (55.0, 40.0, 95.0)
    assert (observe.window_s, observe.demand) == (60.0, demand.Demand(0.5, 0.6))


def test_measured_start_ups_take_the_place_of_the_assumed_one() -> None:
    observe, memory = take(lookahead.SyncMemory(), scenes.observe(0.0, [50.0] * 2, startup_s=100.0))
    assert observe.startup_s == 100.0
    assert memory.startups.times_s == (100.0, 100.0)


@pytest.mark.parametrize(
    ("times_s", "steps"),
    [
        ([0, 15, 30, 45], [0, 1, 1, 1]),
        ([0, 15, 45, 60], [0, 1, 2, 1]),
        ([0, 15, 29, 46], [0, 1, 1, 1]),
        ([0, 15, 330, 345], [0, 1, -1, 1]),  # 21 steps are too many
        ([0, 15, 315], [0, 1, 20]),
        ([0, 15, 15, 30], [0, 1, 0, 1]),
        ([100, 115, 20, 35], [0, 1, 0, 1]),  # the clock was set back
        ([0, 0.01, 15], [0, 0, 1]),  # no rhythm of hundredths of a second
    ],
    ids=["even", "missed", "uneven", "broken", "longest", "still", "back", "twice"],
)
def test_steps_are_counted_in_the_usual_time_between_looks(
    times_s: list[float], steps: list[int]
) -> None:
    assert steps_of(times_s) == steps


def test_a_look_that_saw_nothing_is_a_step_of_the_next_one() -> None:
    assert steps_of([0, 15, 30, 45, 60], failed={30, 45})[-1] == 3
    assert steps_of([0, 15, 30], failed={15})[-1] == 1  # no rhythm was known before
    many = [15.0 * tick for tick in range(30)]
    assert steps_of(many, failed=set(many[2:-1]))[-1] == -1


def test_the_rhythm_follows_a_lasting_change_only_slowly() -> None:
    memory = lookahead.SyncMemory()
    for tick in range(3):
        _, memory = take(memory, scenes.observe(60.0 * tick, [50.0]))
    assert memory.step_s == 60.0
    _, memory = take(memory, scenes.observe(130.0, [50.0]))
    assert memory.step_s == 55.0  # a tenth of the way from 60 to 10
    _, exact = take(dataclasses.replace(memory, step_s=15.0), scenes.observe(145.1, [50.0]))
    assert exact.step_s == 15.0  # within a hundredth


def test_a_broken_rhythm_is_learnt_anew() -> None:
    memory = lookahead.SyncMemory()
    for time_s in (0.0, 2.0, 1000.0, 1030.0):
        _, memory = take(memory, scenes.observe(time_s, [50.0]))
    assert memory.step_s == 30.0


def test_unknown_times_of_samples_count_as_fresh() -> None:
    observation = scenes.observe(50.0, [50.0, 60.0])
    reading = observation.metrics["cpu"]
    assert isinstance(reading, observations.PodSamples)
    reading.sampled_s[:] = math.nan
    observe, _ = take(lookahead.SyncMemory(), observation)
    assert observe.until_s == 30.0
    reading.sampled_s[:] = np.array([20.0, math.nan])
    assert take(lookahead.SyncMemory(), observation)[0].until_s == 60.0


def test_requests_lift_the_demand_of_saturated_pods() -> None:
    _, memory = take(lookahead.SyncMemory(), scenes.observe(0.0, [50.0] * 4, rps=100.0))
    observe, _ = take(memory, scenes.observe(15.0, [100.0] * 4, rps=400.0))
    assert observe.demand == demand.Demand(8.0, 0.6)  # 2 pods per 100 requests


def test_the_memory_can_be_stored() -> None:
    _, memory = take(
        lookahead.SyncMemory(), scenes.observe(0.0, [50.0] * 4, rps=100.0, startup_s=9.0)
    )
    kept = json.loads(json.dumps(memory.as_json(), allow_nan=False))
    assert lookahead.SyncMemory.from_json(kept) == memory
