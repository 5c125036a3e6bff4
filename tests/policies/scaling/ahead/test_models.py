"""Scalers with a fitted model: when it is fitted, when it counts, and what happens if it fails."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import arrays
from kubestow.policies.forecasting import gate, protocols
from kubestow.policies.scaling import fitted_models, observations
from kubestow.policies.scaling.hpa import specification as specs
from tests.policies.scaling import make, scenes

MEMORY = specs.MetricSpec(specs.RESOURCE, "memory", specs.UTILIZATION, 80)


@dataclass(frozen=True)
class Fixed:
    """A model that foretells the last value and so much more per step, or one constant."""

    slope: float = 0.0
    constant: float | None = None
    name: str = "fixed"

    def fit(self, values: arrays.Floats) -> Fixed.Fitted:
        return Fixed.Fitted(self, values[:, -1])

    @dataclass(frozen=True, eq=False)
    class Fitted:
        model: Fixed
        last: arrays.Floats

        def update(self, points: arrays.Floats) -> Fixed.Fitted:
            return Fixed.Fitted(self.model, points[:, -1])

        def predict(self, steps: int, levels: Sequence[float] = ()) -> protocols.Forecast:
            ahead = np.arange(1.0, steps + 1.0) * self.model.slope
            mean = self.last[:, None] + ahead
            if self.model.constant is not None:
                mean = np.full_like(mean, self.model.constant)
            quantiles = np.repeat(mean[:, :, None], len(levels), axis=2)
            return protocols.Forecast(mean, tuple(levels), quantiles)


def scaler(model: Fixed, *metrics: specs.MetricSpec, **more: Any) -> Any:
    quick = {
        "least_points": 3,
        "gate": gate.GateParameters(evidence=2),
        "refit_points": 10**6,
        **more,
    }
    made: Any = scenes.scaler("holt-winters", *metrics, **quick)
    modeller = made._modeller if quick.get("strict") else made.proposer._modeller
    modeller.forecaster = model
    return made


def play(made: Any, observed: list[observations.ScalingObservation]) -> tuple[list[Any], Any]:
    memory, result = made.start(), []
    for observation in observed:
        decision, memory = made.decide(observation, memory)
        result.append(decision)
    return result, memory


def ramp(count: int, slope: float = 0.1, replicas: int = 10) -> list[Any]:
    return [
        scenes.spread(15.0 * k, 3.0 + slope * k, replicas, startup_s=45.0) for k in range(count)
    ]


def test_a_model_with_skill_orders_ahead() -> None:
    result, _ = play(scaler(Fixed(slope=0.1)), ramp(16))
    last = result[-1]
    # 90 s ahead are 6 steps: 3 + 1.5 + 0.6 = 5.1 pods of work, at 0.6 of a request each.
    assert (last.proposed, last.reason) == (9, "forecast: model")
    record = last.record()
    assert record.numbers["mean"] == pytest.approx(5.1)
    assert record.backtest["skill"] == pytest.approx(1.0)
    assert (record.numbers["gate"], record.candidates[0].total) == (1.0, 9.0)


def test_before_the_gate_opens_reasons_are_given_in_turn() -> None:
    result, _ = play(scaler(Fixed(slope=0.1)), ramp(12))
    reasons = [one.record().rejected.get("forecast") for one in result]
    assert reasons[0] == "the model is not fitted yet"
    assert reasons[3] == "0 of 2 forecasts judged"
    assert reasons[-1] is None


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Fixed(slope=3.0), "skill"),
        (Fixed(constant=math.nan), "the forecast is not a number"),
        (Fixed(constant=math.inf), "the forecast is not a number"),
        (Fixed(constant=50.0), "skill"),
    ],
    ids=["too steep", "not a number", "infinite", "far off"],
)
def test_a_bad_model_is_never_worse_than_reactive(model: Fixed, why: str) -> None:
    observed = ramp(40, slope=0.05)
    result, _ = play(scaler(model), observed)
    reactive, _ = play(scenes.scaler("hpa"), observed)
    assert [one.proposed for one in result] == [one.proposed for one in reactive]
    assert [one.desired for one in result] == [one.desired for one in reactive]
    assert result[-1].record().rejected["forecast"].startswith(why)


@pytest.mark.parametrize("name", ["gru", "arima-gru", "arima", "holt-winters"])
@pytest.mark.parametrize("behavior", scenes.BEHAVIORS.values(), ids=scenes.BEHAVIORS)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_with_the_gate_closed_it_decides_as_hpa_does(
    name: str, behavior: specs.Behavior | None, seed: int
) -> None:
    bounds = {"behavior": behavior, "min_replicas": 2}
    closed = scenes.scaler(name, make.CPU, MEMORY, spec=bounds, least_points=10**6)
    reactive = scenes.scaler("hpa", make.CPU, MEMORY, spec=bounds)
    observed = scenes.draw_looks(seed, 15)
    pairs = zip(observed, play(closed, observed)[0], play(reactive, observed)[0], strict=True)
    for observation, mine, theirs in pairs:
        assert mine.desired == theirs.desired
        if 2 <= observation.current_replicas <= 20:
            assert mine.proposed == theirs.proposed


def test_a_model_downwards_waits_for_the_reactive_rule() -> None:
    observed = [scenes.spread(15.0 * k, 6.0 - 0.1 * k, 10, startup_s=45.0) for k in range(20)]
    result, _ = play(scaler(Fixed(slope=-0.1)), observed)
    reactive, _ = play(scenes.scaler("hpa"), observed)
    assert [one.proposed for one in result] == [one.proposed for one in reactive]
    assert result[-1].reason.startswith("forecast: model")


def test_a_missed_read_is_filled_with_what_is_seen_next() -> None:
    observed = ramp(8)
    gap = replace(observed[5], metrics={"cpu": observations.FailedRead("gone")})
    result, memory = play(scaler(Fixed()), [*observed[:5], gap, *observed[6:]])
    assert result[5].record().rejected == {"forecast": "cpu: gone"}
    assert memory.inner.values[0] == pytest.approx([3.0, 3.1, 3.2, 3.3, 3.4, 3.6, 3.6, 3.7])


def test_a_long_gap_begins_the_series_and_its_skill_anew() -> None:
    observed = [*ramp(12), scenes.spread(5000.0, 4.0, 10)]
    result, memory = play(scaler(Fixed(slope=0.1)), observed)
    assert result[-1].record().rejected == {"forecast": "the model is not fitted yet"}
    assert (memory.inner.values.tolist(), memory.inner.gate.judged) == ([[4.0]], 0)


def test_any_metric_that_is_missing_makes_it_reactive() -> None:
    made = scaler(Fixed(), make.CPU, MEMORY)
    observation = scenes.observe(0.0, [50.0] * 4)
    assert made.decide(observation, made.start())[0].record().rejected == {
        "forecast": "memory: was not read"
    }


def test_the_largest_need_of_all_metrics_counts() -> None:
    made = scaler(Fixed(slope=0.1), make.CPU, MEMORY)
    observed = [
        scenes.observe(15.0 * k, [30.0 + k] * 10, memory=[50.0 + 2.0 * k] * 10, startup_s=45.0)
        for k in range(12)
    ]
    last = play(made, observed)[0][-1].record()
    # Processor 4.1 + 0.6 at 0.6; memory 7.2 + 0.6 at 0.8
    assert {one.name: one.total for one in last.candidates} == {"cpu": 8.0, "memory": 10.0}
    assert last.numbers["proposed"] == 10.0


# Fitting


def test_models_are_fitted_when_it_is_time_and_to_the_latest_points() -> None:
    modeller = fitted_models.Modeller(
        "holt-winters",
        fitted_models.ModelParameters(
            least_points=5, most_points=8, refit_points=4, ahead_points=2
        ),
    )
    memory: Any = scenes.scaler("holt-winters").start().inner
    used = []
    for k in range(14):
        memory = modeller.take(memory, {"cpu": float(k)}, 1)
        used.append((memory.used, memory.values.shape[1]))
    # First with 5 points, then after 4 more; kept are 8.
    assert used[3:10] == [(0, 4), (5, 5), (5, 6), (5, 7), (5, 8), (8, 8), (8, 9)]
    assert memory.values[0, -1] == 13.0


def test_a_model_is_not_asked_for_with_fewer_points_than_it_needs() -> None:
    modeller = fitted_models.Modeller(
        "arima", fitted_models.ModelParameters(least_points=2, most_points=3)
    )
    memory: Any = scenes.scaler("arima").start().inner
    for k in range(12):
        memory = modeller.take(memory, {"cpu": float(k % 3)}, 1)
        assert (memory.fitted is None) == (k + 1 < 10)


def test_other_series_are_not_put_behind_one_another() -> None:
    modeller = fitted_models.Modeller("holt-winters", scenes.QUICK)
    memory: Any = scenes.scaler("holt-winters").start().inner
    memory = modeller.take(memory, {"cpu": 1.0}, 1)
    memory = modeller.take(memory, {"memory": 9.0}, 1)
    assert (memory.names, memory.values.tolist()) == (("memory",), [[9.0]])


@pytest.mark.parametrize("name", ["arima", "holt-winters"])
def test_real_models_go_on_after_a_restart(name: str) -> None:
    rng = np.random.default_rng(1)
    observed = [
        scenes.spread(15.0 * k, 5.0 + 2.0 * math.sin(k / 4.0) + rng.normal(0.0, 0.1), 12)
        for k in range(70)
    ]
    parameters: dict[str, Any] = {"least_points": 24, "refit_points": 20, "most_points": 40}
    made = scenes.scaler(name, **parameters)
    whole, _ = play(made, observed)
    _, memory = play(made, observed[:55])
    memory = made.restore(json.loads(json.dumps(memory.as_json(), allow_nan=False)))
    for observation, before in zip(observed[55:], whole[55:], strict=True):
        decision, memory = made.decide(observation, memory)
        assert decision.record().as_json() == before.record().as_json()
    assert any(one.reason.startswith("forecast") for one in whole)


# As printed


def strict(model: Fixed, **more: Any) -> Any:
    spec = {"min_replicas": 2, "max_replicas": 8}
    return scaler(model, spec=spec, strict=True, **more)


def pods(
    time_s: float,
    replicas: int,
    cpu: float,
    memory: float | None = None,
    current: int | None = None,
) -> observations.ScalingObservation:
    """Return pods that request 600 and 400, and use so much each."""
    observation = scenes.observe(
        time_s, [cpu] * replicas, current, memory=None if memory is None else [memory] * replicas
    )
    table = replace(
        observation.pods,
        requests_milli={
            ("cpu", ""): np.full(replicas, 6000),
            ("memory", ""): np.full(replicas, 4 * 10**12),
        },
    )
    return replace(observation, pods=table)


@pytest.mark.parametrize(
    ("replicas", "cpu", "memory", "desired"),
    [(2, 900, 300, 3), (4, 1500, 0, 8), (4, 60, 40, 2), (3, 600, 400, 3)],
    ids=["up", "above", "below", "equal"],
)
def test_strict_golden_cases(replicas: int, cpu: float, memory: float, desired: int) -> None:
    made = strict(Fixed())
    decision, _ = made.decide(pods(0.0, replicas, cpu, memory), made.start())
    assert decision.desired == desired
    # Without a forecast in the first place: the model is not fitted yet.
    assert decision.record().rejected == {"forecast": "the model is not fitted yet"}


def test_strict_goes_by_the_predicted_use() -> None:
    # 600 + 2 steps of 30 s / 15 s at 150 each are 900 of 600: 3 for 2.
    made = strict(Fixed(slope=1500.0))
    result, _ = play(made, [pods(15.0 * k, 2, 600) for k in range(3)])
    assert (result[-1].proposed, result[-1].reason) == (3, "forecast: model")
    assert result[0].proposed == 2


@pytest.mark.parametrize(
    ("time_s", "cpu", "done"),
    [(179, 1200, False), (180, 1200, True), (181, 1200, True), (10, 60, True)],
    ids=["too early", "at once", "later", "other direction"],
)
def test_strict_cool_downs_count_per_direction(time_s: float, cpu: float, done: bool) -> None:
    made = strict(Fixed())
    first, memory = made.decide(pods(0.0, 2, 900), made.start())
    assert first.desired == 3
    decision, _ = made.decide(pods(float(time_s), 3, cpu), memory)
    assert decision.rescale is done
    assert decision.reason.endswith("cool-down") is not done


def test_strict_shrinks_again_after_five_minutes_only() -> None:
    made = strict(Fixed())
    _, memory = made.decide(pods(0.0, 8, 300), made.start())
    assert not made.decide(pods(299.0, 4, 300), memory)[0].rescale
    assert made.decide(pods(300.0, 4, 300), memory)[0].desired == 2


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_strict_falls_back_to_the_current_use(bad: float) -> None:
    made = strict(Fixed(constant=bad))
    result, _ = play(made, [pods(15.0 * k, 4, 900, current=4) for k in range(5)])
    assert result[-1].proposed == 6
    assert result[-1].record().rejected == {"forecast": "the forecast is not a number"}


def test_strict_waits_for_a_resource_that_is_missing() -> None:
    made = strict(Fixed(slope=1e9))
    memory = made.start()
    for k in range(5):
        _, memory = made.decide(pods(15.0 * k, 4, 600, 400), memory)
    decision, memory = made.decide(pods(75.0, 4, 600), memory)
    assert decision.record().rejected == {"forecast": "memory was not read"}
    assert decision.proposed == 4
    _, memory = made.decide(pods(90.0, 4, 600, 400), memory)
    assert memory.values.shape == (2, 7)
    decision, memory = made.decide(pods(900.0, 4, 600), memory)  # for good, it seems
    assert (memory.names, memory.values.shape) == (("cpu",), (1, 1))


def test_strict_without_any_use_holds() -> None:
    made = strict(Fixed())
    decision, _ = made.decide(make.external(0.0, 4, 1.0), made.start())
    assert (decision.proposed, decision.desired) == (None, 4)
    assert decision.error == "no use of cpu or memory is known"
    assert decision.record().rejected == {"forecast": "no use is known"}


def test_strict_rates_never_turn_a_change_round() -> None:
    # Grown by 2 within the minute and set back by hand: half of nothing would be nothing.
    up = specs.ScalingRules(0, specs.MAX, (specs.HpaScalingPolicy(specs.PERCENT_POLICY, 100, 60),))
    spec = {"min_replicas": 1, "max_replicas": 8, "behavior": specs.Behavior(up=up)}
    made = scaler(Fixed(), spec=spec, strict=True, cooldown_up_s=0.0)
    first, memory = made.decide(pods(0.0, 2, 1200), made.start())
    assert first.desired == 4
    assert made.decide(pods(15.0, 2, 1200), memory)[0].desired == 2


@pytest.mark.parametrize(("select", "desired"), [(scenes.NO_UP, 2), (scenes.NO_DOWN, 3)])
def test_strict_obeys_a_direction_that_is_disabled(select: specs.Behavior, desired: int) -> None:
    made = scaler(Fixed(), spec={"max_replicas": 8, "behavior": select}, strict=True)
    assert made.decide(pods(0.0, 2, 900), made.start())[0].desired == desired


def test_strict_bounds_may_leave_those_of_the_autoscaler() -> None:
    made = scaler(Fixed(), spec={"min_replicas": 20, "max_replicas": 40}, strict=True)
    assert made.decide(pods(0.0, 30, 1200), made.start())[0].desired == 44
    assert made.decide(pods(0.0, 30, 6), made.start())[0].desired == 18


def test_a_network_is_fitted_and_goes_on_after_a_restart() -> None:
    observed = [scenes.spread(15.0 * k, 5.0 + 2.0 * math.sin(k / 3.0), 12) for k in range(44)]
    made = scenes.scaler("gru", least_points=40, refit_points=100, ahead_points=2)
    whole, before = play(made, observed)
    assert before.inner.used == 40
    _, memory = play(made, observed[:42])
    memory = made.restore(json.loads(json.dumps(memory.as_json(), allow_nan=False)))
    for observation, expected in zip(observed[42:], whole[42:], strict=True):
        decision, memory = made.decide(observation, memory)
        assert decision.record().as_json() == expected.record().as_json()
