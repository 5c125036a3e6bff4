"""The sum of resource usage and quality of service of McNaughton 2016, with a sound test.

For every minute ``S = z(ERU) - z(response time)``, z over all minutes of both methods (population
standard deviation; McNaughton 2016, 4.4). The thesis pairs minutes and takes ``mean / sd`` for a
z-score, without the root of their number, and treats minutes as replicates. Here minutes are paired
by time, one mean per seed is taken, and seeds are the replicates (``statistics.compare_pairs``).
For a single seed, a bootstrap over blocks of minutes gives the interval within that run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from kubestow.model.arrays import Floats
from kubestow.workflows.comparing import statistics

RESAMPLES = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Minutes:
    """One run, minute by minute.

    Attributes:
        time_s: End of every minute.
        eru: CPU used divided by CPU requested; NaN where nothing is requested.
        response_s: Mean response time; NaN where nothing was served.
    """

    time_s: Floats
    eru: Floats
    response_s: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """S of a variant minus S of the baseline per minute, and its two terms."""

    total: Floats
    eru: Floats
    response: Floats


@dataclass(frozen=True, slots=True)
class MomentTest:
    """A paired t-test computed from printed moments."""

    t: float
    p_greater: float
    p_two_sided: float


def standardise(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return both as z-scores over the pooled values; all 0 if nothing varies."""
    both = np.concatenate([first, second])
    spread = float(both.std()) if len(both) else 0.0
    if spread <= statistics.ROUNDING * float(np.abs(both).max(initial=0.0)):
        return np.zeros_like(first), np.zeros_like(second)
    mean = float(both.mean())
    return (first - mean) / spread, (second - mean) / spread


def differ_in_sum(variant: Minutes, baseline: Minutes) -> Difference:
    """Return the difference of S, over the minutes in which both methods have all values.

    Minutes are matched by time: cutting the longer run anywhere would pair wrong minutes.
    """
    _, here, there = np.intersect1d(variant.time_s, baseline.time_s, return_indices=True)
    columns = np.stack(
        [
            variant.eru[here],
            baseline.eru[there],
            variant.response_s[here],
            baseline.response_s[there],
        ]
    )
    columns = columns[:, np.isfinite(columns).all(axis=0)]
    eru, eru_before = standardise(columns[0], columns[1])
    response, response_before = standardise(columns[2], columns[3])
    gain, relief = eru - eru_before, response_before - response
    return Difference(gain + relief, gain, relief)


def bootstrap_interval(
    differences: Floats, rng: np.random.Generator, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return a 95 % interval of the mean of an autocorrelated series.

    Circular block bootstrap (Politis and Romano 1992). Blocks of ``sqrt(n)`` minutes: longer than
    the usual ``n^(1/3)``, because traffic and replicas change slowly.
    """
    n = len(differences)
    length = math.ceil(math.sqrt(n))
    blocks = math.ceil(n / length)
    around = np.concatenate([differences, differences[: length - 1]])
    sums = np.convolve(around, np.ones(length), mode="valid")
    starts = rng.integers(0, n, size=(resamples, blocks))
    means = sums[starts].sum(axis=1) / (blocks * length)
    tail = (1.0 - statistics.CONFIDENCE) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return float(low), float(high)


def legacy_test(differences: Floats) -> tuple[float, float]:
    """Return z and one-sided p as the thesis computed them: not divided by the root of n.

    Kept to compare with its printed numbers; never used for a verdict.
    """
    z = float(differences.mean() / differences.std())
    return z, float(stats.norm.sf(z))


def check_moments(mean: float, population_deviation: float, n: int) -> MomentTest:
    """Return the paired t-test for a printed mean, population deviation and number."""
    t, p = statistics.t_test(mean, population_deviation * math.sqrt(n / (n - 1)), n)
    return MomentTest(t, float(stats.t.sf(t, n - 1)), p)
