"""The report of a forecast: the figure, the back-test, the weights of the ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from kubestow.model import decoding
from kubestow.policies.forecasting import diagnostics
from kubestow.reports import figures, pages
from kubestow.workflows import forecasting

WIDTH, HEIGHT = 760, 260
MEASURED, EXPECTED, AHEAD = "measured", "back-test", "forecast"
_COLOURS = {
    MEASURED: figures.PALETTE[0],
    EXPECTED: figures.PALETTE[3],
    AHEAD: figures.PALETTE[1],
}
_BAND = 0.18

Record = Mapping[str, Any]


def draw(
    lines: Sequence[Record], bands: Sequence[Record], *, dates: bool, title: str, unit: str
) -> alt.TopLevelMixin:
    """Return lines over time with bands around the forecasts.

    Args:
        lines: Records ``time``, ``value``, ``line`` (one of the three names above).
        bands: Records ``time``, ``low``, ``high``, ``line``.
        dates: Whether times are milliseconds since the epoch; else they are seconds.
        title: Title of the chart.
        unit: Title of the vertical axis.
    """
    kind = "T" if dates else "Q"
    scale = alt.Scale(type="utc") if dates else alt.Scale(nice=False)
    time = alt.X(f"time:{kind}", title="time (UTC)" if dates else "seconds", scale=scale)
    present = [name for name in _COLOURS if any(row["line"] == name for row in lines)]
    colour = alt.Color(
        "line:N",
        title=None,
        scale=alt.Scale(domain=present, range=[_COLOURS[name] for name in present]),
        legend=alt.Legend(
            orient="bottom", symbolType="stroke", symbolStrokeWidth=3, symbolOpacity=1.0
        ),
    )
    band = (
        alt.Chart(alt.InlineData(values=[dict(row) for row in bands]))
        .mark_area(opacity=_BAND)
        .encode(x=time, y=alt.Y("low:Q", title=unit), y2="high:Q", color=colour.copy(deep=True))
    )
    line = (
        alt.Chart(alt.InlineData(values=[dict(row) for row in lines]))
        .mark_line(strokeWidth=1.5)
        .encode(
            x=time,
            y=alt.Y("value:Q", title=unit, scale=alt.Scale(zero=False)),
            color=colour,
            tooltip=[
                alt.Tooltip("line:N", title=" "),
                alt.Tooltip(f"time:{kind}", format="%F %T" if dates else ",.0f"),
                alt.Tooltip("value:Q", format=",.4~g"),
            ],
        )
    )
    chart: alt.TopLevelMixin = (
        alt.layer(band, line)
        .properties(width=WIDTH, height=HEIGHT, title=title)
        .configure_view(stroke="#d9dee6")
        .configure_axis(gridColor="#eceff3", titleFontWeight="normal")
    )
    return chart


POINTS = 400
"""Maximum number of past points in the figure."""

_LOW, _HIGH = 0.1, 0.9


def make_page(result: forecasting.ForecastResult) -> str:
    """Return the whole report as HTML."""
    grid = result.grid
    mended = grid.mended
    blocks: list[pages.Block] = [
        pages.Paragraph(
            f"{grid.values.shape[1]} points of {grid.names[0]}, one every "
            f"{decoding.format_duration(grid.step_s)}; {mended.gaps} gaps, in which "
            f"{mended.filled} points repeat the last value. {result.chosen} forecasts "
            f"{decoding.format_duration(result.steps * grid.step_s)} ahead."
        ),
        pages.make_figure(
            make_chart(result),
            "The band is the central 80 % interval.",
        ),
    ]
    if result.rows:
        blocks += [pages.Heading("Back-test"), make_table(result)]
    if result.weights:
        blocks += [pages.Heading("Weights of the ensemble"), _weights(result)]
    if result.residuals is not None:
        blocks += [pages.Heading("Residuals"), *_residuals(result.residuals)]
    return pages.render(f"Forecast of {grid.names[0]}", blocks)


def _residuals(diagnosis: diagnostics.Diagnosis) -> list[pages.Block]:
    """Return the tests of the residuals of the fitted model."""
    rows = [
        ["Ljung-Box", "no autocorrelation", text(diagnosis.autocorrelation_p)],
        ["Jarque-Bera", "normal distribution", text(diagnosis.normality_p)],
        ["Engle (ARCH)", "constant variance", text(diagnosis.arch_p)],
    ]
    caption = f"{diagnosis.points} residuals, {diagnosis.lags} lags."
    table = pages.PageTable(("test", "null hypothesis", "p-value"), rows, caption=caption)
    return [pages.Paragraph(diagnosis.verdict), table]


def make_chart(result: forecasting.ForecastResult) -> alt.TopLevelMixin:
    """Return the end of the series, its back-test, and the forecast."""
    grid, steps = result.grid, result.steps
    count = grid.values.shape[1]
    shown = min(count, max(POINTS, 4 * steps))
    dates = grid.start_s >= 1e8
    times = _times(grid.start_s, grid.step_s, count + steps, dates=dates)
    past = range(count - shown, count)
    lines = [{"time": times[t], "value": _short(grid.values[0, t]), "line": MEASURED} for t in past]
    bands: list[dict[str, Any]] = []
    if result.tried is not None:
        means = result.tried.means
        for k, origin in enumerate(means.origins):
            t = int(origin) + steps - 1
            if count - shown <= t < count:
                line = {"time": times[t], "line": EXPECTED}
                lines.append({**line, "value": _short(means.predicted[0, k, -1])})
    low, high = (result.ahead.levels.index(level) for level in (_LOW, _HIGH))
    for h in range(steps):
        line = {"time": times[count + h], "line": AHEAD}
        lines.append({**line, "value": _short(result.ahead.mean[0, h])})
        quantiles = result.ahead.quantiles[0, h]
        bands.append({**line, "low": _short(quantiles[low]), "high": _short(quantiles[high])})
    ahead = decoding.format_duration(steps * grid.step_s)
    title = f"{grid.names[0]}, {ahead} ahead by {result.chosen}"
    return draw(lines, bands, dates=dates, title=title, unit=grid.names[0])


def make_table(result: forecasting.ForecastResult) -> pages.PageTable:
    """Return the errors of all models, best first."""
    rows = sort_rows(result.rows)
    return pages.PageTable(
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


def sort_rows(rows: tuple[forecasting.BacktestRow, ...]) -> list[forecasting.BacktestRow]:
    """Return rows by error, smallest first."""
    return sorted(rows, key=lambda row: row.measures["mae"] or 0.0)


def text(value: float | None) -> str:
    """Return a number with four digits."""
    return "-" if value is None else f"{value:,.4g}"


def percent(value: float | None) -> str:
    """Return a share in percent."""
    return "-" if value is None else f"{100 * value:.1f} %"


def _weights(result: forecasting.ForecastResult) -> pages.PageTable:
    return pages.PageTable(
        ("candidate", "weight at the horizon"),
        [[name, f"{100 * share:.1f} %"] for name, share in result.weights.items()],
        caption="Weights follow the errors of the last few hundred points.",
    )


def _times(start_s: float, step_s: float, count: int, *, dates: bool) -> list[float]:
    factor = 1000.0 if dates else 1.0
    times: list[float] = (factor * (start_s + step_s * np.arange(count))).tolist()
    return times


def _short(value: float) -> float:
    return float(f"{value:.6g}")
