"""CFS throttling: the formulas against the played-through quota."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.usage import throttling


def test_the_examples_of_the_thesis() -> None:
    # 500 ms of work, quota 50 ms of 100 ms: ten slices, nine pauses of 50 ms
    assert throttling.simulate([500], 50, 100) == [950]
    # two at once share the quota: 25 ms each per period, 19 pauses of 75 ms
    assert throttling.simulate([500, 500], 50, 100) == [1925, 1925]
    # one after the other: the second starts where the first ends
    assert throttling.simulate([500, 500], 50, 100, concurrency=1) == [950, 1950]


@given(
    work=st.integers(1, 2000),
    quota=st.integers(1, 400),
    period=st.just(100),
    parallel=st.integers(1, 4),
)
def test_the_formula_equals_the_simulation(
    work: int, quota: int, period: int, parallel: int
) -> None:
    expected = throttling.wall_time(work, quota, period, parallel)
    assert throttling.simulate([work] * parallel, quota, period) == [expected] * parallel


@given(st.lists(st.integers(1, 300), min_size=1, max_size=4), st.integers(5, 120))
def test_no_more_than_the_quota_is_used(works: list[int], quota: int) -> None:
    end = max(throttling.simulate(works, quota, 100))
    periods = -(-end // 100)
    assert sum(works) <= quota * periods


@pytest.mark.parametrize("quota", [100, 250])
def test_a_quota_of_all_cores_never_throttles(quota: int) -> None:
    assert throttling.wall_time(777, quota, 100) == 777
    assert throttling.simulate([777], quota, 100) == [777]


def test_no_work_takes_no_time() -> None:
    assert throttling.simulate([0, 10], 50, 100) == [Fraction(0), Fraction(10)]
