"""Measures of sizing: how often an amount was exceeded, and how much of it was not needed.

An estimator is a line: an offset and a slope per series and window, so that one knob (a margin, a
number of deviations) gives its whole curve without computing it again. Two estimators are compared
where they miss equally often. Series are the replicates: intervals come from resampling series with
all their windows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Floats

_DRAWS = 1000
# Bisection steps over the range of the knob: the share missed is a step function.
_HALVINGS = 60


@dataclass(frozen=True, slots=True, eq=False)
class FrontierLine:
    """An estimator as a function of one knob.

    Attributes:
        offset: Amount with the knob at 0, by series and window.
        slope: Increase per unit of the knob.
        least: Minimum amount.
        most: Maximum setting of the knob.
    """

    offset: Floats
    slope: Floats
    least: float
    most: float

    def at(self, knob: float) -> Floats:
        """Return amounts by series and window; NaN where there is no estimate."""
        return np.maximum(self.offset + knob * self.slope, self.least)


@dataclass(frozen=True, slots=True)
class SizingMeasures:
    """Measures of one estimator.

    Attributes:
        missed: Share of windows that needed more.
        missed_low: Lower end of its 95 % interval over series.
        missed_high: Upper end.
        summed: Surplus as a share of the need, summed over all series.
        mean: The same by series, averaged over series; needs count at least as the minimum amount,
            so that idle series have a finite weight.
        series: Number of series.
        windows: Number of windows.
        thirds: Share missed in the third of series whose needs vary least, in the middle third,
            and in the third whose needs vary most.
    """

    missed: float
    missed_low: float
    missed_high: float
    summed: float
    mean: float
    series: int
    windows: int
    thirds: tuple[float, ...]


def known(needed: Floats, given: Floats) -> NDArray[np.bool_]:
    """Return where both values are known."""
    return np.isfinite(needed) & np.isfinite(given)


def measure(needed: Floats, given: Floats, least: float, seed: int) -> SizingMeasures:
    """Return the measures of given amounts.

    Args:
        needed: Amounts needed, by series and window; NaN if unknown.
        given: Amounts given, by series and window; NaN if unknown.
        least: Lower bound of needs in the mean over series.
        seed: Seed of the intervals.
    """
    here = known(needed, given)
    rows = here.any(axis=1)
    here, needed, given = here[rows], needed[rows], given[rows]
    counts = here.sum(axis=1)
    missed = (here & (needed > given)).sum(axis=1)
    sums = np.where(here, given, 0.0).sum(axis=1)
    needs = np.where(here, needed, 0.0).sum(axis=1)
    floored = np.where(here, np.maximum(needed, least), 0.0).sum(axis=1)
    drawn = draw(len(counts), seed)
    shares = (drawn @ missed) / (drawn @ counts)
    low, high = np.quantile(shares, [0.025, 0.975])
    return SizingMeasures(
        float(missed.sum() / counts.sum()),
        float(low),
        float(high),
        float(sums.sum() / needs.sum() - 1.0),
        float((sums / floored).mean() - 1.0),
        len(counts),
        int(counts.sum()),
        split(needed, here, missed),
    )


def split(needed: Floats, here: NDArray[np.bool_], missed: NDArray[np.int64]) -> tuple[float, ...]:
    """Return the share missed by thirds of series, by increasing variation."""
    counts = here.sum(axis=1)
    means = np.where(here, needed, 0.0).sum(axis=1) / counts
    squares = np.where(here, (needed - means[:, np.newaxis]) ** 2, 0.0).sum(axis=1) / counts
    order = np.argsort(np.sqrt(squares) / np.maximum(means, 1e-300), kind="stable")
    parts = [part for part in np.array_split(order, 3) if len(part)]
    return tuple(float(missed[part].sum() / counts[part].sum()) for part in parts)


def draw(count: int, seed: int) -> Floats:
    """Return how often each series is drawn, by draw and series."""
    rng = np.random.default_rng(seed)
    counts: Floats = rng.multinomial(count, np.full(count, 1.0 / count), size=_DRAWS).astype(
        np.float64
    )
    return counts


def find_knob(needed: Floats, line: FrontierLine, missed: float) -> float | None:
    """Return the smallest knob that misses at most a share; ``None`` if none in range does."""
    here = known(needed, line.at(1.0))
    if not here.any() or _missed(needed, line.at(line.most), here) > missed:
        return None
    low, high = 0.0, line.most
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if _missed(needed, line.at(middle), here) > missed:
            low = middle
        else:
            high = middle
    return high


def _missed(needed: Floats, given: Floats, here: NDArray[np.bool_]) -> float:
    return float((needed[here] > given[here]).mean())


def compare(needed: Floats, ours: Floats, theirs: Floats, seed: int) -> tuple[float, float, float]:
    """Return the ratio of summed amounts, ours / theirs, with its interval over series."""
    here = known(needed, ours) & np.isfinite(theirs)
    mine = np.where(here, ours, 0.0).sum(axis=1)
    other = np.where(here, theirs, 0.0).sum(axis=1)
    drawn = draw(len(mine), seed)
    low, high = np.quantile((drawn @ mine) / np.maximum(drawn @ other, 1e-300), [0.025, 0.975])
    return float(mine.sum() / other.sum()), float(low), float(high)
