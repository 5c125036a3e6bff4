"""The replica formulas of theses/003 3.3, in whole numbers.

(3.16) ``DR = max_i ceil(CR x Used_i / Requested_i)``; (3.17) ``maxR = (1 + t) maxReplicas`` and
``minR = (1 - t) minReplicas``; (3.18) ``Replicas = clamp(DR, minR, maxR)``. Divided as floats,
``5 x (0.14 / 0.1)`` is a little more than 7 and would be rounded up to 8; millicores and bytes are
whole numbers, so they are divided as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction


def desired(replicas: int, used: Sequence[int], requested: Sequence[int]) -> int | None:
    """Return (3.16); resources without a request do not count, ``None`` if none has one.

    Args:
        replicas: Current replicas.
        used: Predicted use per pod, by resource.
        requested: Request per pod, by resource, in the same units.

    >>> desired(5, [140], [100])
    7
    """
    needs = [
        -(-replicas * use // request)
        for use, request in zip(used, requested, strict=True)
        if request > 0
    ]
    return max(needs, default=None)


def bounds(least: int, most: int, tolerance: float, *, strict: bool) -> tuple[int, int]:
    """Return (3.17) in whole replicas: as printed, or never outside the autoscaler's bounds.

    >>> bounds(2, 8, 0.1, strict=True), bounds(20, 40, 0.1, strict=True)
    ((2, 8), (18, 44))
    >>> bounds(20, 40, 0.1, strict=False)
    (20, 40)
    """
    share = Fraction(str(tolerance))
    low, high = math.ceil((1 - share) * least), math.floor((1 + share) * most)
    if strict:
        return low, high
    return max(low, least), min(high, most)


def clamp(wanted: int, low: int, high: int) -> int:
    """Return (3.18)."""
    return min(max(wanted, low), high)
