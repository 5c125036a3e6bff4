"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.model.decoding import durations, fields


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", 90.0),
        ("15m", 900.0),
        ("1h30m", 5400.0),
        ("250ms", 0.25),
        ("2d", 172_800.0),
        ("0s", 0.0),
        ("1.5h", 5400.0),
        ("1m1ms", 60.001),
        ("0.1s0.2s", 0.3),  # fractions are added exactly
    ],
)
def test_texts_are_read_exactly(text: str, expected: float) -> None:
    assert durations.duration_seconds(text) == expected


@pytest.mark.parametrize(
    "text", ["", "90", "s", "-5s", "1h 30m", "5 s", "1e3s", "5S", "1.s", ".5s", "5us", "1h\n"]
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        durations.duration_seconds(text)


@pytest.mark.parametrize("value", [12, 12.0, "12s"])
def test_bare_numbers_are_seconds(value: object) -> None:
    assert durations.parse_duration(fields.Field(value, "f", "p")) == 12.0


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (True, "f: p: True: expected a duration such as 90s, 15m or 1h30m"),
        (None, "f: p: None: expected a duration such as 90s, 15m or 1h30m"),
        ([], "f: p: []: expected a duration such as 90s, 15m or 1h30m"),
        ("soon", "f: p: 'soon': expected a duration such as 90s, 15m or 1h30m"),
        (-1, "f: p: -1: must be a finite number of seconds, 0 or more"),
        (float("nan"), "f: p: nan: must be a finite number of seconds, 0 or more"),
        (float("inf"), "f: p: inf: must be a finite number of seconds, 0 or more"),
    ],
)
def test_refusals_name_place_value_and_expectation(value: object, problem: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        durations.parse_duration(fields.Field(value, "f", "p"))
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.25, "250ms"), (90, "90s"), (3600, "1h"), (86400, "1d"), (5400, "90m"), (0, "0s")],
)
def test_seconds_are_shown_in_the_largest_whole_unit(seconds: float, expected: str) -> None:
    assert durations.format_duration(seconds) == expected


@given(st.integers(1, 10**9))
def test_what_is_shown_reads_back(millis: int) -> None:
    assert durations.duration_seconds(durations.format_duration(millis / 1000)) == millis / 1000
