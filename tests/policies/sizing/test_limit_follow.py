"""``limit-follow``: the printed numbers, what is safe, and whom it concerns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.policies.sizing import limit_follow
from tests.policies.sizing import scenes

STRICT = limit_follow.LimitFollow(limit_follow.LimitFollowParameters(strict=True))
SAFE = limit_follow.LimitFollow()
USED = [300.0, 320.0, 350.0, 400.0, 430.0]  # mean 360 (Shi 2023, 3.6)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (200.0, 432.0),  # rose: 360 x 1.2
        (500.0, 300.0),  # fell: 360 / 1.2
    ],
)
def test_the_printed_example(before: float, expected: float) -> None:
    result = STRICT.estimate(scenes.usage([[before] * 5 + USED]))
    assert result.cpu_cores[0] == pytest.approx(expected)


def test_an_unchanged_mean_keeps_the_limit() -> None:
    assert np.isnan(STRICT.estimate(scenes.usage([USED + USED])).cpu_cores[0])


def test_a_gap_is_no_fall() -> None:
    result = STRICT.estimate(scenes.usage([[scenes.NAN] + [500.0] * 4 + USED]))
    assert np.isnan(result.cpu_cores[0])


def test_fewer_than_two_windows_say_nothing() -> None:
    for estimator in (STRICT, SAFE):
        assert np.isnan(estimator.estimate(scenes.usage([USED])).cpu_cores[0])


def test_after_a_fall_the_safe_limit_is_above_all_recent_use() -> None:
    result = SAFE.estimate(scenes.usage([[500.0] * 5 + USED]))
    assert result.cpu_cores[0] == 500.0  # the peak; 360 x 1.2 = 432 would be below
    assert result.memory_bytes[0] == pytest.approx(500_000.0 * 1.1)


def test_what_was_killed_is_never_set_again() -> None:
    result = SAFE.estimate(scenes.usage([[10.0] * 10], killed=[20_000.0]))
    assert result.memory_bytes[0] == pytest.approx(24_000.0)


@given(st.lists(st.floats(0.0, 1e6), min_size=10, max_size=20))
def test_the_safe_limit_is_never_below_what_was_used(values: list[float]) -> None:
    result = SAFE.estimate(scenes.usage([values]))
    assert result.cpu_cores[0] >= max(values[-10:])
    assert result.memory_bytes[0] >= max(values[-10:]) * 1000.0


def test_the_ten_busiest_pods_of_each_node() -> None:
    nodes = np.array([0, 1, 0, 0, 1])
    used = np.array([1.0, 5.0, 3.0, 3.0, 6.0])
    assert limit_follow.busiest(nodes, used, 2).tolist() == [2, 3, 4, 1]
    many = limit_follow.busiest(np.zeros(25, dtype=np.int64), np.arange(25.0), 10)
    assert many.tolist() == list(range(24, 14, -1))
