"""``derivative`` and ``line-fit`` on total demand."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.policies.scaling import decisions
from kubestow.policies.scaling.ahead import trends
from tests.policies.scaling import scenes


def play(name: str, loads: list[float], replicas: int = 10, **more: Any) -> Any:
    scaler = scenes.scaler(name, **more)
    memory, decision = scaler.start(), None
    for tick, load in enumerate(loads):
        observation = scenes.spread(15.0 * tick, load, replicas, startup_s=45.0)
        decision, memory = scaler.decide(observation, memory)
    return decision


@pytest.mark.parametrize("name", ["derivative", "line-fit"])
def test_demand_is_followed_to_the_horizon(name: str) -> None:
    # 0.04 pods a second; 45 s start-up, 30 s half a window, 15 s to the next look: 3 + 1.8 + 3.6
    result = play(name, [3.0, 3.6, 4.2, 4.8])
    assert result.record().numbers["horizon_s"] == 90.0
    assert result.record().numbers["mean"] == pytest.approx(4.8 + 0.04 * 90.0)
    assert result.proposed == 14  # 8.4 / 0.6
    assert result.reason == "forecast: trend"


@pytest.mark.parametrize("name", ["derivative", "line-fit"])
@pytest.mark.parametrize(
    ("loads", "why"),
    [
        ([5.0], "no history"),
        ([5.0, 4.9, 4.8], "demand does not rise"),
        ([5.0] * 4, "demand does not rise"),
    ],
    ids=["first", "falling", "level"],
)
def test_otherwise_it_is_reactive(name: str, loads: list[float], why: str) -> None:
    result = play(name, loads)
    reactive = play("hpa", loads)
    assert (result.proposed, result.desired) == (reactive.proposed, reactive.desired)
    assert result.record().rejected == {"forecast": why}


def test_the_larger_of_prediction_and_reaction_counts() -> None:
    # A rise of a thousandth of a pod: the reactive rule wants 16 for 9.5 / 0.6.
    assert play("derivative", [9.499, 9.5]).proposed == 16


def test_more_pods_for_the_same_demand_are_no_fall() -> None:
    scaler = scenes.scaler("derivative")
    memory: Any = scaler.start()
    decision: decisions.ScalingDecision
    for time_s, load, replicas in ((0.0, 4.0, 6), (15.0, 4.5, 12)):
        decision, memory = scaler.decide(scenes.spread(time_s, load, replicas), memory)
    assert decision.reason.startswith("forecast")


def test_slopes() -> None:
    samples = ((0.0, 1.0), (10.0, 2.0), (20.0, 6.0))
    assert trends.difference(samples, 2) == pytest.approx(0.4)
    assert trends.difference(samples, 3) == pytest.approx(0.25)
    assert trends.difference(samples[:1], 2) is None
    assert trends.best_fit(samples) == pytest.approx(0.25)
    assert trends.best_fit(samples[:2]) is None


def test_time_that_goes_back_begins_the_samples_anew() -> None:
    scaler = scenes.scaler("line-fit")
    memory = scaler.start()
    for time_s in (1000.0, 1015.0, 100.0):
        _, memory = scaler.decide(scenes.spread(time_s, 5.0, 10), memory)
    assert [time_s for time_s, _ in memory.inner.samples] == [100.0]
