"""How much work there is, in pods."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from kubestow.policies.scaling import demand, observations
from kubestow.policies.scaling.hpa import specification as specs
from tests.policies.scaling import make, scenes


def test_use_over_requests_does_not_depend_on_the_number_of_pods() -> None:
    two = demand.read(scenes.observe(0.0, [90.0, 60.0]), make.CPU)
    five = demand.read(scenes.observe(0.0, [30.0] * 5), make.CPU)
    assert two == five == demand.Demand(1.5, 0.6)


def test_a_ready_pod_without_a_sample_uses_what_the_others_do() -> None:
    # 0.9 + 0.6 of two pods that were sampled, times 3 / 2
    result = demand.read(scenes.observe(0.0, [90.0, None, 60.0]), make.CPU)
    assert result == demand.Demand(2.25, 0.6)


def test_pods_that_do_not_serve_do_not_count() -> None:
    observation = scenes.observe(0.0, [50.0, 80.0, 90.0])
    pods = dataclasses.replace(
        observation.pods,
        readies=np.array([1, 0, 1], dtype=np.int8),
        deleted=np.array([False, False, True]),
    )
    assert demand.read(dataclasses.replace(observation, pods=pods), make.CPU) == demand.Demand(
        0.5, 0.6
    )


def ready_since(*since_s: float, percents: list[float | None]) -> demand.Demand | str:
    """Return the demand at 100 s, sampled over the 60 s before, of pods ready since some time."""
    observation = scenes.observe(100.0, percents)
    pods = dataclasses.replace(observation.pods, ready_since_s=np.array(since_s))
    return demand.read(dataclasses.replace(observation, pods=pods), make.CPU)


def test_start_up_work_is_not_demand() -> None:
    # The second pod became ready 20 s ago and has used 95 %, most of it to start. The first did all
    # of the work for 40 s and half of it for 20 s: 50 of 60 parts, so 0.5 / (5 / 6).
    result = ready_since(0.0, 80.0, percents=[50.0, 95.0])
    assert isinstance(result, demand.Demand)
    assert result.load == pytest.approx(0.6)
    assert not result.settled
    # Where no other pod is ready, samples are all there is.
    assert ready_since(90.0, 80.0, percents=[50.0, 95.0]) == demand.Demand(1.45, 0.6, False)


@pytest.mark.parametrize("age_s", [1.0, 15.0, 30.0, 59.0, 61.0])
@pytest.mark.parametrize("sampled", [True, False])
def test_demand_stays_what_it_is_when_new_pods_take_their_part(age_s: float, sampled: bool) -> None:
    # Two pods share 1.2 pods of work, two more join: 60 % each before, 30 % after.
    seconds = min(age_s, 60.0)
    old = (60.0 * (60.0 - seconds) + 30.0 * seconds) / 60.0
    new = 30.0 * seconds / 60.0 if sampled else None
    if age_s > 60.0 and not sampled:
        new = 30.0
    result = ready_since(0.0, 0.0, 100.0 - age_s, 100.0 - age_s, percents=[old, old, new, new])
    assert isinstance(result, demand.Demand)
    assert result.load == pytest.approx(1.2, rel=2e-3)
    assert result.settled is (age_s > 60.0)


def test_of_unknown_times_nobody_is_new() -> None:
    result = ready_since(math.nan, math.nan, percents=[50.0, 70.0])
    assert result == demand.Demand(1.2, 0.6)


@pytest.mark.parametrize(
    ("metric", "load"),
    [
        (specs.MetricSpec(specs.EXTERNAL, "rps", specs.AVERAGE_VALUE, 10_000), 4.5),  # 45 / 10
        (specs.MetricSpec(specs.EXTERNAL, "rps", specs.VALUE, 30_000), 4.5),  # 45 / 30 x 3 pods
    ],
    ids=["per pod", "whole"],
)
def test_values_from_outside_are_measured_in_their_target(
    metric: specs.MetricSpec, load: float
) -> None:
    assert demand.read(make.external(0.0, 3, 45.0), metric) == demand.Demand(load, 1.0)


@pytest.mark.parametrize(
    ("observation", "metric", "why"),
    [
        (make.external(0.0, 3, None), make.RPS, "rps: the read failed"),
        (scenes.observe(0.0, []), make.CPU, "cpu: no sample of a ready pod"),
        (scenes.observe(0.0, [None]), make.CPU, "cpu: no sample of a ready pod"),
        (make.external(0.0, 3, 1.0), make.CPU, "cpu: was not read"),
        (
            make.external(0.0, 3, 1.0),
            dataclasses.replace(make.RPS, amount=0),
            "rps: has no target",
        ),
        (scenes.observe(0.0, [1.0]), dataclasses.replace(make.CPU, amount=0), "cpu: has no target"),
        (
            scenes.observe(0.0, [1.0]),
            specs.MetricSpec(specs.CONTAINER_RESOURCE, "cpu", specs.UTILIZATION, 60, "app"),
            "app/cpu: was not read",
        ),
    ],
    ids=["failed", "no pods", "no samples", "not read", "no target", "no share", "container"],
)
def test_what_cannot_be_told_is_explained(
    observation: observations.ScalingObservation, metric: specs.MetricSpec, why: str
) -> None:
    assert demand.read(observation, metric) == why


def test_a_pod_without_a_request_has_no_share() -> None:
    observation = scenes.observe(0.0, [50.0, 50.0])
    lacking = {("cpu", ""): np.array([1000, observations.NO_REQUEST])}
    pods = dataclasses.replace(observation.pods, requests_milli=lacking)
    result = demand.read(dataclasses.replace(observation, pods=pods), make.CPU)
    assert result == "cpu: a pod has no request"


def test_the_cost_of_a_request_is_learnt_while_pods_have_room() -> None:
    first = demand.RequestCost().learn(100.0, demand.Demand(2.0, 0.6), ready=4)
    assert first == demand.RequestCost(0.02)
    second = first.learn(100.0, demand.Demand(3.0, 0.6), ready=4)
    assert second.load == pytest.approx(0.02 + 0.1 * 0.01)  # a tenth of the way to 0.03
    # 3.7 of 4 pods are saturated, and without requests or work there is nothing to learn.
    for rate, load, ready in ((100.0, 3.7, 4), (0.0, 1.0, 4), (None, 1.0, 4), (9.0, 0.0, 4)):
        assert second.learn(rate, demand.Demand(load, 0.6), ready) is second
    assert second.learn(9.0, demand.Demand(1.0, 0.6), ready=0) is second
    assert second.learn(9.0, demand.Demand(1.0, 0.6, settled=False), ready=4) is second


def test_requests_tell_of_demand_that_saturated_pods_hide() -> None:
    cost = demand.RequestCost(0.02)
    assert demand.lifted(demand.Demand(2.0, 0.6), 300.0, cost) == demand.Demand(6.0, 0.6)
    assert demand.lifted(demand.Demand(2.0, 0.6), 50.0, cost) == demand.Demand(2.0, 0.6)
    assert demand.lifted(demand.Demand(2.0, 0.6), None, cost) == demand.Demand(2.0, 0.6)


def test_missing_samples_of_the_rate_are_filled_in() -> None:
    observation = scenes.observe(0.0, [50.0] * 4)
    rates = scenes.samples([10_000.0, None, 20_000.0, None], 0.0, 60.0)
    observation = dataclasses.replace(observation, metrics={**observation.metrics, "rps": rates})
    assert demand.rate(observation) == 60.0  # 30 of two pods, and two more like them
    assert demand.rate(make.external(0.0, 2, 12.5)) == 12.5
    assert demand.rate(make.external(0.0, 2, None)) is None
