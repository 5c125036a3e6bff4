"""Amounts of a resource in the recommender: whole millicores, whole bytes.

From ``pkg/recommender/model/types.go`` (VPA 1.7). Every step of an estimate is truncated to an
integer, so the order of the steps matters.
"""

import math
from typing import Final

MOST: Final = 10**14
"""Largest amount; estimates without any history have this value."""

NOT_A_NUMBER: Final = -(2**63)
"""The result of converting NaN to an integer in Go on amd64."""

MEBIBYTE: Final = 1 << 20


def from_float(amount: float) -> int:
    """Truncate a number to an integer within 0 and ``MOST``.

    >>> from_float(1.99), from_float(-3.0), from_float(math.inf)
    (1, 0, 100000000000000)
    """
    if math.isnan(amount):
        return NOT_A_NUMBER
    if amount > MOST:
        return MOST
    return 0 if amount < 0 else int(amount)


def from_cores(cores: float) -> int:
    """Return millicores.

    >>> from_cores(0.0259)
    25
    """
    return from_float(cores * 1000.0)


def scale(amount: int, factor: float) -> int:
    """Multiply an amount and truncate the product.

    >>> scale(1000, 1.15)
    1150
    """
    return from_float(float(amount) * factor)


def round_up(amount: int, multiple: int) -> int:
    """Round up to a multiple; a non-positive multiple changes nothing.

    >>> round_up(1001, 10), round_up(7, 0)
    (1010, 7)
    """
    if multiple <= 0:
        return amount
    return math.ceil(amount / multiple) * multiple


def whole_cores_m(cpu_m: int) -> int:
    """Round millicores up to whole cores.

    >>> whole_cores_m(1001), whole_cores_m(3000)
    (2000, 3000)
    """
    return -(-cpu_m // 1000) * 1000
