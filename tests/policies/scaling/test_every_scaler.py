"""What holds for every scaler of the registry, whatever it sees."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubestow.policies.scaling import decisions, observations, registry
from kubestow.policies.scaling.hpa import specification as specs
from tests.policies.scaling import make, scenes

# Names of INTERFACES and beyond.
PROMISED = {
    "static", "threshold", "hpa", "derivative", "line-fit", "arima", "gru", "arima-gru",
    "holt-winters", "queueing", "auto",
}  # fmt: skip
STRICT = {"derivative", "line-fit", "holt-winters"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in registry.SCALERS},
    **{f"{name}, strict": (name, {"strict": True}) for name in sorted(STRICT)},
}
AHEAD = (
    "derivative", "line-fit", "arima", "gru", "arima-gru", "holt-winters", "queueing", "receding",
    "auto",
)  # fmt: skip
MEMORY = specs.MetricSpec(specs.RESOURCE, "memory", specs.UTILIZATION, 80)
drawn = settings(
    max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)

Step = tuple[decisions.ScalingDecision, Any]


def play(
    scaler: registry.AnyScaler, observed: list[observations.ScalingObservation], memory: Any
) -> list[Step]:
    steps: list[Step] = []
    for observation in observed:
        decision, memory = scaler.decide(observation, memory)
        steps.append((decision, memory))
    return steps


def as_text(decision: decisions.ScalingDecision) -> str:
    """Return everything a decision says; fails on what JSON does not know, such as NaN."""
    parts = {"decision": decision.as_json(), "record": decision.record().as_json()}
    return json.dumps({**parts, "outlook": dict(decision.outlook)}, allow_nan=False)


def test_all_promised_names_are_there() -> None:
    assert set(registry.SCALERS) >= PROMISED


@pytest.mark.parametrize("behavior", scenes.BEHAVIORS.values(), ids=scenes.BEHAVIORS)
@pytest.mark.parametrize("case", CASES)
@drawn
@given(seed=st.integers(0, 2**32))
def test_decisions_stay_within_bounds_and_can_be_told(
    case: str, behavior: specs.Behavior | None, seed: int
) -> None:
    name, more = CASES[case]
    bounds = {"min_replicas": 2, "max_replicas": 9, "behavior": behavior}
    scaler = scenes.scaler(name, make.CPU, MEMORY, spec=bounds, **more)
    observed = scenes.draw_looks(seed, 12)
    for observation, (decision, _) in zip(
        observed, play(scaler, observed, scaler.start()), strict=True
    ):
        assert type(decision.desired) is int
        least, most = (2, 9)
        if observation.current_replicas == 0 or "legacy" in case or more:
            # Nothing is done at zero; forbidden windows and strict rates hold back the way in, too.
            least, most = (
                min(least, observation.current_replicas),
                max(most, observation.current_replicas),
            )
        assert least <= decision.desired <= most
        assert decision.current == observation.current_replicas
        assert decision.reason
        as_text(decision)
        if name in (*AHEAD, "hpa") and not more and 2 <= observation.current_replicas <= 9:
            if behavior is scenes.NO_UP:
                assert decision.desired <= observation.current_replicas
            if behavior is scenes.NO_DOWN:
                assert decision.desired >= observation.current_replicas


@pytest.mark.parametrize("case", CASES)
@drawn
@given(seed=st.integers(0, 2**32), cut=st.integers(0, 19))
def test_a_restart_in_the_middle_changes_nothing(case: str, seed: int, cut: int) -> None:
    name, more = CASES[case]
    scaler = scenes.scaler(name, make.CPU, MEMORY, **more)
    observed = scenes.draw_looks(seed, 20)
    steps = play(scaler, observed, scaler.start())
    memory = steps[cut - 1][1] if cut else scaler.start()
    kept = json.dumps(memory.as_json(), allow_nan=False)
    again = scenes.scaler(name, make.CPU, MEMORY, **more)
    restored = play(again, observed[cut:], again.restore(json.loads(kept)))
    for (before, _), (after, _) in zip(steps[cut:], restored, strict=True):
        assert as_text(before) == as_text(after)
    assert json.dumps(steps[-1][1].as_json()) == json.dumps(restored[-1][1].as_json())
    # Deciding again from the old memory says the same: nothing was changed in place.
    assert json.dumps(memory.as_json()) == kept


@pytest.mark.parametrize("metrics", [(make.CPU,), (make.RPS,)], ids=["resource", "external"])
@pytest.mark.parametrize("name", AHEAD)
def test_a_target_at_zero_is_left_alone(name: str, metrics: tuple[specs.MetricSpec]) -> None:
    scaler = scenes.scaler(name, *metrics)
    observation = scenes.observe(0.0, [], rps=500.0)
    decision, _ = scaler.decide(observation, scaler.start())
    assert decision.desired == 0
    assert decision.reason == "scaling is disabled since the replica count of the target is zero"


@pytest.mark.parametrize("name", ["auto", "receding", "line-fit", "holt-winters"])
def test_with_a_minimum_of_zero_a_value_from_outside_wakes_the_target(name: str) -> None:
    scaler = scenes.scaler(name, make.RPS, spec={"min_replicas": 0})
    decision, _ = scaler.decide(make.external(0.0, 0, 25.0), scaler.start())
    assert decision.desired >= 3  # 25 at 10 per pod


@pytest.mark.parametrize("name", AHEAD)
def test_rates_of_change_are_obeyed(name: str) -> None:
    # At most 2 pods more in any minute, and half of them fewer, however demand jumps.
    scaler = scenes.scaler(name, spec={"behavior": scenes.TIGHT, "max_replicas": 50})
    memory, replicas, history = scaler.start(), 4, [(0.0, 4)]
    for tick in range(1, 81):
        load = 30.0 if tick < 40 else 0.5
        observation = scenes.spread(15.0 * tick, load, replicas, startup_s=20.0)
        decision, memory = scaler.decide(observation, memory)
        replicas = decision.desired
        history.append((15.0 * tick, replicas))
    for index, (_, count) in enumerate(history):
        _, before = history[max(index - 4, 0)]  # 60 s ago
        assert before // 2 <= count <= before + 2
    assert max(n for _, n in history) > 12
    assert history[-1][1] < 6


@pytest.mark.parametrize("name", AHEAD)
def test_windows_hold_back_both_ways(name: str) -> None:
    # A rise has to last for 30 s, a fall for 60 s.
    scaler = scenes.scaler(name, spec={"behavior": scenes.TIGHT})
    memory = scaler.start()
    desired = []
    for tick, percent in enumerate([60.0] * 4 + [95.0] * 3 + [5.0] * 6):
        observation = scenes.observe(15.0 * tick, [percent] * 10, startup_s=20.0)
        decision, memory = scaler.decide(observation, memory)
        desired.append(decision.desired)
    assert desired[:5] == [10] * 5  # 15 s after the rise the steady proposals still count
    assert desired[7:10] == [10] * 3  # 45 s after the fall those of the rise do


@pytest.mark.parametrize("name", AHEAD)
@pytest.mark.parametrize(
    "reading", [observations.FailedRead("gone"), None], ids=["failed", "not read"]
)
def test_without_any_metric_nothing_changes_and_the_record_says_why(
    name: str, reading: observations.Reading | None
) -> None:
    scaler = scenes.scaler(name)
    memory = scaler.start()
    for tick in range(10):
        _, memory = scaler.decide(scenes.observe(15.0 * tick, [70.0] * 4, startup_s=30.0), memory)
    good = scenes.observe(150.0, [99.0] * 4, startup_s=30.0)
    metrics = {} if reading is None else {"cpu": reading}
    observation = observations.ScalingObservation(150.0, 4, 4, metrics, good.pods)
    decision, _ = scaler.decide(observation, memory)
    assert (decision.proposed, decision.desired) == (None, 4)
    assert decision.error
    why = "cpu: was not read" if reading is None else "cpu: gone"
    assert decision.record().rejected == {"forecast": why}


@pytest.mark.parametrize("name", AHEAD)
def test_of_several_metrics_the_largest_counts_and_a_failed_one_holds(name: str) -> None:
    scaler = scenes.scaler(name, make.CPU, MEMORY)
    # Memory at 160 % of a target of 80 % wants 8 pods, the processor 1.
    full = scenes.observe(0.0, [5.0] * 4, memory=[160.0] * 4)
    assert scaler.decide(full, scaler.start())[0].desired == 8
    # Without memory the processor alone must not take pods away, at any time.
    memory = scaler.start()
    for tick in range(40):
        blind = scenes.observe(15.0 * tick, [5.0] * 4)
        decision, memory = scaler.decide(blind, memory)
        assert decision.desired == 4
        assert decision.record().rejected
