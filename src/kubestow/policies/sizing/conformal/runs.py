"""``conformal`` for runs: a bound on the peak of the next run from very few runs.

A job has few runs, so past scores cannot be ranked. Peaks are assumed log-normal, and the bound is
Student's prediction bound for one more value (mean plus ``t s sqrt(1 + 1/n)``; the next run exceeds
it with the given probability, over histories as well as over the run). The variance is *moderated*:
each container's own is shrunk towards that of the fleet, as strongly as the containers agree (Smyth
2004, Statistical Applications in Genetics and Molecular Biology 3(1), sections 4 and 6.2). If all
jobs repeat within 3 %, a few runs each are enough to know it; a single job has to show it alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from kubestow.model.arrays import Floats, Ints

# Without a fleet, runs are assumed to repeat within 2 %, worth one degree of freedom. Both are
# assumed, not measured; Böttcher 2023, 5.7 assumes spreads of 1 to 5 %.
ALONE_SPREAD: Final = 0.02
ALONE_FREEDOM: Final = 1.0
# Fewer containers are no evidence of how containers differ.
_LEAST_CONTAINERS: Final = 5
# Runs that repeat to the byte are still assumed to differ by a thousandth.
_LEAST_SPREAD: Final = 1e-3


@dataclass(frozen=True, slots=True)
class PeakSpread:
    """Prior of the spread of a container's runs, from the fleet.

    Attributes:
        deviation: Standard deviation of the logarithm of a run's peak.
        freedom: Degrees of freedom of this prior.
    """

    deviation: float
    freedom: float


@dataclass(frozen=True, slots=True, eq=False)
class RunPeaks:
    """Runs by container, on the logarithmic scale.

    Attributes:
        counts: Number of runs.
        means: Mean peak; NaN without runs.
        variances: Variance of the peaks; 0 below two runs.
        largest: Largest peak; NaN without runs.
    """

    counts: Ints
    means: Floats
    variances: Floats
    largest: Floats


def collect(logs: Floats, owners: Ints, containers: int) -> RunPeaks:
    """Return the runs of every container; NaN means no run."""
    known = ~np.isnan(logs)
    values, owner = logs[known], owners[known]
    counts: Ints = np.bincount(owner, minlength=containers).astype(np.int64)
    filled = np.maximum(counts, 1)
    means = np.bincount(owner, values, containers) / filled
    squares = np.bincount(owner, (values - means[owner]) ** 2, containers)
    largest = np.full(containers, -np.inf)
    np.maximum.at(largest, owner, values)
    none = counts == 0
    return RunPeaks(
        counts,
        np.where(none, np.nan, means),
        squares / np.maximum(counts - 1, 1),
        np.where(none, np.nan, largest),
    )


def find_spread(sample: RunPeaks) -> PeakSpread:
    """Estimate the prior of the spread from the fleet."""
    several = sample.counts >= 2
    if int(several.sum()) < _LEAST_CONTAINERS:
        return PeakSpread(ALONE_SPREAD, ALONE_FREEDOM)
    freedom = (sample.counts[several] - 1).astype(np.float64)
    logs = np.log(np.maximum(sample.variances[several], _LEAST_SPREAD**2))
    centred = logs - special.digamma(freedom / 2.0) + np.log(freedom / 2.0)
    excess = float(centred.var(ddof=1) - special.polygamma(1, freedom / 2.0).mean())
    # The prior has at most all degrees of freedom of the fleet.
    most = float(freedom.sum())
    own = most if excess <= 0.0 else min(2.0 * invert_trigamma(excess), most)
    mean = float(centred.mean())
    variance = np.exp(mean + special.digamma(own / 2.0) - np.log(own / 2.0))
    return PeakSpread(float(np.sqrt(variance)), own)


def invert_trigamma(value: float) -> float:
    """Return the argument at which the trigamma function has a value (Newton on its reciprocal).

    >>> round(invert_trigamma(float(special.polygamma(1, 2.5))), 9)
    2.5
    """
    place = 0.5 + 1.0 / value
    for _ in range(50):
        slope = float(special.polygamma(1, place))
        change = slope * (1.0 - slope / value) / float(special.polygamma(2, place))
        place += change
        if -change / place < 1e-10:
            break
    return place


def reach(sample: RunPeaks, spread: PeakSpread, missed: float) -> Floats:
    """Return the margin of the bound above the mean, by container, on the logarithmic scale."""
    own = np.maximum(sample.counts - 1, 0).astype(np.float64)
    freedom = own + spread.freedom
    variance = (spread.freedom * spread.deviation**2 + own * sample.variances) / freedom
    deviation = np.sqrt(np.maximum(variance, _LEAST_SPREAD**2))
    quantile: Floats = special.stdtrit(freedom, 1.0 - missed).astype(np.float64)
    widening = np.sqrt(1.0 + 1.0 / np.maximum(sample.counts, 1))
    margin: Floats = quantile * deviation * widening
    return margin
