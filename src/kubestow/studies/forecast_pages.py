"""The report of a forecast: the figure, the back-test, what the ensemble goes by."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from kubestow.model import durations
from kubestow.reports import forecast_figures as figures
from kubestow.reports import pages
from kubestow.studies import forecasts

POINTS = 400
"""Points of the past that are drawn at most."""

_LOW, _HIGH = 0.1, 0.9


def make_page(result: forecasts.Result) -> str:
    """Return the whole report as HTML."""
    grid = result.grid
    mended = grid.mended
    blocks: list[pages.Block] = [
        pages.Paragraph(
            f"{grid.values.shape[1]} points of {grid.names[0]}, one every "
            f"{durations.text(grid.step_s)}; {mended.gaps} gaps, in which {mended.filled} points "
            f"repeat the last value. {result.chosen} looks "
            f"{durations.text(result.steps * grid.step_s)} ahead."
        ),
        pages.make_figure(
            make_chart(result),
            "The band is the central 80 %: one value in ten lies above it, one below.",
        ),
    ]
    if result.rows:
        blocks += [pages.Heading("Back-test"), make_table(result)]
    if result.weights:
        blocks += [pages.Heading("What the ensemble goes by"), _weights(result)]
    return pages.render(f"Forecast of {grid.names[0]}", blocks)


def make_chart(result: forecasts.Result) -> alt.TopLevelMixin:
    """Return the end of the series, what had been expected of it, and what is expected next."""
    grid, steps = result.grid, result.steps
    count = grid.values.shape[1]
    shown = min(count, max(POINTS, 4 * steps))
    dates = grid.start_s >= 1e8
    times = _times(grid.start_s, grid.step_s, count + steps, dates=dates)
    past = range(count - shown, count)
    lines = [
        {"time": times[t], "value": _short(grid.values[0, t]), "line": figures.MEASURED}
        for t in past
    ]
    bands: list[dict[str, Any]] = []
    if result.tried is not None:
        means = result.tried.means
        for k, origin in enumerate(means.origins):
            t = int(origin) + steps - 1
            if count - shown <= t < count:
                line = {"time": times[t], "line": figures.EXPECTED}
                lines.append({**line, "value": _short(means.predicted[0, k, -1])})
    low, high = (result.ahead.levels.index(level) for level in (_LOW, _HIGH))
    for h in range(steps):
        line = {"time": times[count + h], "line": figures.AHEAD}
        lines.append({**line, "value": _short(result.ahead.mean[0, h])})
        quantiles = result.ahead.quantiles[0, h]
        bands.append({**line, "low": _short(quantiles[low]), "high": _short(quantiles[high])})
    ahead = durations.text(steps * grid.step_s)
    title = f"{grid.names[0]}, {ahead} ahead by {result.chosen}"
    return figures.draw(lines, bands, dates=dates, title=title, unit=grid.names[0])


def make_table(result: forecasts.Result) -> pages.Table:
    """Return the errors of all models, best first."""
    rows = sort_rows(result.rows)
    return pages.Table(
        ("model", "MASE", "at the horizon", "MAE", "RMSE", "MAPE", "sMAPE", "pinball", "in 90 %"),
        [
            [
                row.model,
                *(text(row.measures[name]) for name in ("mase", "mase_at_horizon", "mae", "rmse")),
                percent(row.measures["mape"]),
                percent(row.measures["smape"]),
                text(row.measures["pinball"]),
                percent(row.coverage["0.9"]),
            ]
            for row in rows
        ],
        caption=(
            "Errors over all steps up to the horizon, best model first. MASE below 1 beats one "
            "step of persistence inside the training part."
        ),
    )


def sort_rows(rows: tuple[forecasts.Row, ...]) -> list[forecasts.Row]:
    """Return rows by error, least first."""
    return sorted(rows, key=lambda row: row.measures["mae"] or 0.0)


def text(value: float | None) -> str:
    """Return a number in four digits."""
    return "-" if value is None else f"{value:,.4g}"


def percent(value: float | None) -> str:
    """Return a share in per cent."""
    return "-" if value is None else f"{100 * value:.1f} %"


def _weights(result: forecasts.Result) -> pages.Table:
    return pages.Table(
        ("candidate", "weight at the horizon"),
        [[name, f"{100 * share:.1f} %"] for name, share in result.weights.items()],
        caption="Weights follow the errors of the last few hundred points.",
    )


def _times(start_s: float, step_s: float, count: int, *, dates: bool) -> list[float]:
    factor = 1000.0 if dates else 1.0
    found: list[float] = (factor * (start_s + step_s * np.arange(count))).tolist()
    return found


def _short(value: float) -> float:
    return float(f"{value:.6g}")
