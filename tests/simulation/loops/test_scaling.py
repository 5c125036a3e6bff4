"""Scalers that look ahead inside the world: what they see, what is done, what is written down."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kubestow.policies.scaling import demand, observations, perfect, registry
from kubestow.policies.scaling.ahead import queueing
from kubestow.simulation import timelines
from kubestow.simulation.loops import scaling
from tests.simulation import make

AHEAD = ("derivative", "line-fit", "holt-winters", "arima", "queueing", "receding", "auto")


def document(scaler: str, demand: dict[str, Any] | None = None, **scaling: Any) -> dict[str, Any]:
    result = make.workload(replicas=2, **make.service(mean=50, sloMillis=250))
    result["pod"] = make.pods(startup=60)
    if demand is not None:
        result["demand"] = demand
    rules = {"scaler": scaler, "target": {"cpu": 0.5}, "min": 1, "max": 16, **scaling}
    return make.document(result, nodes=5, policies={"scaling": rules}, duration="1h")


def ramp() -> dict[str, Any]:
    pieces = [{"start": 50, "seconds": 600}, {"start": 50, "end": 250, "seconds": 1200}]
    return {"pattern": "segments", "segments": pieces, "scale": 1}


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[observations.ScalingObservation]:
    """What scalers have seen."""
    result: list[observations.ScalingObservation] = []
    real = scaling.ScalingLoop.observe

    def see(self: scaling.ScalingLoop) -> observations.ScalingObservation:
        result.append(real(self))
        return result[-1]

    monkeypatch.setattr(scaling.ScalingLoop, "observe", see)
    return result


Looks = list[observations.ScalingObservation]


def parameters(play: make.Play) -> Any:
    """Return what the scaler of a workload was told."""
    made: Any = scaling.make_scaler(play.world, play.workload())
    return made.parameters


@pytest.mark.parametrize("name", AHEAD)
def test_constant_demand_ends_at_the_target(name: str) -> None:
    # 45 requests of 20 ms are 0.9 cores: two pods at half a core each, and a few more for safety.
    play = make.start(document(name, {"mean": 45})).until(1500)
    assert 2 <= play.workload().replicas <= 4
    before = play.world.ledger.counts["scale_actions"]
    play.until(3500)
    assert play.world.ledger.counts["scale_actions"] <= before + 1


@pytest.mark.parametrize("name", ["derivative", "line-fit", "auto"])
def test_a_ramp_is_met_earlier_than_by_the_reactive_rule(name: str) -> None:
    def short(scaler: str) -> float:
        outcome = make.run(document(scaler, ramp()))
        return float(outcome.measures["response"]["mean"])

    assert short(name) < short("hpa")


def test_scalers_see_how_long_pods_took_to_start(looks: Looks) -> None:
    play = make.start(document("hpa", ramp())).until(1799)
    first = looks[0].pods.startups_s
    assert first is not None
    assert first.tolist() == [60.0, 60.0]  # there from the beginning
    last = looks[-1].pods.startups_s
    assert last is not None
    for pod, startup_s in zip(play.workload().pods.values(), last, strict=True):
        if pod.first_ready_s is None:
            assert math.isnan(startup_s)
        elif pod.created_s >= 0.0:
            assert startup_s == pod.first_ready_s - pod.created_s >= 60.0
    assert len(last) > 2


def test_readiness_that_comes_again_does_not_count() -> None:
    failure = {"node": "n-0", "at": 300, "duration": 100}
    value = document("static", parameters={"replicas": 5})
    value["spec"]["failures"] = [failure]
    play = make.start(value).until(299)
    before = {name: pod.first_ready_s for name, pod in play.workload().pods.items()}
    play.until(900)
    for name, pod in play.workload().pods.items():
        if name in before:
            assert pod.first_ready_s == before[name]


@pytest.mark.parametrize(
    ("name", "metrics"),
    [
        ("hpa", {"cpu"}),
        ("auto", {"cpu", "rps"}),
        ("holt-winters", {"cpu", "rps", "memory"}),
    ],
)
def test_scalers_get_the_metrics_they_know_how_to_use(
    name: str, metrics: set[str], looks: Looks
) -> None:
    make.start(document(name)).until(120)
    assert {frozenset(seen.metrics) for seen in looks} == {frozenset(metrics)}


def test_requests_per_second_are_those_that_arrive(looks: Looks) -> None:
    make.start(document("auto")).until(300)
    result = [demand.rate(seen) for seen in looks[3:]]
    assert result == [pytest.approx(50.0, abs=0.01)] * len(result)


def test_perfect_is_told_the_demand_to_come() -> None:
    play = make.start(document("perfect", ramp(), sync=30))
    reported = parameters(play)
    assert isinstance(reported, perfect.PerfectParameters)
    assert (reported.step_s, reported.startup_s, reported.look_s, reported.target) == (
        5.0,
        60.0,
        30.0,
        0.5,
    )
    # 50 requests a second of 20 ms in pods of one core, rising to 250
    assert reported.loads[0] == pytest.approx(1.0)
    assert max(reported.loads) == pytest.approx(5.0, abs=0.05)
    # Its pods are there before they are needed: at no look fewer are ready than demand takes.
    outcome = make.run(document("perfect", ramp()))
    table = timelines.workloads(outcome)
    demand, ready = table["demand"].to_numpy(), table["ready"].to_numpy()
    assert (ready >= np.floor(demand * 0.02 / 0.5)).all()


def test_queueing_takes_the_objective_of_the_service() -> None:
    def slo_s(**scaling: Any) -> float:
        reported = parameters(make.start(document("queueing", **scaling)))
        assert isinstance(reported, queueing.QueueingParameters)
        return reported.slo_s

    assert slo_s() == 0.25
    assert slo_s(parameters={"sloS": 2.0}) == 2.0


def test_what_is_expected_is_written_down() -> None:
    value = document("auto", ramp())
    value["spec"]["recording"] = {"workloads": "15s"}
    table = timelines.workloads(make.run(value))
    seen = table.drop_nulls("forecast")
    assert len(seen) > 0.9 * len(table)
    assert (seen["forecast_upper"] >= seen["forecast"]).all()
    assert set(seen["gate"].to_list()) == {0.0, 1.0}
    # 60 s start-up, 5 s half a window, 15 s until the next look, and the age of the sample
    assert 80.0 <= np.median(seen["forecast_horizon_s"].to_numpy()) <= 95.0
    # Load is in pods that use all of their request: cores of one-core pods.
    late = seen.filter(seen["time_s"] > 900.0)
    cores = late["demand"].to_numpy() * 0.02
    assert np.median(late["load"].to_numpy() / cores) == pytest.approx(1.0, abs=0.15)
    assert timelines.workloads(make.run(document("hpa")))["forecast"].null_count() > 0


def test_the_host_writes_what_was_decided_and_nobody_else_writes() -> None:
    play = make.start(document("auto", ramp())).until(1799)
    decided = [one for one in play.world.ledger.decisions if one.kind == "scaling"]
    assert {record.policy for record in decided} == {"auto"}
    assert len(play.times("scaled")) == len(decided) == play.world.ledger.counts["scale_actions"]
    assert decided[-1].outcome == str(play.workload().replicas)


@pytest.mark.parametrize("name", registry.SCALERS)
def test_every_registered_scaler_can_be_made_for_a_workload(name: str) -> None:
    play = make.start(document(name))
    assert scaling.make_scaler(play.world, play.workload()).name == name
