"""Instants and durations in whole nanoseconds, with the corner cases of Go's ``time``.

Policies get seconds; the recommender computes with nanoseconds since the Unix epoch. An unset
instant is the first of January of year one, and rounding counts from there.
"""

from __future__ import annotations

import math
from typing import Final

SECOND_NS: Final = 10**9
MINUTE_NS: Final = 60 * SECOND_NS
UNSET_NS: Final = -62_135_596_800 * SECOND_NS
"""Year one, Go's zero instant, in nanoseconds before the Unix epoch."""


def from_seconds(time_s: float) -> int:
    """Return nanoseconds; whole seconds are exact.

    >>> from_seconds(1_700_000_000.5)
    1700000000500000000
    """
    whole = math.floor(time_s)
    return whole * SECOND_NS + round((time_s - whole) * 1e9)


def minutes(duration_ns: int) -> float:
    """Return a duration in minutes, computed as Go's ``Minutes`` does."""
    whole, rest = divmod(duration_ns, MINUTE_NS)
    return float(whole) + float(rest) / (60 * 1e9)
