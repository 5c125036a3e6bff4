"""The recommender ``arima-margin``: a short ARIMA forecast plus a margin for its error.

Schubert 2023, 2.11 (formulas 5.7 to 5.16): the last two hours by the minute are differenced once,
ARMA orders are searched by iterated least squares (``arima_kernels``), five steps are forecast, and
a margin grows with the deviation of the forecast error. The largest of the five is request and
limit. A point counts as a minute, whatever the step is.

Where the thesis is silent: an order is refused if its residuals are larger than the differences
themselves or its changes grow by more than 2 % a step; where all are refused, or a row has too few
points, the last value is the forecast and changes are assumed independent. Gaps repeat the last
value. An amount is never negative.
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
from kubestow.policies.sizing.margins import arima_kernels, last_points

ARIMA_MARGIN = "arima-margin"
MIB: Final = 2.0**20

Amount = Annotated[float, decoding.ValueBounds(least=0.0)]
Count = Annotated[int, decoding.ValueBounds(least=1)]
Variance = Literal["printed", "exact"]


@dataclass(frozen=True, slots=True)
class ArimaMarginParameters:
    """Safety margins, and the model search of Schubert 2023, 2.11.

    Attributes:
        memory_safety: The n of 5.13: this many standard deviations plus n times 2 MiB (2: its
            figure 5.9).
        cpu_safety: The n of 5.16 (7: the safest one tried).
        variance: ``printed`` sums the variances of differences as 5.13 does; ``exact`` is the
            variance of the level.
        points: Number of past points read.
        steps: Forecast horizon in points.
        start_order: Order of the autoregression that gives the first residuals.
        least_order: Smallest p and q tried.
        most_order: Largest p and q tried.
        rounds: Regressions per order.
    """

    memory_safety: Amount = 2.0
    cpu_safety: Amount = 7.0
    variance: Variance = "printed"
    points: Count = 120
    steps: Count = 5
    start_order: Count = 48
    least_order: Count = 2
    most_order: Count = 9
    rounds: Count = 8


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Models and forecasts by row; NaN where nothing was measured.

    Attributes:
        levels: Forecasts by row and step.
        printed: Standard deviations by row and step, as printed in 5.13.
        exact: Standard deviations of the level of an ARIMA(p,1,q).
        p: Autoregressive order; 0 without a model.
        q: Order of the moving average; 0 without a model.
        outcomes: Outcome by row, as named in ``arima_kernels``; -1 without points.
        refused: Number of refused orders.
        r_squared: Share of the differences' variance the model explains; NaN without a model.
        residuals: Residuals of the model, by row; NaN where there are none.
    """

    levels: Floats
    printed: Floats
    exact: Floats
    p: Ints
    q: Ints
    outcomes: Ints
    refused: Ints
    r_squared: Floats
    residuals: Floats

    def amounts(self, sigmas: float, added: float, variance: Variance) -> Floats:
        """Return the largest forecast plus margin of each row.

        Args:
            sigmas: Standard deviations added to the forecast.
            added: Constant added to every forecast.
            variance: Which of the deviations to use.
        """
        spread = self.printed if variance == "printed" else self.exact
        amounts: Floats = np.maximum((self.levels + sigmas * spread + added).max(axis=1), 0.0)
        return amounts


def memory_margin(safety: float) -> tuple[float, float]:
    """Return standard deviations and bytes of 5.13.

    >>> memory_margin(2.0)
    (2.0, 4194304.0)
    """
    return safety, safety * 2.0 * MIB


def cpu_margin(safety: float) -> tuple[float, float]:
    """Return standard deviations and cores of 5.16.

    >>> sigmas, cores = cpu_margin(1.0)
    >>> round(sigmas, 6), round(cores, 6)
    (0.5, 0.002)
    """
    return 0.15 * safety + 0.35, 0.0005 * safety + 0.0015


def fit(values: Floats, parameters: ArimaMarginParameters) -> Fits:
    """Fit a model to the last points of every row and forecast.

    Args:
        values: Values by row and point; NaN where nothing was measured.
        parameters: The model search.
    """
    p = parameters
    most = max(p.most_order, p.least_order)
    windows, counts = last_points.gather(values, p.points)
    known = counts > 0
    size = int(known.sum())
    shape = np.array([max(p.start_order, most), p.least_order, most, p.rounds], dtype=np.int64)
    levels, spreads = np.empty((size, p.steps)), np.empty((size, p.steps, 2))
    orders = np.empty((size, 4), dtype=np.int64)
    quality, residuals = np.empty((size, 2)), np.empty((size, p.points - 1))
    arima_kernels.forecast_rows(
        windows[known], counts[known], shape, levels, spreads, orders, quality, residuals
    )
    states = _spread_rows(known, orders.astype(np.float64), (0.0, 0.0, -1.0, 0.0))
    whole = states.astype(np.int64)
    return Fits(
        levels=_spread_rows(known, levels),
        printed=_spread_rows(known, spreads[:, :, 0]),
        exact=_spread_rows(known, spreads[:, :, 1]),
        p=whole[:, 0],
        q=whole[:, 1],
        outcomes=whole[:, 2],
        refused=whole[:, 3],
        r_squared=_spread_rows(known, quality)[:, 0],
        residuals=_spread_rows(known, residuals),
    )


def _spread_rows(
    known: NDArray[np.bool_], rows: Floats, other: tuple[float, ...] = (np.nan,)
) -> Floats:
    """Return the rows at their indices among all rows; others are NaN, or as given."""
    whole = np.empty((len(known), rows.shape[1]))
    whole[:] = other
    whole[known] = rows
    return whole


@dataclass(frozen=True, slots=True)
class ArimaMargin:
    """Estimates by forecast plus margin."""

    parameters: ArimaMarginParameters = ArimaMarginParameters()
    name: str = ARIMA_MARGIN

    def estimate(self, usage: Usage) -> estimates.Estimates:
        """Return the largest forecast plus margin of the largest pod.

        Requests below the forecast itself are too small to keep; those beyond twice the margin
        are too large.
        """
        cpu, memory = (
            fit(values, self.parameters) for values in (usage.cpu_cores, usage.memory_bytes)
        )
        low, usual, high = (
            [usage.largest(part) for part in self._amounts(cpu, memory, times)]
            for times in (0.0, 1.0, 2.0)
        )
        amounts = reasons.by_container(usual[0], usual[1], "{}", "{}")
        why = tuple(
            f"{amount}: CPU {first}, memory {second}"
            for amount, first, second in zip(
                amounts, _say(usage, cpu), _say(usage, memory), strict=True
            )
        )
        numbers = _numbers(usage, "cpu", cpu) | _numbers(usage, "memory", memory)
        return estimates.Estimates(
            usual[0], usual[1], low[0], low[1], high[0], high[1], why, numbers
        )

    def _amounts(self, cpu: Fits, memory: Fits, times: float) -> tuple[Floats, Floats]:
        p = self.parameters
        cpu_sigmas, cores = cpu_margin(p.cpu_safety)
        memory_sigmas, amount = memory_margin(p.memory_safety)
        return (
            cpu.amounts(times * cpu_sigmas, times * cores, p.variance),
            memory.amounts(times * memory_sigmas, times * amount, p.variance),
        )


_WORDS: Final = {
    arima_kernels.FITTED: "by a fitted model",
    arima_kernels.CONSTANT: "constant",
    arima_kernels.SHORT: "by its last value: too few points for a model",
    arima_kernels.EXPLODED: "by its last value: no order is stable",
    -1: "not measured",
}


def _say(usage: Usage, fits: Fits) -> list[str]:
    """Return the outcome of each container, by its worst row."""
    worst = np.full(len(usage.containers), -1, dtype=np.int64)
    np.maximum.at(worst, usage.owners, fits.outcomes)
    return [_WORDS[int(outcome)] for outcome in worst]


def _numbers(usage: Usage, what: str, fits: Fits) -> dict[str, Floats]:
    fallen = fits.outcomes >= arima_kernels.SHORT
    return {
        f"{what}_p": usage.largest(fits.p.astype(np.float64)),
        f"{what}_q": usage.largest(fits.q.astype(np.float64)),
        f"{what}_refused_orders": usage.largest(fits.refused.astype(np.float64)),
        f"{what}_fallbacks": usage.largest(fallen.astype(np.float64)),
        f"{what}_r_squared": usage.largest(fits.r_squared),
    }
