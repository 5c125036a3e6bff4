"""Lines of OBSERVATIONS.jsonl as observations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kubestow.model import errors
from kubestow.model.decoding import fields
from kubestow.policies.scaling import observation_lines, observations, registry
from kubestow.policies.scaling.hpa import versions
from tests.policies.scaling import make

FEATURES = versions.hpa_features()


def read(line: dict[str, Any]) -> observations.ScalingObservation:
    given = {"t": 2.042, "currentReplicas": 3, **line}
    return observation_lines.read(fields.Field(given, "seen.jsonl: line 1"), FEATURES)


def test_values_become_thousandths_rounded_up() -> None:
    observation = read(
        {"metrics": {"rps": 59.6101, "queue": "2k", "many": [1, 0.5], "bad": "error"}}
    )
    assert observation.metrics == {
        "rps": observations.SingleValue((59_611,)),
        "queue": observations.SingleValue((2_000_000,)),
        "many": observations.SingleValue((1000, 500)),
        "bad": observations.FailedRead(),
    }


def test_without_pods_there_are_as_many_ready_ones_as_the_scale_has() -> None:
    assert read({}).pods.count_ready() == 3
    observation = read({"statusReplicas": 5, "metrics": {"rps": None, "none": {}, "empty": []}})
    assert (observation.status_replicas, observation.pods.count_ready(), observation.metrics) == (
        5,
        5,
        {},
    )


def test_pods_are_those_named_anywhere() -> None:
    observation = read({"metrics": {"m": {"b": 1.5, "a": None}}, "pods": {"c": {"ready": False}}})
    assert list(observation.pods.names) == ["a", "b", "c"]
    samples = observation.metrics["m"]
    assert isinstance(samples, observations.PodSamples)
    assert samples.present.tolist() == [False, True, False]
    assert samples.values_milli.tolist() == [0, 1500, 0]
    assert samples.sampled_s.tolist() == [2.042] * 3
    assert observation.pods.count_ready() == 2


def test_facts_of_a_pod_are_read() -> None:
    facts = {
        "ready": None, "phase": "Pending", "started": None, "deleted": True, "sampled": -1,
        "window": 15, "containers": {"app": {"cpu": "250m"}, "side": {"cpu": "50m"}},
    }  # fmt: skip
    observation = read({"pods": {"p": facts, "q": {"started": -30.0, "requests": {"cpu": 1}}}})
    table = observation.pods
    assert table.phases.tolist() == [observations.PENDING, observations.RUNNING]
    assert table.readies.tolist() == [observations.NO_CONDITION, observations.READY]
    assert table.deleted.tolist() == [True, False]
    assert math.isnan(table.started_s[0])
    assert table.ready_since_s.tolist() == [observation_lines.LONG_AGO_S, -30.0]
    assert table.requests_milli["cpu", ""].tolist() == [300, 1000]
    assert table.requests_milli["cpu", "app"].tolist() == [250, observations.NO_CONTAINER]


def test_pod_level_requests_replace_those_of_containers() -> None:
    observation = read(
        {"pods": {"p": {"requests": {"cpu": "100m"}, "podRequests": {"cpu": "800m"}}}}
    )
    assert observation.pods.requests_milli["cpu", ""].tolist() == [800]


def test_start_up_times_are_known_where_one_is_told() -> None:
    observation = read({"pods": {"p": {"startup": 42.5}, "q": {}, "r": {"startup": None}}})
    startups_s = observation.pods.startups_s
    assert startups_s is not None
    assert startups_s[0] == 42.5
    assert np.isnan(startups_s[1:]).all()
    assert read({"pods": {"p": {}}}).pods.startups_s is None
    assert read({}).pods.startups_s is None


def test_the_rate_of_requests_comes_through_beside_other_metrics() -> None:
    # 30 requests a second cost 2 x 0.45 of a pod; 90 would cost 2.7, whatever saturated pods use.
    pods = {name: {"requests": {"cpu": 1}, "startup": 30} for name in ("p", "q")}
    calm = read({"t": 0, "metrics": {"cpu": {"p": 0.45, "q": 0.45}, "rps": 30}, "pods": pods})
    full = read({"t": 15, "metrics": {"cpu": {"p": 1, "q": 1}, "rps": 90}, "pods": pods})
    scaler = registry.SCALERS.get("auto").make(
        make.spec(make.CPU), registry.SCALERS.get("auto").parameters()
    )
    _, memory = scaler.decide(calm, scaler.start())
    decision, _ = scaler.decide(full, memory)
    assert decision.outlook["load"] == pytest.approx(2.7)
    assert decision.outlook["startup_s"] == 30.0


BAD: list[tuple[dict[str, Any], str]] = [
    ({"currentReplicas": -1}, "currentReplicas: -1: must be >= 0"),
    ({"currentReplicas": 2.5}, "currentReplicas: 2.5: expected a whole number"),
    ({"currentReplica": 3}, "currentReplica: 3: unknown key; expected one of t, currentReplicas"),
    ({"metrics": {"rps": "fail"}}, "metrics.rps: 'fail': not a quantity"),
    ({"metrics": {"rps": True}}, "metrics.rps: True: expected a number"),
    ({"metrics": {"m": {"p": [1]}}}, "metrics.m.p: [1]: expected a number"),
    ({"metrics": 3}, "metrics: 3: expected a mapping"),
    ({"pods": {"p": {"phase": "Gone"}}}, "pods.p.phase: 'Gone': expected one of"),
    ({"pods": {"p": {"started": "x"}}}, "pods.p.started: 'x': expected a time in seconds"),
    ({"pods": {"p": {"redy": True}}}, "pods.p.redy: True: unknown key"),
    ({"pods": {"p": {"startup": -1}}}, "pods.p.startup: -1: must be >= 0"),
    ({"pods": {"p": {"startup": "1m"}}}, "pods.p.startup: '1m': expected a time in seconds"),
    ({"pods": {"p": {"requests": {"cpu": "-1"}}}}, "must not be negative"),
]


@pytest.mark.parametrize(("line", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_values_are_refused_with_line_and_path(line: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        read(line)
    assert str(caught.value).startswith("seen.jsonl: line 1: ")
    assert message in str(caught.value)
