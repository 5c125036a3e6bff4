"""The recommender ``short-margin``: the amount of least expected cost for the next few points.

It answers the question of Schubert 2023, 2.11 (given two hours by the minute, what holds for the
next five points?) without a time-series model. For every row a level is chosen among a few (the
last value, exponential means, recent peaks): the one whose differences to the row's own next peaks
varied least. How far peaks exceeded that level, in units of a local deviation, are the row's
*scores*. The predictive distribution is a weighted sample: the row's own scores, those of all
containers in the same units, and those of all in units of size, because rare jumps scale with a
container's size and not with its noise.

A shortage has a price, in units of unused reservation; the amount of least expected cost is chosen.
With one price for all, large containers run a little more risk than small ones, which gives few
shortages and a small sum of unused reservations at the same time, but larger shortfalls
(``price_unit``). Scores come only from the given points. Weights were chosen on half of public
series; docs/evidence/schubert-forecast reports the other half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

import numpy as np
from numpy.typing import NDArray

from kubestow.model import decoding
from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, reasons
from kubestow.policies.sizing.margins import last_points, short_kernels

SHORT_MARGIN = "short-margin"

Amount = Annotated[float, decoding.ValueBounds(least=0.0)]
Positive = Annotated[float, decoding.ValueBounds(above=0.0)]
Count = Annotated[int, decoding.ValueBounds(least=1)]
Unit = Literal["fleet", "own"]

# Quantiles that represent the scores of all containers: even ones, and denser ones towards the
# top, which decide the amounts; the last one is the largest score.
_EVEN: Final = (np.arange(180) + 0.5) / 200.0
_TOP: Final = 1.0 - 0.1 * np.exp(-np.linspace(0.0, 7.0, 60))
_SHARES: Final = np.append(np.concatenate([_EVEN, _TOP]), 1.0)
_EDGES: Final = np.concatenate([[0.0], (_SHARES[1:] + _SHARES[:-1]) / 2.0, [1.0]])
_WEIGHTS: Final = np.diff(_EDGES)
# Bounds are the amounts at a price lower and higher by this factor.
_BOUND_FACTOR: Final = 10.0


@dataclass(frozen=True, slots=True)
class ShortMarginParameters:
    """Prices of shortages, and how past points are used.

    Attributes:
        memory_price: Unused memory that is as bad as one shortage, in units of a mean container
            (see ``price_unit``). Assumed, not derived; above CPU's, because a container without
            memory is killed.
        cpu_price: The same for CPU.
        price_unit: ``fleet`` scales prices by the mean size of all rows, which minimises the sum of
            unused amounts; ``own`` by each row's own size, so that all rows run the same risk.
        points: Number of past points read (two hours by the minute, Schubert 2023, 2.11).
        steps: Number of points for which the amount should hold (as above).
        fleet_weight: Weight of all containers' scores, in own scores.
        jump_weight: The same for scores in units of size.
        fading: Weight of a change in the local deviation, relative to the next one.
        local_share: Share of the local deviation in the unit of scores; the rest is the row's own
            mean deviation from its level.
        stretch: Factor on scores of all containers, because larger ones than observed may come.
        grain: Smallest unit of scores, as a share of a row's size.
        most_factor: Upper bound of the amount, as a multiple of the largest past value; 0 for no
            bound. Rare jumps of a few rows widen the margins of all; where shortages must be very
            rare, a bound costs less than that.
    """

    memory_price: Positive = 3.0
    cpu_price: Positive = 1.0
    price_unit: Unit = "fleet"
    points: Count = 120
    steps: Count = 5
    fleet_weight: Amount = 60.0
    jump_weight: Amount = 5.0
    fading: Annotated[float, decoding.ValueBounds(above=0.0, below=1.0)] = 0.93
    local_share: Annotated[float, decoding.ValueBounds(least=0.0, most=1.0)] = 0.5
    stretch: Positive = 1.5
    grain: Positive = 1e-4
    most_factor: Amount = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Outlooks:
    """Predictive distributions of the next peak, by row.

    Attributes:
        known: Whether a row has points.
        samples: Possible peaks of the next points, ascending; by known row.
        weights: Their weights, which sum to one.
        sizes: Largest past value, by known row.
        kinds: The chosen level, by known row.
    """

    known: NDArray[np.bool_]
    samples: Floats
    weights: Floats
    sizes: Floats
    kinds: Ints

    def amounts(self, price: float, unit: Unit, most_factor: float = 0.0) -> Floats:
        """Return the amount of least expected cost by row; NaN for rows without points."""
        mean = self.sizes.mean() if len(self.sizes) else 0.0
        prices = price * (self.sizes if unit == "own" else np.full(len(self.sizes), mean))
        amounts = np.full(len(self.known), np.nan)
        chosen = self._choose(prices)
        if most_factor > 0.0:
            chosen = np.minimum(chosen, most_factor * self.sizes)
        amounts[self.known] = chosen
        return amounts

    def _choose(self, prices: Floats) -> Floats:
        chosen = np.empty(len(prices))
        short_kernels.choose(self.samples, self.weights, prices, chosen)
        return np.maximum(chosen, 0.0)


def forecast_amounts(values: Floats, parameters: ShortMarginParameters) -> Outlooks:
    """Return the predictive distribution of the next peak for every row.

    Args:
        values: Values by row and point; NaN where nothing was measured.
        parameters: Weights, units and horizon.
    """
    p = parameters
    windows, counts = last_points.gather(values, p.points)
    known = counts > 0
    rows = int(known.sum())
    origins = max(p.points - short_kernels.FIRST - p.steps + 1, 0)
    scores, jumps = np.full((rows, origins), np.nan), np.full((rows, origins), np.nan)
    now, kinds = np.empty((rows, 3)), np.empty(rows, dtype=np.int64)
    short_kernels.score(
        windows[known], counts[known], p.steps, p.fading, p.local_share, p.grain, scores, jumps,
        now, kinds,
    )  # fmt: skip
    fleet, fleet_jumps = (p.stretch * _describe(part) for part in (scores, jumps))
    shape = (rows, origins + 2 * len(_SHARES))
    samples, weights = np.empty(shape), np.empty(shape)
    short_kernels.mix(
        now, scores, fleet, fleet_jumps, np.concatenate([p.fleet_weight * _WEIGHTS,
        p.jump_weight * _WEIGHTS]), samples, weights,
    )  # fmt: skip
    return Outlooks(known, samples, weights, now[:, 2], kinds)


def _describe(scores: Floats) -> Floats:
    """Return quantiles of all scores; 0 where there are none."""
    finite = scores[np.isfinite(scores)]
    if not len(finite):
        return np.zeros(len(_SHARES))
    quantiles: Floats = np.quantile(finite, _SHARES)
    return quantiles


@dataclass(frozen=True, slots=True)
class ShortMargin:
    """Estimates of least expected cost for the next few points."""

    parameters: ShortMarginParameters = ShortMarginParameters()
    name: str = SHORT_MARGIN

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the amounts of the largest pod; bounds are the amounts at other prices."""
        p = self.parameters
        cpu, memory = (
            forecast_amounts(values, p) for values in (usage.cpu_cores, usage.memory_bytes)
        )
        usual, low, high = (
            (
                usage.largest(cpu.amounts(p.cpu_price * factor, p.price_unit, p.most_factor)),
                usage.largest(memory.amounts(p.memory_price * factor, p.price_unit, p.most_factor)),
            )
            for factor in (1.0, 1.0 / _BOUND_FACTOR, _BOUND_FACTOR)
        )
        why = reasons.by_container(
            *usual,
            f"{{}} costs least for the next points at {p.cpu_price:g} for a shortage",
            f"{{}} at {p.memory_price:g}",
        )
        return estimates.Estimates(*usual, *low, *high, why)
