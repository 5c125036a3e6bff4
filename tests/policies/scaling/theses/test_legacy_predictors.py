"""The predictors of McNaughton 2016 as printed: the worked examples of 3.9 and their edges."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.policies.forecasting import baselines
from kubestow.policies.scaling import observations
from kubestow.policies.scaling.hpa import specification as specs
from kubestow.policies.scaling.theses import legacy_hpa, legacy_predictors
from tests.policies.scaling import make, scenes

LATE_S = 17 * 3600.0


def strict(name: str, target: int = 60, most: int = 30, **more: Any) -> Any:
    metric = dataclasses.replace(make.CPU, amount=target)
    return scenes.scaler(name, metric, spec={"max_replicas": most}, strict=True, **more)


def play(scaler: Any, observed: list[observations.ScalingObservation]) -> list[Any]:
    memory, result = scaler.start(), []
    for observation in observed:
        decision, memory = scaler.decide(observation, memory)
        result.append(decision)
    return result


def test_v4_a_rise_orders_what_the_reactive_rule_does_not() -> None:
    # 50 + 135 x 0.2 = 77 each, 154 / 60 = 2.57, so 3; now 100 / 60 = 1.67, so 2.
    observed = [scenes.observe(t, [p] * 2, startup_s=135.0) for t, p in ((0.0, 44.0), (30.0, 50.0))]
    result = play(strict("derivative"), observed)[-1]
    assert result.desired == 3
    assert result.record().numbers == {"current": 2.0, "target": 60.0, "level": 77.0, "now": 50.0}
    assert play(strict("derivative", enabled=False), observed)[-1].desired == 2


@pytest.mark.parametrize("name", ["derivative", "line-fit"])
def test_v5_pods_are_ordered_one_start_up_early(name: str) -> None:
    # Ten pods at 60 % at 17:50 with 0.1 % per second: 120 % in 600 s, so twenty pods.
    observed = [
        scenes.observe(LATE_S + 3000.0 - 30.0 * back, [60.0 - 3.0 * back] * 10, startup_s=600.0)
        for back in (2, 1, 0)
    ]
    assert play(strict(name), observed)[-1].proposed == 20
    reactive = legacy_hpa.LegacyHpa(make.spec(make.CPU, max_replicas=30))
    assert play(reactive, observed)[-1].proposed == 10
    # The reactive one orders when 120 % are there, at 18:00, so that pods are ready at 18:10.
    late = scenes.observe(LATE_S + 3600.0, [120.0] * 10, startup_s=600.0)
    assert play(reactive, [late])[-1].desired == 20


def test_v6_an_instance_needed_at_four_is_started_ten_minutes_before() -> None:
    # One pod at target 60 rising by 0.1 % a second needs a second one when it is beyond 66 %.
    four_s, slope = 16 * 3600.0, 0.1
    orders = []
    for enabled in (True, False):
        scaler, memory = strict("derivative", enabled=enabled), None
        for tick in range(-60, 30):
            time_s = four_s + 30.0 * tick
            level = 66.5 + slope * (time_s - four_s)  # beyond the tolerance at four
            observation = scenes.observe(time_s, [max(level, 0.0)], startup_s=600.0)
            decision, memory = scaler.decide(observation, memory or scaler.start())
            if decision.desired == 2:
                orders.append(time_s - four_s)
                break
    assert orders == [-600.0, 0.0]


def test_the_level_of_the_line_is_not_the_last_value() -> None:
    # Through (0, 40), (30, 40), (60, 70): slope 0.5, mean 50 at 30, so 65 at 60 and 115 at 160.
    samples = ((0.0, 40.0), (30.0, 40.0), (60.0, 70.0))
    assert legacy_predictors.line_of_best_fit(samples, 100.0) == pytest.approx(115.0)


@pytest.mark.parametrize(
    ("startup_s", "cap_s", "count"),
    [(135.0, 180.0, 6), (135.0, 600.0, 20), (5.0, 600.0, 4), (5.0, 60.0, 2)],
    ids=["3 min", "10 min", "20 starts", "shorter"],
)
def test_the_line_goes_through_the_samples_of_its_window(
    startup_s: float, cap_s: float, count: int
) -> None:
    # min(20 x start-up, cap), samples every 30 s, the oldest edge left out
    samples = tuple((30.0 * tick, float(tick**2)) for tick in range(60))
    recent = samples[-count:]
    slope, intercept = baselines.fit_line(
        np.array([t for t, _ in recent]), np.array([v for _, v in recent])
    )
    expected = intercept + slope * (samples[-1][0] + startup_s)
    result = legacy_predictors.line_of_best_fit(samples, startup_s, cap_s)
    assert result == pytest.approx(expected)


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ((), None),
        (((0.0, 50.0),), None),
        (((7.0, 50.0), (7.0, 90.0)), None),  # one time: the variance is 0
        (((0.0, 80.0), (30.0, 60.0), (60.0, 50.0)), 50.0),  # falling: the current value
        (((0.0, 50.0), (30.0, 50.0)), 50.0),
        (((0.0, 50.0), (7.0, 57.0), (60.0, 110.0)), 160.0),  # uneven times on one line
    ],
    ids=["nothing", "one", "no variance", "falling", "level", "irregular"],
)
def test_edges_of_the_line(
    samples: tuple[tuple[float, float], ...], expected: float | None
) -> None:
    result = legacy_predictors.line_of_best_fit(samples, 50.0)
    assert result == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("samples", "count", "expected"),
    [
        (((0.0, 50.0),), 2, None),
        (((5.0, 50.0), (5.0, 60.0)), 2, None),
        (((0.0, 40.0), (7.0, 43.5), (60.0, 70.0)), 2, 120.0),  # irregular, 0.5 % per second
        (((0.0, 40.0), (30.0, 70.0), (60.0, 70.0)), 3, 120.0),  # over three samples
        (((0.0, 90.0), (30.0, 60.0)), 2, 0.0),  # 60 - 100 is below nothing
        (((0.0, 90.0), (30.0, 84.0)), 2, 64.0),  # downwards, too
    ],
    ids=["one", "twice", "irregular", "queue", "floor", "down"],
)
def test_edges_of_the_derivative(
    samples: tuple[tuple[float, float], ...], count: int, expected: float | None
) -> None:
    result = legacy_predictors.derivative(samples, 100.0, count)
    assert result == (None if expected is None else pytest.approx(expected))


def test_samples_are_kept_once_per_time_and_not_for_ever() -> None:
    scaler = strict("derivative")
    memory = scaler.start()
    for time_s, percent in ((0.0, 50.0), (30.0, 55.0), (30.0, 99.0), (1210.0, 60.0)):
        _, memory = scaler.decide(scenes.observe(time_s, [percent]), memory)
    assert memory.samples == ((30.0, 55.0), (1210.0, 60.0))


def test_after_the_clock_was_set_back_the_past_begins_anew() -> None:
    scaler = strict("derivative")
    memory = scaler.start()
    for time_s, percent in ((1000.0, 50.0), (1030.0, 80.0), (30.0, 40.0)):
        decision, memory = scaler.decide(scenes.observe(time_s, [percent], startup_s=60.0), memory)
    assert memory.samples == ((30.0, 40.0),)
    assert decision.record().numbers["level"] == 40.0


def test_a_longer_cap_keeps_longer() -> None:
    scaler = strict("line-fit", cap_s=3600.0)
    memory = scaler.start()
    for tick in range(100):
        _, memory = scaler.decide(scenes.observe(30.0 * tick, [50.0]), memory)
    assert len(memory.samples) == 100


@pytest.mark.parametrize(
    ("observed", "why"),
    [
        ([scenes.observe(0.0, [80.0]), scenes.observe(30.0, [90.0])], "no start-up time is known"),
        ([scenes.observe(0.0, [90.0], startup_s=60.0)], "no history"),
    ],
    ids=["no start", "no past"],
)
@pytest.mark.parametrize("name", ["derivative", "line-fit"])
def test_what_lacks_means_the_reactive_value(
    name: str, observed: list[observations.ScalingObservation], why: str
) -> None:
    result, reactive = (
        play(strict(name), observed)[-1],
        play(strict(name, enabled=False), observed)[-1],
    )
    assert result.proposed == reactive.proposed == 2
    assert result.desired == reactive.desired
    assert result.reason == f"{reactive.reason}; reactive: {why}"
    assert result.record().rejected == {"forecast": why}


def test_outliers_among_start_ups_can_be_left_out() -> None:
    def observe(time_s: float, percent: float) -> observations.ScalingObservation:
        observation = scenes.observe(time_s, [percent] * 10)
        pods = scenes.with_startups(observation.pods, [30.0] * 9 + [930.0])
        return dataclasses.replace(observation, pods=pods)

    observed = [observe(0.0, 50.0), observe(30.0, 56.0)]
    # Mean 120 s: 56 + 24 = 80 % of ten pods at 60 is 14; without the outlier 56 + 6 = 62 stays.
    assert play(strict("derivative"), observed)[-1].proposed == 14
    assert play(strict("derivative", outlier_sigmas=2.0), observed)[-1].proposed == 10


@pytest.mark.parametrize("name", ["derivative", "line-fit"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_switched_off_it_is_the_legacy_autoscaler_to_the_bit(name: str, seed: int) -> None:
    observed = scenes.draw_looks(seed, 25)
    off, legacy = (
        strict(name, enabled=False),
        legacy_hpa.LegacyHpa(make.spec(make.CPU, max_replicas=30)),
    )
    for result, expected in zip(play(off, observed), play(legacy, observed), strict=True):
        assert result.as_json() == expected.as_json()


def test_it_can_be_switched_on_and_off_at_any_time() -> None:
    # Samples are taken while it is off, so that it predicts at once when it is on.
    on, off = strict("derivative"), strict("derivative", enabled=False)
    observed = [scenes.observe(30.0 * k, [44.0 + 6.0 * k] * 2, startup_s=135.0) for k in range(2)]
    _, memory = off.decide(observed[0], off.start())
    kept = json.loads(json.dumps(memory.as_json()))
    assert on.decide(observed[1], on.restore(kept))[0].desired == 3
    assert off.decide(observed[1], off.restore(kept))[0].desired == 2


@pytest.mark.parametrize("metric", [specs.RESOURCE, specs.EXTERNAL])
def test_other_metrics_take_the_same_way(metric: str) -> None:
    # 60 requests a second per pod are the target of either kind.
    target = (
        dataclasses.replace(make.RPS, amount=60_000)
        if metric == specs.EXTERNAL
        else dataclasses.replace(make.CPU, name="memory")
    )
    scaler = scenes.scaler("derivative", target, strict=True)
    memory = scaler.start()
    for time_s, level in ((0.0, 60.0), (60.0, 66.0)):
        observation = scenes.observe(
            time_s, [1.0] * 2, rps=level, memory=[level] * 2, startup_s=120.0
        )
        decision, memory = scaler.decide(observation, memory)
    assert decision.desired == 3  # 66 + 120 x 0.1 = 78; 2 x 78 / 60 = 2.6
