"""The autoscaler of 2016: the worked examples of McNaughton 2016, 3.9."""

from __future__ import annotations

import json

import pytest

from kubestow.policies.scaling.hpa import specification as specs
from kubestow.policies.scaling.theses import legacy_hpa
from tests.policies.scaling import make


def scaler(target: int = 60) -> legacy_hpa.LegacyHpa:
    metric = specs.MetricSpec("Resource", "cpu", "Utilization", target)
    return legacy_hpa.LegacyHpa(make.spec(metric))


@pytest.mark.parametrize(
    ("percents", "target", "desired"),
    [
        ([90.0, 80.0, 70.0], 60, 4),  # V1: 240 / 60
        ([64.0, 66.0, 62.0], 60, 3),  # V2: ratio 1.067, within 10 %
        ([100.0], 50, 2),  # V3
        ([30.0, 30.0, 30.0], 90, 1),  # 90 / 90, though 100/3 percents are no whole floats
    ],
    ids=["V1", "V2", "V3", "down"],
)
def test_replicas_are_the_sum_over_the_target(
    percents: list[float], target: int, desired: int
) -> None:
    legacy = scaler(target)
    decision, _ = legacy.decide(make.busy(0.0, percents), legacy.start())
    assert decision.desired == desired


@pytest.mark.parametrize(
    ("time_s", "percents", "allowed"),
    [
        (179.0, [100.0, 100.0], False),
        (180.0, [100.0, 100.0], False),
        (181.0, [100.0, 100.0], True),
        (299.0, [10.0, 10.0], False),
        (300.0, [10.0, 10.0], False),
        (301.0, [10.0, 10.0], True),
    ],
    ids=["up too early", "up at the end", "up", "down too early", "down at the end", "down"],
)
def test_after_a_rescale_windows_are_forbidden(
    time_s: float, percents: list[float], allowed: bool
) -> None:
    # V9: a rescale at 0; growth is forbidden for 180 s, shrinking for 300 s.
    legacy = scaler()
    first, memory = legacy.decide(make.busy(0.0, [120.0]), legacy.start())
    assert first.rescale
    decision, _ = legacy.decide(make.busy(time_s, percents), memory)
    assert decision.rescale is allowed
    if not allowed:
        assert decision.reason == "forbidden window"


def test_bounds_come_before_metrics_and_unknown_metrics_change_nothing() -> None:
    legacy = legacy_hpa.LegacyHpa(make.spec(make.CPU, min_replicas=2, max_replicas=3))
    assert legacy.decide(make.external(0.0, 5, 1.0), legacy.start())[0].desired == 3
    assert legacy.decide(make.external(0.0, 1, 1.0), legacy.start())[0].desired == 2
    unknown, _ = legacy.decide(make.external(0.0, 2, 1.0), legacy.start())
    assert (unknown.proposed, unknown.desired, unknown.error) == (None, 2, "no value of cpu")


def test_the_record_and_the_memory_can_be_stored() -> None:
    legacy = scaler()
    decision, memory = legacy.decide(make.busy(3.0, [120.0]), legacy.start())
    assert decision.record().numbers == {"current": 1.0, "target": 60.0, "level": 120.0}
    assert legacy.restore(json.loads(json.dumps(memory.as_json()))) == memory
