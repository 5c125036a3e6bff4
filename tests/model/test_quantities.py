"""Quantities against the rules of k8s.io/apimachinery/pkg/api/resource."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import quantities
from kubestow.model.quantities import Format, Quantity


@pytest.mark.parametrize(
    ("text", "nano", "canonical"),
    [
        ("0", 0, "0"),
        ("0m", 0, "0"),
        ("1", 10**9, "1"),
        ("1.5", 1_500_000_000, "1500m"),
        ("100m", 10**8, "100m"),
        ("1000m", 10**9, "1"),
        ("0.1", 10**8, "100m"),
        (".5", 5 * 10**8, "500m"),
        ("5.", 5 * 10**9, "5"),
        ("+2k", 2000 * 10**9, "2k"),
        ("-3M", -3 * 10**15, "-3M"),
        ("1Ki", 1024 * 10**9, "1Ki"),
        ("1.5Gi", 1610612736 * 10**9, "1536Mi"),
        ("2048Ki", 2**21 * 10**9, "2Mi"),
        ("0.5Ki", 512 * 10**9, "512"),  # below 1024 a binary suffix is given up
        ("12e6", 12 * 10**15, "12e6"),
        ("1E3", 1000 * 10**9, "1e3"),
        ("1E", 10**27, "1E"),
        ("1e-3", 10**6, "1e-3"),
        ("100n", 100, "100n"),
        ("1u", 1000, "1u"),
        ("0.0000000001", 1, "1n"),  # finer than a nano: rounded away from zero
        ("-0.0000000001", -1, "-1n"),
        ("1000Ei", (2**63 - 1) * 10**9, "9223372036854775807"),  # capped
    ],
)
def test_parses_and_writes_canonically(text: str, nano: int, canonical: str) -> None:
    quantity = quantities.parse(text)
    assert quantity.nano == nano
    assert str(quantity) == canonical


@pytest.mark.parametrize(
    "text",
    ["", " ", "1 ", "1.2.3", "m", "-", ".", "1KI", "1K", "0x10", "1e", "1_000", "Ki", "1mi", "nan",
     "inf", "--1", "1e99999999"],
)  # fmt: skip
def test_refuses_what_is_no_quantity_and_quotes_it(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantity|exponent"):
        quantities.parse(text)


@pytest.mark.parametrize(
    ("text", "value", "milli"),
    [
        ("100.1m", 1, 101),  # both round up
        ("1500m", 2, 1500),
        ("0.30000000000000004", 1, 301),
        ("-1500m", -2, -1500),  # away from zero
        ("1n", 1, 1),
        ("3Gi", 3 * 2**30, 3 * 2**30 * 1000),
    ],
)
def test_reads_whole_units_and_thousandths_rounded_away_from_zero(
    text: str, value: int, milli: int
) -> None:
    assert quantities.parse(text).value() == value
    assert quantities.parse(text).milli() == milli


@given(
    st.integers(-(10**24), 10**24),
    st.sampled_from([Format.DECIMAL_SI, Format.DECIMAL_EXPONENT]),
)
def test_decimal_output_parses_back_to_the_same_amount(nano: int, notation: Format) -> None:
    quantity = Quantity(nano, notation)
    assert quantities.parse(str(quantity)).nano == nano


@given(st.integers(0, 2**62))
def test_binary_output_parses_back_and_keeps_its_notation(amount: int) -> None:
    quantity = quantities.units(amount, Format.BINARY_SI)
    again = quantities.parse(str(quantity))
    assert again.value() == amount
    if str(quantity).endswith("i"):  # a bare number has no notation to keep
        assert str(again) == str(quantity)


@given(st.integers(-(10**20), 10**20), st.integers(-(10**20), 10**20))
def test_order_and_sum_are_those_of_the_amounts(left: int, right: int) -> None:
    a, b = Quantity(left, Format.BINARY_SI), Quantity(right)
    assert (a < b, a == b, a >= b) == (left < right, left == right, left >= right)
    assert (a + b).nano == left + right
    assert (a == b) is (hash(a) == hash(b) and left == right)


def test_notation_plays_no_part_in_equality() -> None:
    assert quantities.parse("1024") == quantities.parse("1Ki")
    assert quantities.parse("1") != "1"


def test_a_sum_takes_the_notation_of_its_first_part_that_is_not_zero() -> None:
    assert str(quantities.parse("0") + quantities.parse("2Mi")) == "2Mi"
    assert str(quantities.parse("1Mi") + quantities.parse("1048576")) == "2Mi"
