"""Borders of a histogram's buckets (``pkg/recommender/util/histogram_options.go``, VPA 1.7)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol

from kubestow.model import errors
from kubestow.policies.sizing.vpa import floats

LEAST_WEIGHT = 0.1
"""Weight of a CPU sample since 1.4.0, least weight of one before (``minSampleWeight``)."""

EPSILON = 0.0001
"""A bucket that holds less, a thousandth of that weight, counts as empty."""


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
    """Buckets of equal width, the first beginning at nought."""

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
class ExponentialBuckets:
    """Buckets that each are wider than the last by one ratio.

    Attributes:
        largest: The last bucket begins at or above this value.
        first: Width of the first bucket, which begins at nought.
        ratio: Width of a bucket over that of the one before.
        epsilon: Weight below which a bucket counts as empty.
        count: Number of buckets.
        starts: Least value of every bucket.
    """

    largest: float
    first: float
    ratio: float
    epsilon: float
    count: int = field(init=False)
    starts: tuple[float, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if min(self.largest, self.first, self.epsilon) <= 0.0 or self.ratio <= 1.0:
            raise errors.InputError(
                "buckets", f"{self.first}, {self.ratio}: sizes must be > 0, the ratio > 1"
            )
        count = math.ceil(self._index(self.largest)) + 1
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "starts", tuple(self._start(n) for n in range(count)))

    def find(self, value: float) -> int:
        """Return the bucket of a value."""
        if value < self.first:
            return 0
        return min(int(self._index(value)), self.count - 1)

    def start(self, bucket: int) -> float:
        """Return the least value of a bucket."""
        return self.starts[bucket]

    def _index(self, value: float) -> float:
        return floats.log(value * (self.ratio - 1.0) / self.first + 1.0) / floats.log(self.ratio)

    def _start(self, bucket: int) -> float:
        if bucket == 0:
            return 0.0
        return self.first * (floats.power(self.ratio, bucket) - 1.0) / (self.ratio - 1.0)


# pkg/recommender/model/aggregations_config.go: 0.01 to 1000 cores, 10 MB to 1 TB, 5 % wider each.
CPU_BUCKETS = ExponentialBuckets(1000.0, 0.01, 1.0 + 0.05, EPSILON)
MEMORY_BUCKETS = ExponentialBuckets(1e12, 1e7, 1.0 + 0.05, EPSILON)
