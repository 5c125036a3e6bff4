"""Arithmetic of Go where Python's differs: division, overflow, conversions, time.

The autoscaler computes with int32, int64 and float64; a decision equals upstream's only if every
step does.
"""

from __future__ import annotations

import math

from kubestow.model import quantities

MAX_INT32, MIN_INT32 = 2**31 - 1, -(2**31)
MAX_INT64 = 2**63 - 1
SECOND_NS = 10**9


def nanoseconds(time_s: float) -> int:
    """Return a time in whole nanoseconds, Go's resolution, so that edges of windows are exact.

    >>> nanoseconds(17.042) - nanoseconds(15.0) == nanoseconds(2.042)
    True
    """
    return round(time_s * 1e9)


def divide(numerator: int, denominator: int) -> int:
    """Divide whole numbers and drop the fraction, as Go does.

    >>> divide(-7, 2), divide(7, 2)
    (-3, 3)
    """
    quotient = abs(numerator) // abs(denominator)
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


def ratio(numerator: float, denominator: float) -> float:
    """Divide floats; division by zero gives infinity or NaN instead of an exception."""
    if denominator:
        return numerator / denominator
    if not numerator or math.isnan(numerator):
        return math.nan
    return math.copysign(math.inf, numerator) * math.copysign(1.0, denominator)


def wrap64(value: int) -> int:
    """Wrap an integer to int64."""
    return (value + 2**63) % 2**64 - 2**63


def wrap32(value: int) -> int:
    """Wrap an integer to int32."""
    return (value + 2**31) % 2**32 - 2**31


def whole(value: float) -> int:
    """Convert a float to an int32 by dropping its fraction, as amd64 does.

    A value that does not fit becomes the smallest int32.
    """
    if MIN_INT32 - 1 < value < MAX_INT32 + 1:
        return int(value)
    return MIN_INT32


def ceiling(value: float) -> int:
    """Round up to an int32; a value that does not fit becomes the smallest one, as on amd64."""
    if MIN_INT32 - 1 < value <= MAX_INT32:
        return math.ceil(value)
    return MIN_INT32


def milli(quantity: quantities.Quantity) -> int:
    """Return thousandths, rounded away from zero.

    A value beyond int64 becomes what it becomes upstream: 0 where the canonical form has a suffix
    above one, else it wraps.
    """
    amount = quantity.milli()
    if abs(amount) <= MAX_INT64:
        return amount
    return 0 if _canonical(quantity)[1] > 0 else wrap64(amount)


def _canonical(quantity: quantities.Quantity) -> tuple[int, int]:
    """Return digits and power of ten of the canonical form."""
    digits, exponent = quantity.nano, -9
    while digits and digits % 1000 == 0 and exponent < 18:
        digits //= 1000
        exponent += 3
    return digits, exponent if digits else 0


def approximate(quantity: quantities.Quantity) -> float:
    """Return a quantity as float64 by the steps of ``Quantity.AsApproximateFloat64``.

    The digits of the canonical form are multiplied by the power of ten of its suffix, so that
    ``100u`` is not 0.0001 but the float below it.

    >>> approximate(quantities.parse("0.1")), approximate(quantities.parse("100u"))
    (0.1, 9.999999999999999e-05)
    """
    digits, exponent = _canonical(quantity)
    return float(digits) * float(f"1e{exponent}") if exponent else float(digits)
