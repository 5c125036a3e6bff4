"""``queueing`` and ``receding``: what they propose, and when they are reactive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kubestow.policies.scaling.ahead import queueing
from tests.policies.scaling import scenes


def play(scaler: Any, count: int, load: float, replicas: int, rps: float | None) -> Any:
    memory, decision = scaler.start(), None
    for tick in range(count):
        observation = scenes.spread(15.0 * tick, load, replicas, rps=rps, startup_s=45.0)
        decision, memory = scaler.decide(observation, memory)
    return decision


def test_the_queue_meets_its_response_time_with_the_fewest_pods() -> None:
    # 3 pods of work at 30 requests a second: 0.1 s each; 95 % within 0.2 s.
    result = play(scenes.scaler("queueing", slo_s=0.2), 6, 3.0, 6, rps=30.0)
    numbers = result.record().numbers
    assert (numbers["arrivals"], numbers["service_s"]) == (
        pytest.approx(30.0), pytest.approx(0.1),
    )  # fmt: skip
    assert queueing.quantile(result.proposed, 30.0, 0.1, 0.95) <= 0.2
    assert queueing.quantile(result.proposed - 1, 30.0, 0.1, 0.95) > 0.2
    assert result.reason.startswith("queue meets 0.2 s")


@pytest.mark.parametrize(
    ("rps", "load", "slo_s", "why"),
    [
        (None, 3.0, 0.2, "no request rate is measured"),
        (30.0, 0.0, 0.2, "the cost of a request is not known yet"),
        (30.0, 3.0, 0.05, "a request takes 0.100 s, asked for are 0.05 s"),
    ],
    ids=["no rate", "no work", "too slow"],
)
def test_without_a_queue_to_reckon_with_it_is_reactive(
    rps: float | None, load: float, slo_s: float, why: str
) -> None:
    result = play(scenes.scaler("queueing", slo_s=slo_s), 3, load, 6, rps)
    reactive = play(scenes.scaler("hpa"), 3, load, 6, rps)
    assert (result.proposed, result.desired) == (reactive.proposed, reactive.desired)
    assert result.record().rejected == {"forecast": why}


def test_receding_reaches_the_target_and_stays() -> None:
    # 6 pods of work at 0.6 each: ten pods, and nothing to gain from a change.
    for replicas in (9, 10, 12):
        result = play(scenes.scaler("receding"), 40, 6.0, replicas, None)
        assert result.proposed == 10
        assert result.record().numbers["cost"] >= 10.0  # per step, in pods


def test_receding_pays_for_changes_only_where_they_are_worth_it() -> None:
    dear = play(scenes.scaler("receding", change_price=1000.0), 40, 3.0, 10, None)
    assert dear.proposed == 10
    cheap = play(scenes.scaler("receding", change_price=0.0), 40, 3.0, 10, None)
    assert cheap.proposed == 5


def test_receding_keeps_more_where_demand_varies() -> None:
    rng = np.random.default_rng(1)
    loads = np.clip(6.0 + rng.normal(0.0, 1.0, 200), 0.0, 14.0)
    scaler: Any = scenes.scaler("receding")
    memory = scaler.start()
    for tick, load in enumerate(loads):
        observation = scenes.spread(15.0 * tick, float(load), 15, startup_s=45.0)
        decision, memory = scaler.decide(observation, memory)
    assert decision.proposed > 11
    assert decision.record().numbers["excesses"] == 120.0
