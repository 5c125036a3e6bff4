"""``kubestow.forecast`` and ``kubestow.backtest``: a series ahead of time, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from kubestow.library import inputs, results
from kubestow.model import errors, time_series
from kubestow.sources import traces
from kubestow.workflows import forecasting

Series = str | Path | inputs.Frame | np.ndarray
"""A file or frame with ``timestamp`` and values, or a one-dimensional array with a ``step``."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ForecastTable(results.Result):
    """A forecast with quantiles.

    Attributes:
        result: What the workflow returned.
    """

    result: forecasting.ForecastResult

    def to_polars(self) -> pl.DataFrame:
        """Return one row per step ahead: time, mean and quantiles."""
        return pl.DataFrame(self.result.forecast_rows())

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast with the keys of ``forecast -o json``."""
        return self.result.as_json()

    def summary(self) -> str:
        """Return the model and the horizon in one sentence."""
        return f"{self.result.steps} steps ahead by {self.result.chosen}"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class BacktestTable(ForecastTable):
    """Errors of models on the end of a series, and the forecast of the best of them."""

    def to_polars(self) -> pl.DataFrame:
        """Return one row per model: errors and coverage."""
        return pl.DataFrame([results.flatten(row.as_json()) for row in self.result.rows])

    def summary(self) -> str:
        """Return how many models were back-tested and which was chosen, in one sentence."""
        return f"{len(self.result.rows)} models back-tested; {self.result.chosen} chosen"


def forecast(
    series: Series,
    *,
    horizon: inputs.Seconds = "5m",
    model: str = "auto",
    column: str | None = None,
    step: inputs.Seconds | None = None,
    season: inputs.Seconds | None = None,
) -> ForecastTable:
    """Forecast a series with quantiles.

    Args:
        series: A CSV or Parquet file, a frame with ``timestamp`` and one column per series, or an
            array of values ``step`` apart.
        horizon: How far ahead to forecast.
        model: Name of a model, or ``all`` to use the one with the smallest error.
        column: Column to forecast; default: the first one after ``timestamp``.
        step: Time between two points; required for an array.
        season: Length of a season; default: detected in the series.

    Raises:
        InputError: If the series is too short or an argument is invalid.

    Examples:
        >>> import numpy as np
        >>> wave = 10 + np.sin(np.arange(240) / 12)
        >>> forecast(wave, step="1m", horizon="3m", model="persistence").to_polars().height
        3
    """
    request = _request(model, horizon, season, backtest=False)
    return ForecastTable(forecasting.run(_grid(series, column, step), request))


def backtest(
    series: Series,
    *,
    horizon: inputs.Seconds = "5m",
    model: str = "all",
    tested: float = forecasting.TESTED,
    column: str | None = None,
    step: inputs.Seconds | None = None,
    season: inputs.Seconds | None = None,
) -> BacktestTable:
    """Back-test models on the end of a series.

    Args:
        series: As for ``forecast``.
        horizon: As for ``forecast``.
        model: Name of a model to compare with ``persistence``, or ``all``.
        tested: Share of the points that the back-test rolls over.
        column: As for ``forecast``.
        step: As for ``forecast``.
        season: As for ``forecast``.

    Raises:
        InputError: If the series is too short or an argument is invalid.

    Examples:
        >>> import numpy as np
        >>> wave = 10 + np.sin(np.arange(240) / 12)
        >>> backtest(wave, step="1m", model="holt").to_polars()["model"].to_list()
        ['persistence', 'holt']
    """
    if not 0.0 < tested < 1.0:
        raise errors.InputError("tested", f"{tested:g}: must be > 0 and < 1")
    request = _request(model, horizon, season, backtest=True, tested=tested)
    return BacktestTable(forecasting.run(_grid(series, column, step), request))


def _request(
    model: str,
    horizon: inputs.Seconds,
    season: inputs.Seconds | None,
    *,
    backtest: bool,
    tested: float = forecasting.TESTED,
) -> forecasting.ForecastRequest:
    return forecasting.ForecastRequest(
        model=model,
        horizon_s=inputs.as_seconds(horizon, "horizon"),
        backtest=backtest,
        tested=tested,
        season_s=None if season is None else inputs.as_seconds(season, "season"),
    )


def _grid(series: Series, column: str | None, step: inputs.Seconds | None) -> time_series.TimeGrid:
    step_s = None if step is None else inputs.as_seconds(step, "step")
    if inputs.is_path(series):
        return _read(Path(str(series)), column, step_s)
    if isinstance(series, np.ndarray | list | tuple):
        if step_s is None:
            raise errors.InputError("step", "is missing; an array has no timestamps")
        values = np.asarray(series, dtype=np.float64)
        if values.ndim != 1:
            raise errors.InputError("series", f"{values.ndim} dimensions: must have 1")
        series = {"timestamp": np.arange(len(values)) * step_s, "value": values}
    with inputs.as_folder({"series": series}) as folder:
        return _read(folder / "series.parquet", column, step_s)


def _read(path: Path, column: str | None, step_s: float | None) -> time_series.TimeGrid:
    chosen = column if column is not None else traces.first_column(path)
    return traces.read_grid(path, (chosen,), step_s=step_s)
