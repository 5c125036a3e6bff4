"""``auto``: expected demand, its upper end, and what is held on to."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from kubestow.policies.scaling.hpa import specification as specs
from tests.policies.scaling import make, scenes


def play(loads: Any, replicas: int = 10, scaler: Any = None, **more: Any) -> list[Any]:
    scaler = scaler or scenes.scaler("auto", **more)
    memory, result = scaler.start(), []
    for tick, load in enumerate(loads):
        observation = scenes.spread(15.0 * tick, float(load), replicas, startup_s=45.0)
        decision, memory = scaler.decide(observation, memory)
        result.append(decision)
    return result


@pytest.mark.parametrize(
    ("load", "pool", "pods"),
    [
        (6.0, 4.0, 10),  # 6 / 0.6
        (1.0, 4.0, 3),  # 1 + 0.667 x sqrt(1 x 4) = 2.33
        (1.0, 0.0, 2),  # 1 / 0.6 = 1.67
        (4.0, 4.0, 7),  # 6.67 either way
        (0.0, 4.0, 1),  # the least
    ],
)
def test_the_first_look_staffs_the_load_it_sees(load: float, pool: float, pods: int) -> None:
    result = play([load], replicas=pods, pool=pool)[0]
    assert result.desired == pods
    assert "reactive: nothing beats persistence" in result.reason
    # The rule for few pods is named where it orders one more.
    assert result.reason.startswith("small pool: a load of 1.00 pods gets 2.33") == (pods == 3)
    assert result.record().numbers["mean"] == pytest.approx(load, rel=2e-3)  # whole millicores


def test_a_target_beyond_the_request_needs_fewer_pods_than_the_load() -> None:
    metric = dataclasses.replace(make.CPU, amount=150)
    scaler = scenes.scaler("auto", metric, calm_s=0.0)
    result, _ = scaler.decide(scenes.observe(0.0, [75.0] * 4), scaler.start())
    assert result.proposed == 2  # 3 / 1.5
    result, _ = scaler.decide(scenes.observe(0.0, [75.0]), scaler.start())
    assert result.record().candidates[0].total == 0.5  # the root of a small load is no help here


def test_the_upper_end_takes_the_room_between_target_and_request() -> None:
    # Calm at 6 pods with bursts of 4 more, one look in eight: at a target of 0.6 and half of the
    # rest in reserve, 10 / 0.8 = 12.5 pods, beyond the 10 that the mean of 6 takes.
    loads = np.full(400, 6.0)
    loads[7::8] = 10.0
    result = play(loads, replicas=13)
    late = [one for one in result[300:] if one.record().candidates[0].name == "upper"]
    assert len(late) > 80
    totals = [one.record().candidates[0].total for one in late]
    assert np.median(totals) == pytest.approx(10.0 / 0.8, abs=0.3)
    assert all(one.desired >= 12 for one in result[300:])


def test_a_ramp_is_met_before_it_is_there() -> None:
    ramp = 3.0 + 0.1 * np.arange(60)
    result = play(ramp, replicas=12)
    reactive = [int(np.ceil(round(load / 0.6, 9))) for load in ramp]
    ahead = [one.proposed - now for one, now in zip(result, reactive, strict=True)]
    assert min(ahead[20:]) >= 0
    assert np.mean(ahead[20:]) > 0.5
    assert result[-1].reason.startswith("forecast")
    assert result[-1].record().backtest["skill"] > 0.0


def test_what_was_needed_of_late_is_held_on_to_within_reason() -> None:
    # 12 pods of work, then 6: needs of 20 and 10; 10 x 1.4 + 1 = 15 stay for five minutes.
    loads = [12.0] * 20 + [6.0] * 24
    result = play(loads, replicas=20)
    assert result[20].proposed == 15
    assert "some spared" in result[20].reason
    assert result[-1].proposed == 10


def test_what_was_found_at_first_stays_for_five_minutes() -> None:
    # 3 pods of work take 3 + 0.667 x sqrt(3 x 4) = 5.3; somebody had set 20, perhaps with reason.
    result = play([3.0] * 22, replicas=20)
    assert {one.proposed for one in result[:20]} == {20}
    assert "some spared" in result[0].reason
    assert result[20].proposed == 6


def test_to_hold_on_orders_nothing_new() -> None:
    # 12 pods of work, then 6; others took the replicas to 11 meanwhile. 10 are needed, 15 would be
    # held on to: the 11 that are there stay.
    scaler = scenes.scaler("auto")
    memory = scaler.start()
    for tick in range(24):
        _, memory = scaler.decide(scenes.spread(15.0 * tick, 12.0, 20), memory)
    decision, _ = scaler.decide(scenes.spread(15.0 * 24, 6.0, 11), memory)
    assert decision.proposed == 11


def test_after_a_window_of_the_autoscaler_nothing_is_held_twice() -> None:
    rules = dataclasses.replace(specs.DEFAULT_DOWN, window_s=30)
    spec = {"behavior": specs.Behavior(down=rules)}
    result = play([12.0] * 4 + [6.0] * 4, replicas=20, spec=spec)
    # The need of now at once; then only the autoscaler's 30 s hold it back.
    assert [one.proposed for one in result[4:]] == [10, 10, 10, 10]
    assert [one.desired for one in result[4:6]] == [20, 10]


def test_needs_of_a_time_to_come_are_forgotten_when_the_clock_is_set_back() -> None:
    scaler = scenes.scaler("auto")
    _, memory = scaler.decide(scenes.spread(5000.0, 12.0, 20), scaler.start())
    decision, memory = scaler.decide(scenes.spread(100.0, 6.0, 20), memory)
    assert decision.proposed == 10
    assert [time_s for time_s, _ in memory.inner.needs] == [100.0]


def test_changes_within_the_tolerance_are_not_made() -> None:
    # 20 pods; 11.7 / 0.6 = 19.5 and 12.5 / 0.6 = 20.8 are within a tenth.
    for load in (11.7, 12.5):
        result = play([load], replicas=20, spec={"max_replicas": 30})[0]
        assert (result.proposed, result.desired) == (20 if load < 12.0 else 21, 20)
    assert play([13.5], replicas=20, spec={"max_replicas": 30})[0].desired == 23
