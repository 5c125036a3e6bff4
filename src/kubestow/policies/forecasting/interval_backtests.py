"""Back-tests with quantiles: means and intervals made again along the past.

The same as ``backtests``, for a model with intervals around it: one fit, then the origin rolls over
the rest, and errors are learnt from on the way as they would have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kubestow.policies.forecasting import backtests, histories, intervals, protocols

_MOST_NUMBERS = 1_000_000
"""Quantiles of one look along the points: 8 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class IntervalBacktest:
    """Forecasts along the past, with quantiles.

    Attributes:
        means: The point forecasts.
        levels: Levels of the quantiles.
        quantiles: By series, origin, horizon and level.
    """

    means: backtests.Backtest
    levels: tuple[float, ...]
    quantiles: protocols.Floats


def run(
    forecaster: intervals.Intervals,
    values: protocols.Floats,
    begin: int,
    horizons: Sequence[int],
    levels: Sequence[float],
    *,
    clock: backtests.Clock = lambda: 0.0,
    watch: backtests.Watch = lambda _: None,
) -> IntervalBacktest:
    """Roll a model with intervals over the past.

    Args:
        forecaster: The model.
        values: One row per series.
        begin: Points known at the first origin; the fit takes just these.
        horizons: Steps ahead.
        levels: Levels of the quantiles.
        clock: Tells seconds.
        watch: Called with the number of origins that are done.
    """
    rows = histories.as_rows(values)
    origins = backtests.place_origins(rows.shape[1], begin, horizons)
    started = clock()
    fitted = forecaster.fit(rows[:, :begin])
    between = clock()
    columns, most = np.asarray(horizons) - 1, max(horizons)
    now = fitted.predict(most, levels)
    means, quantiles = [now.mean[:, None, columns]], [now.quantiles[:, None, columns]]
    chunk = max(1, _MOST_NUMBERS // (len(rows) * most * max(1, len(levels))))
    for here in range(begin, int(origins[-1]), chunk):
        points = rows[:, here : min(here + chunk, int(origins[-1]))]
        rolled = fitted.roll(points, most, levels)
        means.append(rolled.mean[:, :, columns])
        quantiles.append(rolled.quantiles[:, :, columns])
        fitted = fitted.update(points)
        watch(here + points.shape[1] - begin)
    found = backtests.Backtest(
        tuple(horizons),
        origins,
        backtests.take_actual(rows, origins, horizons),
        np.concatenate(means, axis=1),
        between - started,
        clock() - between,
        1,
    )
    return IntervalBacktest(found, now.levels, np.concatenate(quantiles, axis=1))
