"""Threshold rules with hold times and inhibit windows (McNaughton 2016, 5.1)."""

from __future__ import annotations

import json

import pytest

from kubestow.policies.scaling import threshold
from tests.policies.scaling import make


def decide(
    scaler: threshold.Threshold, levels: list[tuple[float, float, int]]
) -> list[tuple[int, str]]:
    memory, result = scaler.start(), []
    for time_s, percent, count in levels:
        decision, memory = scaler.decide(make.busy(time_s, [percent] * count), memory)
        result.append((decision.desired, decision.reason))
    return result


def test_a_step_is_added_after_the_hold_time_and_then_inhibited() -> None:
    scaler = threshold.Threshold(make.spec(make.CPU))
    result = decide(
        scaler,
        [
            (0.0, 85.0, 2),
            (59.0, 85.0, 2),
            (60.0, 85.0, 2),  # above for 60 s: one more
            (75.0, 90.0, 3),
            (200.0, 90.0, 3),  # above since 75, but changed at 60: inhibited until 240
            (240.0, 90.0, 3),
        ],
    )
    assert [desired for desired, _ in result] == [2, 2, 3, 3, 3, 4]
    assert result[4][1] == "above the upper threshold, inhibited"


def test_a_step_is_removed_below_the_lower_threshold() -> None:
    scaler = threshold.Threshold(make.spec(make.CPU, min_replicas=2))
    result = decide(scaler, [(0.0, 10.0, 3), (60.0, 10.0, 3), (75.0, 10.0, 2), (400.0, 10.0, 2)])
    # The minimum holds the last one.
    assert [desired for desired, _ in result] == [3, 2, 2, 2]


def test_between_the_thresholds_a_spell_ends() -> None:
    scaler = threshold.Threshold(make.spec(make.CPU))
    result = decide(scaler, [(0.0, 85.0, 2), (30.0, 50.0, 2), (61.0, 85.0, 2)])
    assert result[1:] == [(2, "between thresholds"), (2, "not long enough beyond a threshold")]


def test_the_step_can_grow_with_the_excess() -> None:
    parameters = threshold.ThresholdParameters(hold_up_s=0.0, excess_step=10.0, step_up=2)
    scaler = threshold.Threshold(make.spec(make.CPU), parameters)
    # 105 is 25 above 80: 1 + 2 steps of 2
    assert decide(scaler, [(0.0, 105.0, 3)])[0][0] == 9


@pytest.mark.parametrize("value", [None, 500.0], ids=["failed read", "external value"])
def test_other_metrics_can_be_watched(value: float | None) -> None:
    parameters = threshold.ThresholdParameters(metric="rps", upper=400.0, hold_up_s=0.0)
    scaler = threshold.Threshold(make.spec(make.CPU), parameters)
    decision, memory = scaler.decide(make.external(0.0, 2, value), scaler.start())
    assert decision.desired == (2 if value is None else 3)
    assert decision.error == ("no value of rps" if value is None else "")
    assert scaler.restore(json.loads(json.dumps(memory.as_json()))) == memory
    assert decision.record().policy == "threshold"
