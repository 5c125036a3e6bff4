"""Means, standard errors, paired intervals and z-scores of counts."""

import dataclasses
import math

from scipy import stats

from kubestow.model.arrays import Ints

DIGITS = 6
"""Decimals kept in result files: far below any standard error, and the same on every machine."""


@dataclasses.dataclass(frozen=True, slots=True)
class CountSummary:
    """Mean, standard error of the mean, and number of observations."""

    mean: float
    standard_error: float
    n: int


def summarise_counts(values: Ints) -> CountSummary:
    """Summarise integers; sums are exact, so the order of summation does not matter.

    >>> import numpy as np
    >>> summarise_counts(np.array([1, 2, 3]))
    CountSummary(mean=2.0, standard_error=0.5773502691896257, n=3)
    """
    n = len(values)
    total = int(values.sum())
    squares = int((values * values).sum())
    if n < 2:
        return CountSummary(float(total), math.nan, n)
    variance = (squares * n - total * total) / (n * (n - 1))
    return CountSummary(total / n, math.sqrt(variance / n), n)


def score_against(summary: CountSummary, reported: float, reported_n: int) -> float:
    """Return the difference to a reported mean in combined standard errors.

    The report gives no standard error; its mean is assumed to have the spread measured here:
    ``z = (mean - reported) / sqrt(se**2 (1 + n / reported_n))``.

    >>> score_against(CountSummary(101.0, 0.6, 100), 100.0, 100)
    1.1785113019775793
    """
    spread = summary.standard_error * math.sqrt(1.0 + summary.n / reported_n)
    difference = summary.mean - reported
    if spread > 0.0:
        return difference / spread
    return 0.0 if difference == 0.0 else math.copysign(math.inf, difference)


def paired_interval(
    values: Ints, reference: Ints, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return the mean difference of paired counts and its Student interval: mean, low, high."""
    difference = summarise_counts(values - reference)
    if difference.n < 2 or difference.standard_error == 0.0:
        return difference.mean, difference.mean, difference.mean
    reach = float(stats.t.ppf(0.5 + confidence / 2.0, difference.n - 1))
    half = reach * difference.standard_error
    return difference.mean, difference.mean - half, difference.mean + half


def root_mean_square(values: list[float]) -> float:
    """Return the root of the mean square.

    >>> root_mean_square([3.0, 4.0])
    3.5355339059327378
    """
    return math.sqrt(math.fsum(value * value for value in values) / len(values))


def rounded(value: float) -> float:
    """Round for result files."""
    return round(value, DIGITS)
