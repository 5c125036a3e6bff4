"""Measures of sizing: how often an amount was missed, how much of it was not needed.

A way to size is a line: an offset and a slope per series and window, so that turning one knob (a
margin, a number of deviations) gives its whole curve without asking it again. Two ways are compared
where they miss equally often. Series are replicates: intervals come from drawing series again with
all their windows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Floats

_DRAWS = 1000
# Halvings of the knob's range: the share missed is a step function and needs no more.
_HALVINGS = 60


@dataclass(frozen=True, slots=True, eq=False)
class FrontierLine:
    """A way to size.

    Attributes:
        offset: What is given with the knob at 0, by series and window.
        slope: What is given more per unit of the knob.
        least: Nothing below this is given.
        most: Largest setting of the knob that is looked at.
    """

    offset: Floats
    slope: Floats
    least: float
    most: float

    def at(self, knob: float) -> Floats:
        """Return amounts by series and window; NaN where it has no answer."""
        return np.maximum(self.offset + knob * self.slope, self.least)


@dataclass(frozen=True, slots=True)
class MeasuredWay:
    """How a way did.

    Attributes:
        missed: Share of windows that needed more.
        missed_low: Lower end of its 95 % interval over series.
        missed_high: Upper end.
        summed: What was given more than needed, as a share of what was needed, over all.
        mean: The same by series, averaged over series; needs count at least as much as the least
            amount, so that idle series do not count infinitely.
        series: How many series.
        windows: How many windows.
        thirds: Share missed in the third of series whose needs vary least, in the middle one, and
            in the one whose needs vary most.
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
    """Return where both are known."""
    return np.isfinite(needed) & np.isfinite(given)


def measure(needed: Floats, given: Floats, least: float, seed: int) -> MeasuredWay:
    """Return how a way did.

    Args:
        needed: By series and window; NaN if not known.
        given: As above.
        least: Needs below count as this in the mean over series.
        seed: Of the intervals.
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
    return MeasuredWay(
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
    """Return the share missed by thirds of series, from calm to restless ones."""
    counts = here.sum(axis=1)
    means = np.where(here, needed, 0.0).sum(axis=1) / counts
    squares = np.where(here, (needed - means[:, np.newaxis]) ** 2, 0.0).sum(axis=1) / counts
    order = np.argsort(np.sqrt(squares) / np.maximum(means, 1e-300), kind="stable")
    parts = [part for part in np.array_split(order, 3) if len(part)]
    return tuple(float(missed[part].sum() / counts[part].sum()) for part in parts)


def draw(count: int, seed: int) -> Floats:
    """Return how often each series is drawn, by draw and series."""
    rng = np.random.default_rng(seed)
    found: Floats = rng.multinomial(count, np.full(count, 1.0 / count), size=_DRAWS).astype(
        np.float64
    )
    return found


def find_knob(needed: Floats, line: FrontierLine, missed: float) -> float | None:
    """Return the smallest knob that misses at most a share; ``None`` if none within reach does."""
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
    """Return what we give by what they give in sum, with the ends of its interval over series."""
    here = known(needed, ours) & np.isfinite(theirs)
    mine = np.where(here, ours, 0.0).sum(axis=1)
    other = np.where(here, theirs, 0.0).sum(axis=1)
    drawn = draw(len(mine), seed)
    low, high = np.quantile((drawn @ mine) / np.maximum(drawn @ other, 1e-300), [0.025, 0.975])
    return float(mine.sum() / other.sum()), float(low), float(high)
