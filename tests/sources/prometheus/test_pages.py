"""Steps on whole multiples, and pages that share no moment."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.sources.prometheus import pages


@pytest.mark.parametrize(
    ("start_s", "end_s", "step_s", "expected"),
    [
        (120.0, 240.0, 60.0, (120_000, 60_000, 3)),
        (120.001, 239.999, 60.0, (180_000, 60_000, 1)),
        (0.1, 0.3, 0.1, (100, 100, 3)),  # 0.3 / 0.1 is 2.9999999999999996 in floats
        (1_700_000_000.5, 1_700_000_001.5, 0.5, (1_700_000_000_500, 500, 3)),
    ],
    ids=["both ends", "inside", "tenths", "halves"],
)
def test_steps_stand_on_whole_multiples(
    start_s: float, end_s: float, step_s: float, expected: tuple[int, int, int]
) -> None:
    assert pages.align_steps(start_s, end_s, step_s) == pages.Steps(*expected)


@pytest.mark.parametrize(
    ("range_s", "step_s", "problem"),
    [
        ((61.0, 119.0), 60.0, "range: 61.000 to 119.000 contains no multiple of 1m"),
        ((240.0, 120.0), 60.0, "range: 240.000 to 120.000 contains no multiple of 1m"),
        ((0.0, 9e6), 1.0, "range: 9000001 steps of 1s; expected at most 5000000"),
        ((0.0, 1.0), 0.0001, "step: 0.0001 s: expected at least 1 ms"),
        ((0.0, 1.0), -5.0, "step: -5 s: expected at least 1 ms"),
        ((0.0, float("inf")), 1.0, "range: expected finite times"),
    ],
    ids=["between", "backwards", "too many", "too short", "negative", "endless"],
)
def test_a_range_without_steps_is_refused(
    range_s: tuple[float, float], step_s: float, problem: str
) -> None:
    with pytest.raises(errors.InputError) as refused:
        pages.align_steps(*range_s, step_s)
    assert str(refused.value) == problem


@given(
    st.integers(0, 10**13), st.integers(1, 10**7), st.integers(1, 5000), st.integers(1, 700)
)  # fmt: skip
def test_pages_hold_every_moment_once(start_ms: int, step_ms: int, count: int, most: int) -> None:
    steps = pages.Steps(start_ms, step_ms, count)
    parts = list(steps.pages(most))
    moments = [part.start_ms + number * step_ms for part in parts for number in range(part.count)]
    assert moments == [start_ms + number * step_ms for number in range(count)]
    assert max(part.count for part in parts) <= most
    assert (parts[0].start_ms, parts[-1].end_ms) == (start_ms, steps.end_ms)


def test_times_are_sent_without_rounding() -> None:
    assert pages.seconds(1_700_000_000_007) == "1700000000.007"
    assert pages.seconds(250) == "0.250"
