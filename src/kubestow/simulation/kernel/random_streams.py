"""Random numbers that depend on their purpose, not on the order in which they are drawn.

A number is a hash of the seed, a purpose, a subject and a counter. So the start-up time of the
third pod of a workload, or the noise of its usage at noon, is the same under all policies (common
random numbers), and differences between policies are not blurred by chance.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

from kubestow.policies.compiling import compiled

_MASK = 0xFFFFFFFFFFFFFFFF
# Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators": SplitMix64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_UNIT = 2.0**-53


def stream_key(seed: int, *purpose: str | int) -> int:
    """Return a 63-bit key for a purpose, e.g. ``key(7, "startup", "shop/web", 3)``."""
    text = "\x1f".join(map(str, (seed, *purpose)))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") & (_MASK >> 1)


def make_generator(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return a generator for a purpose."""
    return np.random.default_rng(stream_key(seed, *purpose))


@compiled
def uniform(stream: int, counter: int) -> float:
    """Return a number above 0 and below 1."""
    state = np.uint64(stream) + np.uint64(counter + 1) * _GOLDEN
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    state = state ^ (state >> np.uint64(31))
    return (float(state >> np.uint64(11)) + 0.5) * _UNIT


@compiled
def normal(stream: int, counter: int) -> float:
    """Return a standard normal number (Box-Muller of two hashes)."""
    radius = math.sqrt(-2.0 * math.log(uniform(stream, 2 * counter)))
    return radius * math.cos(2.0 * math.pi * uniform(stream, 2 * counter + 1))


def lognormal(stream: int, counter: int, mean: float, deviation: float) -> float:
    """Return a positive number with a mean and a standard deviation."""
    if mean <= 0.0 or deviation <= 0.0:
        return max(mean, 0.0)
    variance = math.log1p((deviation / mean) ** 2)
    z = normal(stream, counter)
    return mean * math.exp(math.sqrt(variance) * z - variance / 2)
