"""``conformal`` for runs: a bound on the peak of the next run from very few runs.

A job's runs are few, so scores of the past cannot be ranked. Peaks are taken for log-normal, and
the bound is Student's prediction bound for one more value (mean and ``t s sqrt(1 + 1/n)``: the
chance that the next run exceeds it is the asked one, over histories as well as over the run). The
variance is *moderated*: each container's own is drawn towards that of the fleet, as strongly as the
containers agree (Smyth 2004, Statistical Applications in Genetics and Molecular Biology 3(1),
sections 4 and 6.2). Jobs that all repeat within 3 % are known to do so after a few runs each; a
lonely job has to show it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special, stats

from kubestow.model.arrays import Floats, Ints

# Without a fleet: runs are thought to repeat within 2 %, which counts as one comparison. Both are
# stated, not measured; Böttcher 2023, 5.7 reckons with spreads of 1 to 5 %.
ALONE_SPREAD: Final = 0.02
ALONE_FREEDOM: Final = 1.0
# Fewer containers than these say nothing about how containers differ.
_LEAST_CONTAINERS: Final = 5
# Runs that repeat to the byte are still thought to differ by a thousandth.
_LEAST_SPREAD: Final = 1e-3


@dataclass(frozen=True, slots=True)
class PeakSpread:
    """How much runs of a container differ, before its own runs are looked at.

    Attributes:
        deviation: Standard deviation of the logarithm of a run's peak.
        freedom: How many comparisons of runs this is worth.
    """

    deviation: float
    freedom: float


@dataclass(frozen=True, slots=True, eq=False)
class RunPeaks:
    """Runs by container, on the logarithmic scale.

    Attributes:
        counts: How many.
        means: Their mean; NaN where there is none.
        variances: Their variance; 0 below two runs.
        largest: The largest; NaN where there is none.
    """

    counts: Ints
    means: Floats
    variances: Floats
    largest: Floats


def collect(logs: Floats, owners: Ints, containers: int) -> RunPeaks:
    """Return the runs of every container; NaN is no run."""
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
    """Return what the fleet says about the spread of a container's runs."""
    several = sample.counts >= 2
    if int(several.sum()) < _LEAST_CONTAINERS:
        return PeakSpread(ALONE_SPREAD, ALONE_FREEDOM)
    freedom = (sample.counts[several] - 1).astype(np.float64)
    logs = np.log(np.maximum(sample.variances[several], _LEAST_SPREAD**2))
    centred = logs - special.digamma(freedom / 2.0) + np.log(freedom / 2.0)
    excess = float(centred.var(ddof=1) - special.polygamma(1, freedom / 2.0).mean())
    # No fleet is known better than by all comparisons it has made.
    most = float(freedom.sum())
    own = most if excess <= 0.0 else min(2.0 * invert_trigamma(excess), most)
    mean = float(centred.mean())
    variance = np.exp(mean + special.digamma(own / 2.0) - np.log(own / 2.0))
    return PeakSpread(float(np.sqrt(variance)), own)


def invert_trigamma(value: float) -> float:
    """Return where the trigamma function has a value (Newton's method on its reciprocal).

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
    """Return how far above the mean the bound lies, by container, on the logarithmic scale."""
    own = np.maximum(sample.counts - 1, 0).astype(np.float64)
    freedom = own + spread.freedom
    variance = (spread.freedom * spread.deviation**2 + own * sample.variances) / freedom
    deviation = np.sqrt(np.maximum(variance, _LEAST_SPREAD**2))
    quantile = stats.t.ppf(1.0 - missed, freedom)
    widening = np.sqrt(1.0 + 1.0 / np.maximum(sample.counts, 1))
    found: Floats = quantile * deviation * widening
    return found
