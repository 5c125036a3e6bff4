"""Offline orders: items sorted by a measure of size, largest first.

Sizes are taken of shares of the largest capacities, since raw units cannot be compared. Measures
after Panigrahy et al. 2011, "Heuristics for Vector Bin Packing".
"""

from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from kubestow.model import errors
from kubestow.policies.placing.packing import instances

FloatArray = instances.FloatArray
IntArray = instances.IntArray
Measure = Callable[[FloatArray], FloatArray]


def largest_share(shares: FloatArray) -> FloatArray:
    """Return the largest share of each item."""
    return np.asarray(shares.max(axis=1, initial=0.0))


def total_share(shares: FloatArray) -> FloatArray:
    """Return the sum of shares of each item."""
    return np.asarray(shares.sum(axis=1))


def squared_share(shares: FloatArray) -> FloatArray:
    """Return the sum of squared shares of each item."""
    return np.asarray((shares * shares).sum(axis=1))


def scarce_share(shares: FloatArray) -> FloatArray:
    """Return the sum of shares of each item, weighted by the total demand for each resource."""
    return np.asarray(shares @ shares.sum(axis=0))


MEASURES = MappingProxyType[str, Measure](
    {"max": largest_share, "sum": total_share, "squares": squared_share, "scarce": scarce_share}
)
"""Measures of size by name."""


def decreasing(instance: instances.Instance, measure: str) -> IntArray:
    """Return the items from largest to smallest; equal ones keep their order of arrival."""
    if measure not in MEASURES:
        raise errors.InputError("measure", f"{measure!r}: must be one of {', '.join(MEASURES)}")
    sizes = MEASURES[measure](shares(instance))
    return np.argsort(-sizes, kind="stable").astype(np.int64)


def shares(instance: instances.Instance) -> FloatArray:
    """Return demands as shares of the largest capacity there is of each resource."""
    capacities = [instance.shapes.capacity]
    if instance.existing is not None:
        capacities.append(instance.existing.capacity)
    largest = np.concatenate(capacities).max(axis=0, initial=0.0)
    result = np.zeros_like(instance.demands)
    np.divide(instance.demands, largest, out=result, where=largest > 0.0)
    return result
