"""Go's arithmetic; every value was printed by a Go program on amd64."""

from __future__ import annotations

import math

import pytest

from kubestow.model import quantities
from kubestow.policies.scaling.hpa import go_arithmetic


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2.1, 3), (-2.1, -2), (2147483646.5, 2147483647), (2147483647.5, -(2**31)),
        (1e10, -(2**31)), (-1e10, -(2**31)), (math.inf, -(2**31)), (math.nan, -(2**31)),
    ],
)  # fmt: skip
def test_what_does_not_fit_becomes_the_smallest_int32(value: float, expected: int) -> None:
    assert go_arithmetic.ceiling(value) == expected


def test_truncation_drops_the_fraction() -> None:
    assert [go_arithmetic.whole(x) for x in (2.9, -2.9, 3e9)] == [2, -2, -(2**31)]


@pytest.mark.parametrize(
    ("text", "milli"),
    [
        ("59.61", 59610), ("0.0001", 1), ("-0.0001", -1), ("9223372036854775", 9223372036854775000),
        ("9223372036854776", -9223372036854775616), ("9Ei", -1000), ("1.5E", 0), ("9300T", 0),
    ],
)  # fmt: skip
def test_thousandths_round_away_from_zero_and_overflow_like_upstream(text: str, milli: int) -> None:
    assert go_arithmetic.milli(quantities.parse(text)) == milli


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0.0), ("1", 1.0), ("0.1", 0.1), ("50m", 0.05), ("100u", 9.999999999999999e-05),
     ("1500m", 1.5), ("2k", 2000.0)],
)  # fmt: skip
def test_a_tolerance_becomes_the_same_float(text: str, expected: float) -> None:
    assert go_arithmetic.approximate(quantities.parse(text)) == expected


def test_division_by_zero_gives_what_floats_give() -> None:
    assert go_arithmetic.ratio(1.0, 0.0) == math.inf
    assert go_arithmetic.ratio(-1.0, 0.0) == -math.inf
    assert math.isnan(go_arithmetic.ratio(0.0, 0.0))
    assert go_arithmetic.ratio(1.0, 4.0) == 0.25


def test_whole_numbers_wrap() -> None:
    assert go_arithmetic.wrap64(2**63) == -(2**63)
    assert go_arithmetic.wrap32(2**31 + 5) == -(2**31) + 5
    assert [
        go_arithmetic.divide(7, 2),
        go_arithmetic.divide(-7, 2),
        go_arithmetic.divide(7, -2),
    ] == [
        3,
        -3,
        -3,
    ]
