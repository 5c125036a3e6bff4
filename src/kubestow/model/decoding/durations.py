"""Durations as text: 90s, 15m, 1h30m, 250ms, 2d."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from kubestow.model.decoding import fields

_UNITS_S = {
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
    "d": Fraction(86400),
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")


def duration_seconds(text: str) -> float:
    """Return a duration in seconds.

    >>> duration_seconds("1h30m"), duration_seconds("250ms")
    (5400.0, 0.25)

    Raises:
        ValueError: If the text is not a duration.
    """
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration")
    return float(sum(Fraction(number) * _UNITS_S[unit] for number, unit in parts))


def parse_duration(field: fields.Field) -> float:
    """Return a value of a document as seconds; a bare number is in seconds."""
    value = field.value
    expectation = "expected a duration such as 90s, 15m or 1h30m"
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise field.refuse(expectation)
    if isinstance(value, str):
        try:
            return duration_seconds(value)
        except ValueError:
            raise field.refuse(expectation) from None
    if not math.isfinite(value) or value < 0:
        raise field.refuse("must be a finite number of seconds, 0 or more")
    return float(value)


def format_duration(duration_s: float) -> str:
    """Format seconds in the largest whole unit, for tables and messages.

    >>> format_duration(5400), format_duration(90), format_duration(0.25)
    ('90m', '90s', '250ms')
    """
    for unit in ("d", "h", "m", "s", "ms"):
        count = Fraction(duration_s).limit_denominator(1000) / _UNITS_S[unit]
        if count.denominator == 1 and count >= 1:
            return f"{count}{unit}"
    return f"{duration_s:g}s"
