"""Series of extreme size, near 1e300 or 1e-300, brought to a size whose squares are numbers.

Models square and add values. A series is multiplied by a power of two, which changes no digit, and
results are multiplied back. Series of ordinary size stay as they are.
"""

from __future__ import annotations

import numpy as np

from kubestow.model import errors
from kubestow.model.arrays import Floats

ORDINARY = (1e-100, 1e100)
"""Sizes of the largest absolute value that need no change."""


def rescale(values: Floats) -> tuple[Floats, int]:
    """Return values of ordinary size, and the power of two to multiply them by afterwards."""
    size = float(np.abs(values).max(initial=0.0))
    if size == 0.0 or not np.isfinite(size) or ORDINARY[0] <= size <= ORDINARY[1]:
        return values, 0
    exponent = int(np.frexp(size)[1])
    return _multiply(values, -exponent), exponent


def restore(values: Floats, exponent: int, name: str) -> Floats:
    """Return results in the unit of the series.

    Raises:
        InputError: If one is too large to be represented.
    """
    restored = _multiply(values, exponent)
    lost = np.isfinite(values) & ~np.isfinite(restored)
    if lost.any():
        raise errors.InputError(
            name,
            "its forecast or an error is beyond 1.8e308, the largest number; "
            "expected smaller values, e.g. in another unit",
        )
    return restored


def _multiply(values: Floats, exponent: int) -> Floats:
    with np.errstate(over="ignore", under="ignore"):
        product: Floats = np.ldexp(values, exponent)
    return product
