"""The load from which processing time rises, by a rule fixed before measuring.

Schubert 2023 reads box plots for "the load just before median and dispersion rise" (5.4). Here, a
level has *risen* if its median lies more than 10 % above that of the idle machine, or its
interquartile range has grown by more than 10 % of that median, each only if a one-sided
Mann-Whitney test agrees (for the range: on distances from the own median) with p < 0.05 after
Holm's correction for all levels and both questions. The limit lies between two neighbouring levels
if every level from the upper one on has risen, and the lower one has not. Ranges are compared with
the median, since doubling a range of a millisecond does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import stats

from kubestow.model.arrays import Floats
from kubestow.workflows import comparing

RISE: Final = 0.10
RULE: Final = (
    "a level has risen if its median exceeds the idle one by more than 10 %, or its interquartile "
    "range grew by more than 10 % of the idle median, with one-sided Mann-Whitney p < 0.05 (Holm "
    "over all levels and both questions); the limit is where all levels above have risen"
)


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A level of background load (in any unit) and the times measured at it."""

    load: float
    values: Floats


@dataclass(frozen=True, slots=True)
class LoadChange:
    """A level compared with the idle machine.

    Attributes:
        load: The level.
        median_ratio: Its median / the idle median.
        range_growth: Growth of the interquartile range, in idle medians.
        p_median: Corrected p of "times are longer".
        p_range: Corrected p of "times scatter more".
    """

    load: float
    median_ratio: float
    range_growth: float
    p_median: float
    p_range: float

    @property
    def slower(self) -> bool:
        """Whether times are longer."""
        return self.median_ratio > 1.0 + RISE and self.p_median < comparing.SIGNIFICANT

    @property
    def wider(self) -> bool:
        """Whether times scatter more."""
        return self.range_growth > RISE and self.p_range < comparing.SIGNIFICANT

    @property
    def risen(self) -> bool:
        """Whether the level is worse than idle."""
        return self.slower or self.wider

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "load": self.load,
            "median_ratio": comparing.rounded(self.median_ratio),
            "range_growth": comparing.rounded(self.range_growth),
            "p_median": comparing.rounded(self.p_median),
            "p_range": comparing.rounded(self.p_range),
            "slower": self.slower,
            "wider": self.wider,
        }


@dataclass(frozen=True, slots=True)
class Limit:
    """Result of the rule.

    Attributes:
        changes: Every level above idle.
        last_good: The highest level that has not risen; idle counts as such.
        first_bad: The level above it; ``None`` if the highest level has not risen.
    """

    changes: tuple[LoadChange, ...]
    last_good: float
    first_bad: float | None

    def free_shares(self, whole: float, task: float) -> tuple[float, float] | None:
        """Return the minimum and maximum share that must stay free.

        Args:
            whole: Size of the machine, in the unit of the levels.
            task: Usage of the task itself, in the same unit.
        """
        if self.first_bad is None:
            return None
        return 1.0 - (self.first_bad + task) / whole, 1.0 - (self.last_good + task) / whole


def find_limit(levels: Sequence[Level]) -> Limit:
    """Apply the rule to levels; the lowest one is the idle machine."""
    ordered = sorted(levels, key=lambda level: level.load)
    idle, loaded = ordered[0], ordered[1:]
    ps = [_one_sided(level.values, idle.values) for level in loaded]
    ps += [_one_sided(distances(level.values), distances(idle.values)) for level in loaded]
    corrected = [1.0 if p is None else p for p in comparing.holm(ps)]
    changes = tuple(
        _compare(level, idle, corrected[i], corrected[len(loaded) + i])
        for i, level in enumerate(loaded)
    )
    last_good, first_bad = idle.load, None
    for change in reversed(changes):
        if not change.risen:
            last_good = change.load
            break
        first_bad = change.load
    return Limit(changes, last_good, first_bad)


def _compare(level: Level, idle: Level, p_median: float, p_range: float) -> LoadChange:
    low, middle, high = quartiles(idle.values)
    own_low, own_middle, own_high = quartiles(level.values)
    growth = ((own_high - own_low) - (high - low)) / middle
    return LoadChange(level.load, own_middle / middle, growth, p_median, p_range)


def _one_sided(values: Floats, reference: Floats) -> float:
    """Return the p of "values are larger"; 1 if all values are equal."""
    if np.ptp(np.concatenate([values, reference])) == 0.0:
        return 1.0
    return float(stats.mannwhitneyu(values, reference, alternative="greater").pvalue)


def longer(values: Floats, reference: Floats) -> float:
    """Return the p of "values are larger" (Mann-Whitney)."""
    return _one_sided(values, reference)


def distances(values: Floats) -> Floats:
    """Return distances from the median."""
    return np.abs(values - np.median(values))


def quartiles(values: Floats) -> tuple[float, float, float]:
    """Return lower quartile, median and upper quartile.

    >>> quartiles(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    (2.0, 3.0, 4.0)
    """
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75)).tolist()
    return low, middle, high
