"""Measures: where they stand, how they are shown."""

from __future__ import annotations

import pytest

from kubestow.workflows.comparing import measures

OUTCOME = {
    "scenario": "s",
    "seed": 7,
    "policies": {"scaling": {"max": 3}},
    "eru": {"cpu": 0.5, "memory": None},
    "oom_kills": 2,
    "workloads": {"w": {"pods": 3}},
    "decisions": "decisions.jsonl",
}


def test_every_number_but_those_of_settings_and_single_workloads_is_a_measure() -> None:
    assert measures.flatten(OUTCOME) == {"eru.cpu": 0.5, "eru.memory": None, "oom_kills": 2.0}


def test_values_are_found_by_path() -> None:
    assert measures.value_of(OUTCOME, "eru.cpu") == 0.5
    assert measures.value_of(OUTCOME, "eru.memory") is None
    assert measures.value_of(OUTCOME, "oom_kills.cpu") is None
    assert measures.value_of(OUTCOME, "nothing.there") is None


TEXTS = [
    (measures.ERU_CPU, 0.61234, "61.2 %"),
    (measures.RESPONSE, 0.0213, "21.3 ms"),
    (measures.RESPONSE, None, "-"),
    (measures.PENDING, 90.0, "1.5 pod min"),
    (measures.COST, 1200.0, "1,200"),
    (measures.COST, 1200.25, "1,200.2"),
    (measures.LATE, 0.0, "0.000 %"),
    (measures.LATE, 1e-7, "<0.001 %"),
]


@pytest.mark.parametrize(("measure", "value", "text"), TEXTS, ids=[text for *_, text in TEXTS])
def test_values_have_their_unit(
    measure: measures.RunMeasure, value: float | None, text: str
) -> None:
    assert measure.text(value) == text


def test_an_interval_below_the_shown_digits_is_left_out() -> None:
    assert measures.RESPONSE.interval(0.0213, 0.0021) == "21.3 ± 2.1"
    assert measures.RESPONSE.interval(0.0213, 0.00001) == "21.3"
    assert measures.RESPONSE.interval(0.0213, None) == "21.3"


def test_differences_have_a_sign() -> None:
    assert measures.RESPONSE.text(0.001, signed=True) == "+1.0 ms"
    assert measures.RESPONSE.text(-0.001, signed=True) == "-1.0 ms"
