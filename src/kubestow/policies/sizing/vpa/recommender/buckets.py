"""Buckets and weight thresholds of the histograms (``pkg/recommender/util``, VPA 1.7).

The histograms themselves are arrays (``banks``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from kubestow.model import errors
from kubestow.policies.sizing.vpa.recommender import floats

LEAST_WEIGHT = 0.1
"""Weight of a CPU sample since 1.4.0, smallest weight before (``minSampleWeight``)."""

EPSILON = 0.0001
"""A bucket with less weight, a thousandth of the above, counts as empty."""


@dataclass(frozen=True, slots=True)
class ExponentialBuckets:
    """Buckets whose widths grow by a constant ratio.

    Attributes:
        largest: The last bucket begins at or above this value.
        first: Width of the first bucket, which begins at 0.
        ratio: Width of a bucket relative to the previous one.
        epsilon: Weight below which a bucket counts as empty.
        count: Number of buckets.
        starts: Smallest value of every bucket.
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
        count = math.ceil(self.index(self.largest)) + 1
        object.__setattr__(self, "count", count)
        object.__setattr__(self, "starts", tuple(self._start(n) for n in range(count)))

    def index(self, value: float) -> float:
        """Return the fractional bucket index of a value; its integer part is the bucket."""
        return floats.log(value * (self.ratio - 1.0) / self.first + 1.0) / floats.log(self.ratio)

    def _start(self, bucket: int) -> float:
        if bucket == 0:
            return 0.0
        return self.first * (floats.power(self.ratio, bucket) - 1.0) / (self.ratio - 1.0)


# pkg/recommender/model/aggregations_config.go: 0.01 to 1000 cores, 10 MB to 1 TB, 5 % wider each.
CPU_BUCKETS = ExponentialBuckets(1000.0, 0.01, 1.0 + 0.05, EPSILON)
MEMORY_BUCKETS = ExponentialBuckets(1e12, 1e7, 1.0 + 0.05, EPSILON)

MOST_EXPONENT: Final = 100
"""Half-lives after which the reference instant is moved (``maxDecayExponent``)."""
