"""The event kernel."""

from __future__ import annotations

import functools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.simulation.kernel.clock import Clock


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-2, 2)), max_size=30))
def test_actions_run_by_time_then_priority_then_order_of_asking(
    asked: list[tuple[int, int]],
) -> None:
    clock = Clock()
    done: list[tuple[int, int, int, float]] = []

    def note(time_s: int, priority: int, number: int) -> None:
        done.append((time_s, priority, number, clock.now_s))

    for number, (time_s, priority) in enumerate(asked):
        clock.at(time_s, functools.partial(note, time_s, priority, number), priority)
    clock.run(10)
    assert [result[:3] for result in done] == sorted((*a, i) for i, a in enumerate(asked))
    assert all(now_s == time_s for time_s, _, _, now_s in done)
    assert (clock.now_s, clock.done) == (10, len(asked))


def test_the_end_is_included_and_what_comes_later_waits() -> None:
    clock = Clock()
    done: list[float] = []
    for time_s in (1.0, 2.0, 2.5):
        clock.at(time_s, functools.partial(done.append, time_s))
    clock.run(2.0)
    assert (done, clock.now_s, clock.next_s) == ([1.0, 2.0], 2.0, 2.5)
    clock.run(2.4)
    assert (done, clock.now_s) == ([1.0, 2.0], 2.4)
    clock.run(3.0)
    assert (done[-1], clock.next_s) == (2.5, math.inf)


def test_actions_can_ask_for_more_at_the_same_time() -> None:
    clock, done = Clock(), []

    def first() -> None:
        done.append("first")
        clock.after(0.0, lambda: done.append("late"), priority=5)
        clock.after(0.0, lambda: done.append("early"), priority=-5)

    clock.at(1.0, first)
    clock.at(1.0, lambda: done.append("second"))
    clock.run(1.0)
    assert done == ["first", "early", "second", "late"]


def test_an_action_can_be_called_off_until_it_has_begun() -> None:
    clock, done = Clock(), []
    kept, dropped = clock.at(1, lambda: done.append("kept")), clock.at(1, lambda: done.append("no"))
    dropped.cancel()
    assert (kept.waiting, dropped.waiting) == (True, False)
    assert clock.next_s == 1
    clock.run(2)
    assert (done, clock.done, kept.waiting) == (["kept"], 1, False)
    kept.cancel()  # too late, and harmless
    clock.run(3)
    assert done == ["kept"]


def test_what_is_called_off_is_no_next_action() -> None:
    clock = Clock()
    clock.at(1, lambda: None).cancel()
    clock.at(2, lambda: None)
    assert clock.next_s == 2


def test_repetition_does_not_drift() -> None:
    clock, times = Clock(), []
    clock.every(0.1, lambda: times.append(clock.now_s), first_s=0.1)
    clock.run(1000.0)
    # Adding 0.1 ten thousand times would be off by 1.6e-9 at the end.
    assert times == [0.1 + count * 0.1 for count in range(len(times))]
    assert len(times) in (9999, 10_000)
    assert sum([0.1] * 9000) != 0.1 + 8999 * 0.1


@pytest.mark.parametrize("period_s", [0.0, -1.0, math.nan])
def test_a_period_must_be_above_0(period_s: float) -> None:
    with pytest.raises(ValueError, match="a period must be above 0"):
        Clock().every(period_s, lambda: None, first_s=0.0)


def test_a_failure_ends_the_run_with_its_own_exception() -> None:
    clock, done = Clock(), []
    clock.at(1.0, lambda: done.append(1))
    clock.at(2.0, lambda: done.append(1 // 0))
    clock.at(3.0, lambda: done.append(3))
    with pytest.raises(ZeroDivisionError):
        clock.run(10.0)
    assert (done, clock.now_s) == ([1], 2.0)


def test_a_repetition_that_fails_ends_the_run() -> None:
    clock, calls = Clock(), []

    def fail_at_the_third() -> None:
        calls.append(clock.now_s)
        if len(calls) == 3:
            raise RuntimeError("enough")

    clock.every(1.0, fail_at_the_third, first_s=1.0)
    with pytest.raises(RuntimeError, match="enough"):
        clock.run(10.0)
    assert calls == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("time_s", [4.9, -1.0, math.nan])
def test_the_past_is_refused(time_s: float) -> None:
    clock = Clock()
    clock.run(5.0)
    with pytest.raises(ValueError, match="the clock is at 5"):
        clock.at(time_s, lambda: None)
    with pytest.raises(ValueError, match="the clock is at 5"):
        clock.run(time_s)
    with pytest.raises(ValueError, match="the clock is at 5"):
        clock.after(-0.1, lambda: None)
