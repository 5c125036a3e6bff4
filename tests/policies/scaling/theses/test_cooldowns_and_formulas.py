"""Cool-downs and replica formulas of Shi 2023, 3.3: the golden cases."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.policies.scaling.fitted_models import Cooldowns
from kubestow.policies.scaling.theses import printed_models

COUNTS = st.integers(0, 10_000)


@pytest.mark.parametrize(
    ("change", "now_s", "blocked"),
    [
        (+1, 179.0, True), (+1, 180.0, False), (+1, 181.0, False),
        (-1, 299.0, True), (-1, 300.0, False), (-1, 301.0, False), (0, 1.0, False),
    ],
)  # fmt: skip
def test_cool_downs_end_exactly_when_they_are_over(
    change: int, now_s: float, blocked: bool
) -> None:
    assert Cooldowns(0.0, 0.0).blocks(change, now_s, 180.0, 300.0) is blocked
    assert not Cooldowns().blocks(change, now_s, 180.0, 300.0)


def test_each_direction_has_a_cool_down_of_its_own() -> None:
    after = Cooldowns().note(+2, 10.0)
    assert after == Cooldowns(up_s=10.0)
    assert not after.blocks(-1, 11.0, 180.0, 300.0)
    assert after.note(-1, 20.0) == Cooldowns(10.0, 20.0)
    assert after.note(0, 30.0) is after


@pytest.mark.parametrize(
    ("replicas", "used", "requested", "wanted", "result"),
    [
        (2, [900, 300], [600, 400], 3, 3),  # 3 by the processor, 2 by memory
        (4, [1500, 0], [600, 400], 10, 8),  # maxR = 8.8
        (4, [60, 40], [600, 400], 1, 2),  # minR = 1.8
        (3, [600, 400], [600, 400], 3, 3),
        (5, [140], [100], 7, 7),  # as floats 5 x (0.14 / 0.1) would be 8
    ],
    ids=["up", "above", "below", "equal", "whole numbers"],
)
def test_golden_cases(
    replicas: int, used: list[int], requested: list[int], wanted: int, result: int
) -> None:
    actual = printed_models.desired(replicas, used, requested)
    assert actual == wanted
    for strict in (True, False):
        low, high = printed_models.bounds(2, 8, 0.1, strict=strict)
        assert printed_models.clamp(wanted, low, high) == result
    assert math.ceil(5 * (0.14 / 0.1)) == 8


def test_printed_bounds_are_whole_replicas_and_may_leave_those_of_the_autoscaler() -> None:
    # 0.9 x 2 = 1.8, 1.1 x 8 = 8.8; 0.9 x 20 = 18, 1.1 x 40 = 44
    assert printed_models.bounds(2, 8, 0.1, strict=True) == (2, 8)
    assert printed_models.bounds(20, 40, 0.1, strict=True) == (18, 44)
    assert printed_models.bounds(20, 40, 0.1, strict=False) == (20, 40)


def test_resources_without_a_request_do_not_count() -> None:
    assert printed_models.desired(4, [100, 900], [100, 0]) == 4
    assert printed_models.desired(4, [100], [0]) is None
    assert printed_models.desired(0, [100], [100]) == 0


@given(COUNTS, st.integers(0, 10**18), st.integers(1, 10**18))
def test_the_result_is_the_fewest_replicas_that_carry_the_use(
    replicas: int, used: int, requested: int
) -> None:
    actual = printed_models.desired(replicas, [used], [requested])
    assert actual is not None
    assert actual * requested >= replicas * used
    assert (actual - 1) * requested < replicas * used or actual == 0


@given(st.integers(1, 1000), st.integers(0, 1000), st.floats(0.0, 0.99), COUNTS)
def test_safe_bounds_are_never_left(least: int, more: int, tolerance: float, wanted: int) -> None:
    low, high = printed_models.bounds(least, least + more, tolerance, strict=False)
    assert least <= printed_models.clamp(wanted, low, high) <= least + more
