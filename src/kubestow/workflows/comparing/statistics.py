"""Paired statistics over seeds: differences between two variants, with intervals and tests.

Every variant runs with the same seeds (common random numbers), so variants are compared seed by
seed: a seed is a replicate, minutes within a run are not. ``comparison`` uses this for every
measure; ``sum_scores`` has the sum of usage and response time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from kubestow.model.arrays import Floats

CONFIDENCE = 0.95
SIGNIFICANT = 0.05
# Relative size below which a difference is a rounding error of sums.
ROUNDING = 1e-12

TESTED, EQUAL, ALIKE, ALONE = "tested", "equal", "all alike", "one seed"


@dataclass(frozen=True, slots=True)
class PairedSummary:
    """Mean, half-width of its 95 % interval (``None`` for one value), and number of values."""

    mean: float
    half_width: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Paired:
    """A variant compared with the baseline, over their common seeds.

    Attributes:
        difference: Mean of the differences, variant minus baseline.
        low: Lower end of its 95 % interval (Student); ``None`` for one seed.
        high: Upper end.
        p: Two-sided paired t-test; 1 where all differences are 0; ``None`` if nothing can
            be tested: one seed, or the same difference in every seed.
        p_signed_rank: Exact two-sided Wilcoxon signed-rank test, without assuming normality.
        effect: Mean of the differences divided by their standard deviation.
        ratio: Mean of the variant divided by that of the baseline.
        ratio_low: Lower end of its 95 % interval (Fieller); ``None`` if it is unbounded.
        ratio_high: Upper end.
        n: Number of seeds.
        verdict: ``tested``, ``equal`` (in every seed), ``all alike`` (the same difference in every
            seed, so there is no variance to test against), or ``one seed``.
    """

    difference: float
    low: float | None
    high: float | None
    p: float | None
    p_signed_rank: float | None
    effect: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    n: int
    verdict: str


def differs_from_baseline(entry: Mapping[str, Any] | None) -> bool:
    """Return whether a difference from the baseline is significant after correction."""
    p = None if entry is None else entry["p_holm"]
    return p is not None and p < SIGNIFICANT


def summarise_pairs(values: Floats) -> PairedSummary:
    """Return mean and Student interval.

    >>> summary = summarise_pairs(np.array([1.0, 2.0, 3.0]))  # 4.3027 (t, 2 degrees) x 1 / sqrt(3)
    >>> summary.mean, round(summary.half_width, 4), summary.n
    (2.0, 2.4841, 3)
    """
    n = len(values)
    mean = float(values.mean())
    if n < 2:
        return PairedSummary(mean, None, n)
    return PairedSummary(mean, reach(n) * deviation(values, values) / math.sqrt(n), n)


def reach(n: int) -> float:
    """Return the half-width of the 95 % interval of a mean of ``n`` values, in standard errors."""
    return float(stats.t.ppf(0.5 + CONFIDENCE / 2.0, n - 1))


def deviation(values: Floats, scale: Floats) -> float:
    """Return the sample standard deviation; 0 where it is a rounding error at this scale."""
    spread = float(values.std(ddof=1))
    return spread if spread > ROUNDING * float(np.abs(scale).max()) else 0.0


def compare_pairs(values: Floats, reference: Floats) -> Paired:
    """Compare a variant with the baseline: one value per seed each, in the same order."""
    n = len(values)
    differences = values - reference
    mean = float(differences.mean())
    low_ratio, high_ratio = ratio_interval(values, reference)
    ratio = float(values.mean() / reference.mean()) if reference.mean() != 0.0 else None
    if n < 2:
        return Paired(mean, None, None, None, None, None, ratio, None, None, n, ALONE)
    scale = np.concatenate([values, reference])
    spread = deviation(differences, scale)
    if spread == 0.0:
        equal = abs(mean) <= ROUNDING * float(np.abs(scale).max())
        p, verdict = (1.0, EQUAL) if equal else (None, ALIKE)
        mean = 0.0 if equal else mean
        return Paired(mean, mean, mean, p, p, None, ratio, low_ratio, high_ratio, n, verdict)
    half = reach(n) * spread / math.sqrt(n)
    _, p = t_test(mean, spread, n)
    return Paired(
        difference=mean,
        low=mean - half,
        high=mean + half,
        p=p,
        p_signed_rank=signed_rank(differences),
        effect=mean / spread,
        ratio=ratio,
        ratio_low=low_ratio,
        ratio_high=high_ratio,
        n=n,
        verdict=TESTED,
    )


def t_test(mean: float, sample_deviation: float, n: int) -> tuple[float, float]:
    """Return t and the two-sided p of a mean difference.

    >>> t, p = t_test(1.0, 2.0, 16)  # 1 / (2 / 4)
    >>> t, round(p, 4)
    (2.0, 0.0639)
    """
    t = mean / (sample_deviation / math.sqrt(n))
    return t, float(2.0 * stats.t.sf(abs(t), n - 1))


def signed_rank(differences: Floats) -> float:
    """Return the exact two-sided p of Wilcoxon's signed-rank test, with ties.

    Zeros are left out, ties share their mean rank. The distribution of the rank sum over all signs
    is built rank by rank, in half ranks, without table or approximation.

    >>> signed_rank(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))  # 2 of 32 sign patterns
    0.0625
    """
    nonzero = differences[differences != 0.0]
    if not len(nonzero):
        return 1.0
    halves = np.rint(2.0 * stats.rankdata(np.abs(nonzero))).astype(np.int64)
    chances = np.ones(1)
    for rank in halves:
        step = np.zeros(rank + 1)
        step[[0, rank]] = 0.5
        chances = np.convolve(chances, step)
    positive = int(halves[nonzero > 0.0].sum())
    least = min(positive, int(halves.sum()) - positive)
    return min(1.0, 2.0 * float(chances[: least + 1].sum()))


def ratio_interval(values: Floats, reference: Floats) -> tuple[float | None, float | None]:
    """Return Fieller's interval of a ratio of paired means; ``None`` where the baseline may be 0.

    All ratios r with ``(a - r b)^2 <= t^2 var(a - r b)``, a quadratic inequality in r.
    """
    n = len(values)
    if n < 2 or reference.mean() == 0.0:
        return None, None
    squared = reach(n) ** 2 / n
    (vv, vr), (_, rr) = squared * np.cov(values, reference, ddof=1)
    a, b = values.mean(), reference.mean()
    first, half, last = b * b - rr, a * b - vr, a * a - vv
    if first <= 0.0:
        return None, None
    root = math.sqrt(max(half * half - first * last, 0.0))
    return float((half - root) / first), float((half + root) / first)


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return p-values corrected for their number (Holm 1979); untested ones stay ``None``.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]  # 3 x .01, 2 x .03, then not less
    [0.03, 0.06, 0.06]
    """
    tested = sorted((p, index) for index, p in enumerate(ps) if p is not None)
    corrected: list[float | None] = [None] * len(ps)
    largest = 0.0
    for rank, (p, index) in enumerate(tested):
        largest = max(largest, min(1.0, p * (len(tested) - rank)))
        corrected[index] = largest
    return corrected
