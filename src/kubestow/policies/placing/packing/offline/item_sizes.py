"""Sizes of items as one number: a norm of their shares, with resources weighted by demand.

Shares are relative to the largest capacities, since raw units are not comparable. The families are
those of Panigrahy et al. 2011, "Heuristics for Vector Bin Packing", and of the comparison in
Computers & Operations Research (PII S0305054824003320).
"""

import dataclasses
from collections.abc import Callable
from types import MappingProxyType

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing.packing import instances

TINY = np.finfo(np.float64).tiny


def unit_weights(shares: arrays.Floats) -> arrays.Floats:
    """Return the same weight for all resources."""
    return np.ones(shares.shape[1])


def average_weights(shares: arrays.Floats) -> arrays.Floats:
    """Weight a resource by the average share that items request."""
    return np.asarray(shares.mean(axis=0)) if len(shares) else np.ones(shares.shape[1])


def exponential_weights(shares: arrays.Floats) -> arrays.Floats:
    """Weight a resource by the exponential of 0.01 times its summed shares.

    The factor 0.01 is Panigrahy et al.'s; the largest exponent is subtracted so that long lists do
    not overflow, which scales all weights equally.
    """
    exponent: arrays.Floats = 0.01 * shares.sum(axis=0)
    return np.asarray(np.exp(exponent - exponent.max(initial=0.0)))


def reciprocal_weights(shares: arrays.Floats) -> arrays.Floats:
    """Weight a resource by the reciprocal of its average share: rare large demands stand out."""
    average = average_weights(shares)
    return np.where(average > 0.0, 1.0 / np.maximum(average, TINY), 0.0)


WEIGHTS = MappingProxyType[str, Callable[[arrays.Floats], arrays.Floats]](
    {
        "unit": unit_weights,
        "average": average_weights,
        "exponential": exponential_weights,
        "reciprocal": reciprocal_weights,
    }
)
"""Weights of resources by name."""


def sum_norm(shares: arrays.Floats) -> arrays.Floats:
    """Return the sum of shares of each item."""
    return np.asarray(shares.sum(axis=1))


def square_norm(shares: arrays.Floats) -> arrays.Floats:
    """Return the Euclidean norm of the shares of each item."""
    return np.asarray(np.sqrt((shares * shares).sum(axis=1)))


def largest_norm(shares: arrays.Floats) -> arrays.Floats:
    """Return the largest share of each item."""
    return np.asarray(shares.max(axis=1, initial=0.0))


def product_norm(shares: arrays.Floats) -> arrays.Floats:
    """Return the product of shares, as a sum of logarithms; a share of 0 counts as 1e-9."""
    return np.asarray(np.log(np.maximum(shares, 1e-9)).sum(axis=1))


NORMS = MappingProxyType[str, Callable[[arrays.Floats], arrays.Floats]](
    {"l1": sum_norm, "l2": square_norm, "linf": largest_norm, "product": product_norm}
)
"""Norms by name."""


@dataclasses.dataclass(frozen=True, slots=True)
class ItemSize:
    """A measure of size: a norm of ``NORMS`` and weights of ``WEIGHTS``."""

    norm: str
    weights: str = "unit"

    @property
    def name(self) -> str:
        """Name of the measure in names of heuristics."""
        return self.norm if self.weights == "unit" else f"{self.norm}-{self.weights}"


ALL = (
    *(ItemSize(norm, weights) for norm in ("l1", "l2", "linf") for weights in WEIGHTS),
    ItemSize("product"),
)
"""All measures; weights do not change the order of products."""


BASIC = (ItemSize("linf"), ItemSize("l1"), ItemSize("l2"), ItemSize("l1", "average"))
"""One measure of each kind, for searches that try several."""


def shares(instance: instances.Instance) -> arrays.Floats:
    """Return demands as shares of the largest capacity of each resource."""
    capacities = [instance.shapes.capacity]
    if instance.existing is not None:
        capacities.append(instance.existing.capacity)
    largest = np.concatenate(capacities).max(axis=0, initial=0.0)
    result = np.zeros_like(instance.demands)
    np.divide(instance.demands, largest, out=result, where=largest > 0.0)
    return result


def decreasing(instance: instances.Instance, measure: ItemSize) -> arrays.Ints:
    """Return the items from largest to smallest; ties keep their order of arrival."""
    relative = shares(instance)
    sizes = NORMS[measure.norm](relative * WEIGHTS[measure.weights](relative))
    return np.argsort(-sizes, kind="stable").astype(np.int64)
