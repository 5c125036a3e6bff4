"""Shortages and over-reservation: curves, comparisons at equal shortages, intervals.

Schubert 2023, 2.11: an estimate is short if a later point exceeds it; the part above the largest
later point is over-reserved. Windows of a series are averaged first, so that every series counts
once however many windows it has, and series are resampled for intervals (bootstrap).

Two methods are compared at a setting of the second: the minimum over-reservation of the first, over
all its settings, with at most as many shortages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Floats
from kubestow.studies.schubert.forecast import methods, windows

Axis = Literal["short", "lack"]
Unused = Literal["over", "net"]

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class ShortageCurve:
    """Means over windows, by series and setting.

    Attributes:
        settings: The settings, ascending in safety.
        short: Share of windows with a shortage.
        over: Amount reserved beyond the need; 0 where it was short.
        net: The same with shortages deducted.
        lack: Amount that was missing.
        loss: Over-reservation relative to the largest past value of the window.
    """

    settings: tuple[float, ...]
    short: Floats
    over: Floats
    net: Floats
    lack: Floats
    loss: Floats

    def where(self, kept: NDArray[np.bool_]) -> ShortageCurve:
        """Return some of the series."""
        return ShortageCurve(
            self.settings, self.short[kept], self.over[kept], self.net[kept], self.lack[kept],
            self.loss[kept],
        )  # fmt: skip


Curves = Mapping[str, ShortageCurve]


def measure(windows: windows.Windows, answers: methods.MethodAnswers) -> ShortageCurve:
    """Return shortages and over-reservation of a method, by series with windows."""
    _, series = np.unique(windows.series, return_inverse=True)
    counts = np.bincount(series).astype(np.float64)
    beyond = answers.amounts - windows.real[:, np.newaxis]
    sizes = np.abs(windows.past).max(axis=1)[:, np.newaxis]

    def average(values: Floats) -> Floats:
        total = np.zeros((len(counts), values.shape[1]))
        np.add.at(total, series, values)
        return total / counts[:, np.newaxis]

    unused = np.maximum(beyond, 0.0)
    return ShortageCurve(
        settings=answers.settings,
        short=average((beyond < 0.0).astype(np.float64)),
        over=average(unused),
        net=average(beyond),
        lack=average(np.maximum(-beyond, 0.0)),
        loss=average(unused / sizes),
    )


def join(parts: Sequence[Curves]) -> dict[str, ShortageCurve]:
    """Join the series of several sets; only methods that all of them have."""
    first = parts[0]
    shared = [name for name in first if all(name in part for part in parts)]
    return {
        name: ShortageCurve(
            first[name].settings,
            *(
                np.concatenate([getattr(part[name], field) for part in parts])
                for field in ("short", "over", "net", "lack", "loss")
            ),
        )
        for name in shared
    }


def resample(series: int, draws: int, rng: np.random.Generator) -> Floats:
    """Return how often each series is drawn; the first row is the sample itself."""
    counts = rng.multinomial(series, np.full(series, 1.0 / series), size=draws)
    return np.concatenate([np.ones((1, series)), counts.astype(np.float64)])


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio with its interval; infinite where no setting has so few shortages.

    Attributes:
        value: Ratio of the sample.
        low: Lower end.
        high: Upper end.
    """

    value: float
    low: float
    high: float


def summarise(draws: Floats) -> Ratio:
    """Return the first draw, which is the sample, with percentiles of the others."""
    tail = (1.0 - CONFIDENCE) / 2.0
    # Draws may be infinite: quantiles are ranks, without interpolation.
    low, high = np.quantile(draws[1:], [tail, 1.0 - tail], method="inverted_cdf")
    return Ratio(float(draws[0]), float(low), float(high))


def compare(
    ours: ShortageCurve,
    theirs: ShortageCurve,
    settings: Sequence[float],
    weights: Floats,
    axis: Axis = "short",
    unused: Unused = "over",
) -> Floats:
    """Return the over-reservation ratio of two methods, by draw and setting of the second.

    Args:
        ours: The first method, free to choose its setting.
        theirs: The second method.
        settings: Settings of the second method.
        weights: How often each series is drawn, by draw.
        axis: Whether to match the number of shortages or their amount.
        unused: Whether shortages are deducted from over-reservation.
    """
    mine, costs = weights @ getattr(ours, axis), weights @ getattr(ours, unused)
    # Sums in a different order differ in the last digits.
    slack = 1.0 + 1e-9
    ratios = []
    for setting in settings:
        place = theirs.settings.index(setting)
        met = weights @ getattr(theirs, axis)[:, place]
        base = weights @ getattr(theirs, unused)[:, place]
        allowed = np.where(mine <= met[:, np.newaxis] * slack, costs, np.inf)
        ratios.append(allowed.min(axis=1) / base)
    return np.stack(ratios, axis=1)


def cheapest_within(curve: ShortageCurve, short: float) -> int:
    """Return the index of the least over-reservation with at most ``short`` shortages."""
    shortages, over = curve.short.sum(axis=0), curve.over.sum(axis=0)
    allowed = shortages <= max(short, float(shortages.min())) + 1e-9  # sums differ in last digits
    return int(np.where(allowed, over, np.inf).argmin())


def cheapest(curve: ShortageCurve, price: float) -> int:
    """Return the index of the setting with the least loss: unused share + price x shortages."""
    return int((curve.loss + price * curve.short).mean(axis=0).argmin())
