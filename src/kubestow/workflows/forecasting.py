"""``kubestow forecast``: from a series to a forecast with its back-test.

``run`` takes a series at equal steps from any source. A back-test fits the models to the first part
of the series and rolls the origin over the rest; errors cover all steps up to the horizon. Then the
chosen model is fitted to the whole series and forecasts.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kubestow.model import arrays, decoding, errors, time_series
from kubestow.policies import compile_events
from kubestow.policies.forecasting import (
    accuracy,
    arima,
    backtests,
    diagnostics,
    ensemble,
    intervals,
    protocols,
    registry,
)
from kubestow.workflows import magnitudes

ALL = "all"
BASELINE = "persistence"
LEVELS = (0.05, 0.1, 0.5, 0.9, 0.95)
SHOWN = (0.1, 0.5, 0.9)
"""Levels in the output; the outermost two only serve the coverage of the central 90 %."""

COVERED = (0.8, 0.9)
TESTED = 0.3
"""Share of the points that a back-test rolls over."""

_SIZED = ("mae", "rmse", "mae_at_horizon", "pinball")
"""Measures in the unit of the series."""

_WARM_UP = 150
_MOST_STEPS = 2000
_LEAST_POINTS = 8
# Times before 1973 are seconds since some start, not dates.
_DATES_S = 1e8

Watch = Callable[[str, float], None]


@dataclass(frozen=True, slots=True)
class ForecastRequest:
    """What to forecast, and how.

    Attributes:
        model: Name of a model, or ``all`` to back-test every one and use the best.
        horizon_s: How far ahead to forecast.
        backtest: Whether to back-test the model and persistence on the end of the series.
        tested: Share of the points to back-test on.
        season_s: Length of a season; ``None`` to detect it.
    """

    model: str = registry.AUTO
    horizon_s: float = 300.0
    backtest: bool = False
    tested: float = TESTED
    season_s: float | None = None


@dataclass(frozen=True, slots=True)
class BacktestRow:
    """Accuracy of one model in the back-test.

    Attributes:
        model: Its name.
        measures: Errors by name, over all steps up to the horizon.
        coverage: Share of values inside the central interval, by its width.
        fit_s: Seconds to fit, intervals included and compiling excluded.
        predict_s: Seconds to update and forecast.
    """

    model: str
    measures: dict[str, float | None]
    coverage: dict[str, float | None]
    fit_s: float
    predict_s: float

    def as_json(self) -> dict[str, Any]:
        """Return the row as plain values."""
        return {
            "model": self.model,
            **self.measures,
            "coverage": self.coverage,
            "fit_seconds": round(self.fit_s, 4),
            "predict_seconds": round(self.predict_s, 4),
        }


@dataclass(frozen=True, slots=True, eq=False)
class ForecastResult:
    """A forecast with its back-test.

    Attributes:
        grid: The series.
        request: The request.
        steps: Steps up to the horizon.
        rows: One per model in the back-test.
        skipped: Models that could not be back-tested, with the reason.
        chosen: The model that made the forecast.
        ahead: The forecast.
        weights: Weights of an ensemble at the horizon, by candidate.
        tried: The back-test of the chosen model.
        residuals: Diagnosis of the residuals of an ARIMA model; ``None`` for other models.
    """

    grid: time_series.TimeGrid
    request: ForecastRequest
    steps: int
    rows: tuple[BacktestRow, ...]
    skipped: dict[str, str]
    chosen: str
    ahead: protocols.Forecast
    weights: dict[str, float] = field(default_factory=dict)
    tried: backtests.IntervalBacktest | None = None
    residuals: diagnostics.Diagnosis | None = None

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        mended = self.grid.mended
        return {
            "series": self.grid.names[0],
            "step_seconds": _plain(self.grid.step_s),
            "horizon_seconds": _plain(self.steps * self.grid.step_s),
            "points": self.grid.values.shape[1],
            "gaps": mended.gaps,
            "filled": mended.filled,
            "merged": mended.merged,
            "results": [row.as_json() for row in self.rows],
            "skipped": self.skipped,
            "chosen": self.chosen,
            "weights": {name: round(share, 4) for name, share in self.weights.items()},
            "forecast": self.forecast_rows(),
        }

    def forecast_rows(self) -> list[dict[str, Any]]:
        """Return one record per step ahead."""
        start_s = self.grid.start_s + self.grid.step_s * self.grid.values.shape[1]
        places = [self.ahead.levels.index(level) for level in SHOWN]
        return [
            {
                "timestamp": write_time(start_s + h * self.grid.step_s),
                "mean": float(self.ahead.mean[0, h]),
                **{
                    f"q{round(100 * level)}": float(self.ahead.quantiles[0, h, place])
                    for level, place in zip(SHOWN, places, strict=True)
                },
            }
            for h in range(self.steps)
        ]


def run(
    grid: time_series.TimeGrid,
    request: ForecastRequest,
    *,
    clock: backtests.Clock = lambda: 0.0,
    watch: Watch = lambda _name, _done: None,
) -> ForecastResult:
    """Forecast the first series of a grid.

    Args:
        grid: The series.
        request: What to forecast, and how.
        clock: Returns seconds.
        watch: Called with the name of the current model and the share of its work that is done.

    Raises:
        InputError: If the model is unknown, the horizon is invalid, there are too few points, or
            the forecast is too large a number.
    """
    steps = count_steps(request.horizon_s, grid.step_s)
    names = _choose_names(request)
    values, exponent = magnitudes.rescale(grid.values[:1])
    if values.shape[1] < _LEAST_POINTS:
        raise errors.InputError(
            grid.names[0], f"{values.shape[1]} points; expected at least {_LEAST_POINTS}"
        )
    task = make_task(grid.step_s, steps, request)
    tried, skipped = _try(names, task, values, request, _without_compiling(clock), watch)
    best = _find_best(request, tried)
    watch(best, 1.0)
    fitted = registry.FORECASTERS.get(best).make_intervals(task).fit(values)
    chosen, weights = _describe(best, fitted)
    result = ForecastResult(
        grid=grid,
        request=request,
        steps=steps,
        rows=tuple(row for row, _ in tried.values()),
        skipped=skipped,
        chosen=chosen,
        ahead=fitted.predict(steps, LEVELS),
        weights=weights,
        tried=tried[best][1] if best in tried else None,
        residuals=_diagnose(fitted.point, values),
    )
    return result if exponent == 0 else _restore(result, exponent)


def _restore(result: ForecastResult, exponent: int) -> ForecastResult:
    """Return the result in the unit of the series.

    Raises:
        InputError: If a number is too large to be represented.
    """

    def restore(values: arrays.Floats) -> arrays.Floats:
        return magnitudes.restore(values, exponent, result.grid.names[0])

    def restore_row(row: BacktestRow) -> BacktestRow:
        sized = {name: row.measures[name] for name in _SIZED}
        known = {name: value for name, value in sized.items() if value is not None}
        numbers = restore(np.array(list(known.values())))
        return replace(
            row, measures={**row.measures, **dict(zip(known, numbers.tolist(), strict=True))}
        )

    ahead, tried = result.ahead, result.tried
    if tried is not None:
        means = replace(
            tried.means,
            actual=restore(tried.means.actual),
            predicted=restore(tried.means.predicted),
        )
        tried = replace(tried, means=means, quantiles=restore(tried.quantiles))
    return replace(
        result,
        rows=tuple(map(restore_row, result.rows)),
        ahead=replace(ahead, mean=restore(ahead.mean), quantiles=restore(ahead.quantiles)),
        tried=tried,
    )


def _diagnose(fitted: protocols.PointFitted, values: arrays.Floats) -> diagnostics.Diagnosis | None:
    """Test the residuals of an ARIMA model (Shi 2023, section 3.2, step 5)."""
    if not isinstance(fitted, arima.FittedArima):
        return None
    p, d, q = fitted.orders[0].tolist()
    residuals = fitted.residuals(values)[:, d:]
    if residuals.shape[1] < diagnostics.LEAST_POINTS:
        return None
    return diagnostics.diagnose(residuals, parameters=p + q)[0]


def make_task(step_s: float, steps: int, request: ForecastRequest) -> registry.ForecastTask:
    """Return the task of a request."""
    season = None if request.season_s is None else max(1, round(request.season_s / step_s))
    return registry.ForecastTask(step_s, steps, season=season)


def count_steps(horizon_s: float, step_s: float) -> int:
    """Return the number of steps in a horizon, rounded up.

    Raises:
        InputError: If there are none or too many.
    """
    steps = math.ceil(horizon_s / step_s - 1e-9)
    if not 1 <= steps <= _MOST_STEPS:
        raise errors.InputError(
            "horizon",
            f"{decoding.format_duration(horizon_s)} is {max(steps, 0)} steps of "
            f"{decoding.format_duration(step_s)}; expected 1 to {_MOST_STEPS}",
        )
    return steps


def write_time(time_s: float) -> str | float:
    """Return a time as ISO 8601; small numbers are not dates and stay seconds."""
    if time_s < _DATES_S:
        return _plain(time_s)
    moment = dt.datetime.fromtimestamp(time_s, tz=dt.UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _choose_names(request: ForecastRequest) -> list[str]:
    if request.model == ALL:
        return list(registry.FORECASTERS.names())
    registry.FORECASTERS.get(request.model)
    return [BASELINE, request.model] if request.model != BASELINE else [BASELINE]


_Tried = dict[str, tuple[BacktestRow, backtests.IntervalBacktest]]


def _try(
    names: Sequence[str],
    task: registry.ForecastTask,
    values: arrays.Floats,
    request: ForecastRequest,
    clock: backtests.Clock,
    watch: Watch,
) -> tuple[_Tried, dict[str, str]]:
    """Return the back-tests, and the reasons of those that failed."""
    tried: _Tried = {}
    skipped: dict[str, str] = {}
    if not request.backtest and request.model != ALL:
        return tried, skipped
    begin = place_split(values.shape[1], task.steps, request.tested)
    for name in names:
        watch(name, 0.0)
        try:
            tried[name] = _try_one(name, task, values, begin, clock, watch)
        except errors.InputError as err:
            if name == request.model:
                raise
            skipped[name] = str(err)
    return tried, skipped


def place_split(points: int, steps: int, tested: float) -> int:
    """Return the number of points to fit to before the back-test begins.

    Raises:
        InputError: If the rest is shorter than the horizon, or the first part than a few points.
    """
    begin = points - max(int(tested * points), 1)
    if points - begin < steps or begin < _LEAST_POINTS // 2:
        raise errors.InputError(
            "backtest",
            f"{points - begin} of {points} points are left to back-test {steps} steps ahead; "
            "expected at least as many points as steps: a shorter horizon or a longer series",
        )
    return begin


def _try_one(
    name: str,
    task: registry.ForecastTask,
    values: arrays.Floats,
    begin: int,
    clock: backtests.Clock,
    watch: Watch,
) -> tuple[BacktestRow, backtests.IntervalBacktest]:
    model = registry.FORECASTERS.get(name).make_intervals(task)
    _warm_up(model, values[:, :begin], task.steps)
    count = values.shape[1] - begin
    backtest = backtests.run_with_intervals(
        model,
        values,
        begin,
        range(1, task.steps + 1),
        LEVELS,
        clock=clock,
        watch=lambda done: watch(name, done / count),
    )
    scale = accuracy.scale(values[:, :begin])
    return _measure(name, backtest, scale), backtest


def _without_compiling(clock: backtests.Clock) -> backtests.Clock:
    """Return a clock that stands still while JAX compiles."""
    return lambda: clock() - sum(compile_events.durations_s)


def _warm_up(model: intervals.Intervals, values: arrays.Floats, steps: int) -> None:
    """Try a model on a short part, so that no time is measured that compiling and loading take."""
    part = values[:, : _WARM_UP + 2 * steps]
    begin = part.shape[1] * 3 // 4
    # A model that needs more points says so in the back-test itself.
    with contextlib.suppress(errors.InputError):
        fitted = model.fit(part[:, :begin])
        fitted.roll(part[:, begin:], steps, LEVELS)
        fitted.update(part[:, begin:]).predict(steps, LEVELS)


def _measure(name: str, backtest: backtests.IntervalBacktest, scale: arrays.Floats) -> BacktestRow:
    means = backtest.means
    overall = accuracy.measure(means.actual, means.predicted, scale)
    last = accuracy.measure(means.actual[:, :, -1], means.predicted[:, :, -1], scale)
    names = ("mae", "mape", "rmse", "smape", "wape", "mase")
    measures: dict[str, float | None] = {
        **{one: _number(getattr(overall, one)) for one in names},
        "mape_dropped": int(overall.mape_dropped[0]),
        "mae_at_horizon": _number(last.mae),
        "mase_at_horizon": _number(last.mase),
        "pinball": _number(accuracy.pinball(means.actual, backtest.quantiles, LEVELS)),
    }
    covered = {
        f"{width:g}": _number(accuracy.coverage(means.actual, backtest.quantiles, LEVELS, width))
        for width in COVERED
    }
    times_s = (max(spent_s, 0.0) for spent_s in (means.fit_s, means.predict_s))
    return BacktestRow(name, measures, covered, *times_s)


def _find_best(request: ForecastRequest, tried: _Tried) -> str:
    """Return the requested model; for ``all``, the one with the smallest absolute error."""
    if request.model != ALL:
        return request.model
    return min(tried, key=lambda name: tried[name][0].measures["mae"] or 0.0)


def _describe(name: str, fitted: intervals.Interval) -> tuple[str, dict[str, float]]:
    """Return the name of the model, and the weights of its candidates if it has some."""
    if not isinstance(fitted.point, ensemble.Ensembled):
        return name, {}
    shares = fitted.point.weights()[0, :, -1]
    order = np.argsort(-shares, kind="stable")
    weights = {fitted.point.names[c]: float(shares[c]) for c in order}
    return f"{name}:{next(iter(weights))}", weights


def _number(values: arrays.Floats) -> float | None:
    value = float(values[0])
    return value if math.isfinite(value) else None


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else value
