"""Go's arithmetic and notation of instants, in addition to the shipped part."""

from __future__ import annotations

import re
from typing import Final

from kubestow.policies.sizing.vpa.recommender.instants import (
    MINUTE_NS,
    SECOND_NS,
    UNSET_NS,
    from_seconds,
    minutes,
)

__all__ = [
    "MINUTE_NS",
    "SECOND_NS",
    "UNSET_NS",
    "between",
    "from_seconds",
    "from_text",
    "minutes",
    "ratio",
    "round_to",
    "to_seconds",
    "to_text",
]

_LONGEST_NS: Final = 2**63 - 1
_STAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?Z")


def to_seconds(time_ns: int) -> float:
    """Return seconds."""
    return time_ns / SECOND_NS


def between(start_ns: int, end_ns: int) -> int:
    """Return the duration from start to end, cut to what 64 bits hold (292 years)."""
    return max(-_LONGEST_NS - 1, min(_LONGEST_NS, end_ns - start_ns))


def round_to(time_ns: int, step_ns: int) -> int:
    """Round to a multiple of a step since year one, halves up.

    >>> round_to(36 * 3600 * SECOND_NS, 24 * 3600 * SECOND_NS) // SECOND_NS
    172800
    """
    rest = (time_ns - UNSET_NS) % step_ns
    return time_ns - rest if rest + rest < step_ns else time_ns + step_ns - rest


def ratio(duration_ns: int, unit_ns: int) -> float:
    """Return a duration in units; both are rounded to floats first, as Go does."""
    return float(duration_ns) / float(unit_ns)


def to_text(time_ns: int) -> str:
    """Write an instant the way a Kubernetes object has it: RFC 3339 in whole seconds, UTC.

    >>> to_text(1_700_000_000 * SECOND_NS)
    '2023-11-14T22:13:20Z'
    """
    days, second = divmod(time_ns // SECOND_NS, 86_400)
    year, month, day = _civil(days)
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"


def from_text(text: str) -> int:
    """Read an instant in RFC 3339, UTC.

    Raises:
        ValueError: If the text is not of that form.

    >>> from_text("2023-11-14T22:13:20Z") // SECOND_NS
    1700000000
    """
    match = _STAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r}: expected an instant such as 2023-11-14T22:13:20Z")
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    fraction = int((match[7] or "").ljust(9, "0")[:9])
    whole = _days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
    return whole * SECOND_NS + fraction


def _civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a number of days since the Unix epoch (Gregorian)."""
    # Eras of 400 years that begin on the first of March, so that the leap day comes last.
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day


def _days(year: int, month: int, day: int) -> int:
    """Return days since the Unix epoch, the inverse of ``_civil``."""
    era, of_era = divmod(year - (month <= 2), 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
