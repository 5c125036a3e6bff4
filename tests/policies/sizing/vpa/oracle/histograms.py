"""Histograms with weights, plain and decaying (``pkg/recommender/util``, VPA 1.7).

A ``Histogram`` belongs to whoever made it and changes in place; ``copy`` gives an independent one.
A decaying one multiplies the weight of a sample by two to the power of its age against a reference
instant in half-lives, so that newer samples weigh more without touching the old ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

from kubestow.model import errors
from kubestow.policies.sizing.vpa.recommender import buckets as shipped
from kubestow.policies.sizing.vpa.recommender import floats
from kubestow.policies.sizing.vpa.recommender.buckets import EPSILON, MOST_EXPONENT
from tests.policies.sizing.vpa.oracle import instants


class Buckets(Protocol):
    """How values are sorted into buckets."""

    @property
    def count(self) -> int:
        """Number of buckets."""

    @property
    def epsilon(self) -> float:
        """Weight below which a bucket counts as empty."""

    def find(self, value: float) -> int:
        """Return the bucket of a value; the nearest one if it lies outside of all."""

    def start(self, bucket: int) -> float:
        """Return the least value of a bucket."""


@dataclass(frozen=True, slots=True)
class LinearBuckets:
    """Buckets of equal width, the first beginning at 0."""

    largest: float
    width: float
    epsilon: float
    count: int = field(init=False)

    def __post_init__(self) -> None:
        if self.largest <= 0.0 or self.width <= 0.0 or self.epsilon <= 0.0:
            raise errors.InputError("buckets", f"{self.width}: all sizes must be > 0")
        object.__setattr__(self, "count", math.ceil(self.largest / self.width) + 1)

    def find(self, value: float) -> int:
        """Return the bucket of a value."""
        return min(max(int(value / self.width), 0), self.count - 1)

    def start(self, bucket: int) -> float:
        """Return the least value of a bucket."""
        return float(bucket) * self.width


@dataclass(frozen=True, slots=True)
class ExponentialBuckets(shipped.ExponentialBuckets):
    """The buckets that ship, and what upstream's tests ask of them."""

    def find(self, value: float) -> int:
        """Return the bucket of a value."""
        if value < self.first:
            return 0
        return min(int(self.index(value)), self.count - 1)

    def start(self, bucket: int) -> float:
        """Return the least value of a bucket."""
        return self.starts[bucket]


CPU_BUCKETS = ExponentialBuckets(1000.0, 0.01, 1.0 + 0.05, EPSILON)
MEMORY_BUCKETS = ExponentialBuckets(1e12, 1e7, 1.0 + 0.05, EPSILON)


@dataclass(slots=True)
class Histogram:
    """Weights of samples by bucket.

    Attributes:
        buckets: Borders of the buckets.
        weights: Weight of every bucket.
        total: Sum of the weights, kept apart as upstream does.
        first: First bucket that is not empty; the last of all if every one is.
        last: Last bucket that is not empty; 0 if every one is.
    """

    buckets: Buckets
    weights: list[float] = field(default_factory=list)
    total: float = 0.0
    first: int = -1
    last: int = 0

    def __post_init__(self) -> None:
        if not self.weights:
            self.weights = [0.0] * self.buckets.count
            self.first = self.buckets.count - 1

    def copy(self) -> Histogram:
        """Return an independent copy."""
        return Histogram(self.buckets, self.weights.copy(), self.total, self.first, self.last)

    @property
    def empty(self) -> bool:
        """Tell whether no bucket holds anything."""
        return self.weights[self.first] < self.buckets.epsilon

    def add(self, value: float, weight: float) -> None:
        """Add a sample."""
        bucket = self.buckets.find(value)
        self.weights[bucket] += weight
        self.total += weight
        if self.weights[bucket] >= self.buckets.epsilon:
            self.first = min(self.first, bucket)
            self.last = max(self.last, bucket)

    def subtract(self, value: float, weight: float) -> None:
        """Take a sample out again; what would fall below epsilon becomes 0."""
        bucket = self.buckets.find(value)
        self.total = self._less(self.total, weight)
        self.weights[bucket] = self._less(self.weights[bucket], weight)
        self.tighten()

    def _less(self, value: float, weight: float) -> float:
        value -= weight
        return 0.0 if value < self.buckets.epsilon else value

    def merge(self, other: Histogram) -> None:
        """Add all samples of another histogram with the same buckets."""
        for bucket in range(other.first, other.last + 1):
            self.weights[bucket] += other.weights[bucket]
        self.total += other.total
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)

    def percentile(self, share: float) -> float:
        """Return the end of the bucket in which a share of the weight is reached.

        Args:
            share: From 0 to 1, e.g. 0.9 for the 90th percentile.
        """
        if self.empty:
            return 0.0
        threshold = share * self.total
        reached = 0.0
        bucket = self.first
        while bucket < self.last:
            reached += self.weights[bucket]
            if reached >= threshold:
                break
            bucket += 1
        # The last bucket has no end, so its start is returned.
        return self.buckets.start(min(bucket + 1, self.buckets.count - 1))

    def scale(self, factor: float) -> None:
        """Multiply all weights."""
        for bucket in range(self.first, self.last + 1):
            self.weights[bucket] *= factor
        self.total *= factor
        self.tighten()

    def tighten(self) -> None:
        """Move the first and the last bucket past those that have become empty."""
        while (
            self.weights[self.first] < self.buckets.epsilon and self.first < len(self.weights) - 1
        ):
            self.first += 1
        while self.weights[self.last] < self.buckets.epsilon and self.last > 0:
            self.last -= 1


@dataclass(slots=True)
class DecayingHistogram:
    """A histogram that forgets: weights halve with every half-life.

    Attributes:
        plain: The weights, as of the reference instant.
        half_life_ns: Time in which a sample loses half its weight.
        reference_ns: The reference instant, a multiple of the half-life once it is set.
    """

    plain: Histogram
    half_life_ns: int
    reference_ns: int = instants.UNSET_NS

    def copy(self) -> DecayingHistogram:
        """Return an independent copy."""
        return DecayingHistogram(self.plain.copy(), self.half_life_ns, self.reference_ns)

    @property
    def empty(self) -> bool:
        """Tell whether no bucket holds anything."""
        return self.plain.empty

    def percentile(self, share: float) -> float:
        """Return the end of the bucket in which a share of the weight is reached."""
        return self.plain.percentile(share)

    def add(self, value: float, weight: float, time_ns: int) -> None:
        """Add a sample of an instant."""
        self.plain.add(value, weight * self.factor(time_ns))

    def subtract(self, value: float, weight: float, time_ns: int) -> None:
        """Take a sample of an instant out again."""
        self.plain.subtract(value, weight * self.factor(time_ns))

    def merge(self, other: DecayingHistogram) -> None:
        """Add all samples of another one, which is brought to the same reference instant."""
        if self.reference_ns < other.reference_ns:
            self.shift(other.reference_ns)
        elif other.reference_ns < self.reference_ns:
            other.shift(self.reference_ns)
        self.plain.merge(other.plain)

    def shift(self, reference_ns: int) -> None:
        """Move the reference instant to the nearest multiple of the half-life."""
        reference_ns = instants.round_to(reference_ns, self.half_life_ns)
        half_lives = instants.ratio(
            instants.between(reference_ns, self.reference_ns), self.half_life_ns
        )
        self.plain.scale(math.ldexp(1.0, math.floor(half_lives + 0.5)))
        self.reference_ns = reference_ns

    def factor(self, time_ns: int) -> float:
        """Return what a weight of an instant is multiplied by; may move the reference instant."""
        if time_ns > self.reference_ns + self.half_life_ns * MOST_EXPONENT:
            self.shift(time_ns)
        age_ns = instants.between(self.reference_ns, time_ns)
        return floats.exp2(instants.ratio(age_ns, self.half_life_ns))
