"""The gate before decisions: closed until forecasts beat the last value."""

from __future__ import annotations

import json

import pytest

from kubestow.policies.forecasting import gate as forecasting_gate

PARAMETERS = forecasting_gate.GateParameters(evidence=3, memory=0.5)


def run(gate: forecasting_gate.Gate, misses: list[tuple[float, float]]) -> forecasting_gate.Gate:
    """Evaluate forecasts with given errors of the model and of persistence."""
    for model, last in misses:
        gate = gate.expect(10.0 + model, 10.0 + last, 1).evaluate(10.0, PARAMETERS)
    return gate


def test_it_opens_by_skill_and_closes_again() -> None:
    gate = forecasting_gate.Gate()
    assert gate.closed(PARAMETERS) == "0 of 3 forecasts judged"
    assert gate.skill is None
    gate = run(gate, [(1.0, 2.0)] * 2)
    assert gate.closed(PARAMETERS) == "2 of 3 forecasts judged"
    gate = run(gate, [(1.0, 2.0)])
    assert (gate.closed(PARAMETERS), gate.skill) == ("", 0.5)
    # Losses so far are 1.75 and 3.5: (1.75 / 2 + 4) / 2 + 4 = 6.4375, (3.5 / 2 + 2) / 2 + 2 = 3.875
    gate = run(gate, [(4.0, 2.0)] * 2)
    assert gate.skill == pytest.approx(1.0 - 6.4375 / 3.875)
    assert gate.closed(PARAMETERS) == "skill -0.66 against persistence at this horizon"


def test_old_errors_count_less() -> None:
    bad = run(forecasting_gate.Gate(), [(5.0, 1.0)] * 3)
    assert run(bad, [(0.0, 1.0)]).closed(PARAMETERS)
    assert not run(bad, [(0.0, 1.0)] * 6).closed(PARAMETERS)


def test_a_forecast_is_judged_when_its_time_has_come() -> None:
    gate = forecasting_gate.Gate().expect(5.0, 1.0, 2).evaluate(99.0, PARAMETERS)
    assert gate.judged == 0
    gate = gate.evaluate(4.0, PARAMETERS)
    assert (gate.judged, gate.model_loss, gate.last_loss, gate.waiting) == (1, 1.0, 3.0, ())


def test_several_horizons_wait_side_by_side() -> None:
    gate = forecasting_gate.Gate().expect(1.0, 0.0, 3).expect(2.0, 0.0, 1).expect(3.0, 0.0, 0)
    gate = gate.evaluate(2.0, PARAMETERS)
    assert (gate.judged, gate.waiting) == (2, ((2, 1.0, 0.0),))


def test_against_perfect_persistence_there_is_no_skill() -> None:
    gate = run(forecasting_gate.Gate(), [(0.0, 0.0)] * 4)
    assert gate.skill == 0.0
    assert gate.closed(PARAMETERS).startswith("skill 0.00")


def test_a_margin_has_to_be_exceeded() -> None:
    gate = run(forecasting_gate.Gate(), [(1.0, 2.0)] * 3)
    assert gate.closed(forecasting_gate.GateParameters(evidence=3, margin=0.5))
    assert not gate.closed(forecasting_gate.GateParameters(evidence=3, margin=0.49))


def test_the_gate_can_be_stored() -> None:
    gate = run(forecasting_gate.Gate(), [(1.0, 2.0)]).expect(7.0, 8.0, 4)
    assert forecasting_gate.Gate.from_json(json.loads(json.dumps(gate.as_json()))) == gate
