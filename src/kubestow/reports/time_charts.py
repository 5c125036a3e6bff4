"""Lines over simulated time in stacked panels, for all reports of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt
import polars as pl

from kubestow.reports import figures

WIDTH = 760
POINTS = 360
"""Maximum number of points of a line: one for every two pixels."""

_HOUR_S, _MINUTE_S = 3600.0, 60.0


@dataclass(frozen=True, slots=True)
class ChartAxis:
    """The time axis: its unit, the unit in seconds, and its end."""

    unit: str
    unit_s: float
    end: float

    def encode(self, *, labels: bool) -> alt.X:
        """Return the horizontal axis; only the lowest panel has labels."""
        return alt.X(
            "t:Q",
            title=f"{self.unit} since the start" if labels else None,
            scale=alt.Scale(domain=[0.0, self.end], nice=False),
            axis=alt.Axis(labels=labels, ticks=labels, grid=True),
        )


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel: title of its vertical axis, and the lines in it by name with their colours.

    The names are columns of the data (``stack``) or values of ``series`` (``overlay``).
    """

    title: str
    lines: Mapping[str, str]
    field: str = ""


def axis(duration_s: float) -> ChartAxis:
    """Return hours for long runs, minutes for short ones."""
    if duration_s > 3 * _HOUR_S:
        return ChartAxis("hours", _HOUR_S, duration_s / _HOUR_S)
    return ChartAxis("minutes", _MINUTE_S, duration_s / _MINUTE_S)


def thin(table: pl.DataFrame, keys: Sequence[str], highest: Sequence[str] = ()) -> pl.DataFrame:
    """Thin a timeline to ``POINTS`` intervals per line: the mean or the maximum of each.

    Args:
        table: One row per time and key, with ``time_s``.
        keys: Columns that identify lines.
        highest: Columns whose maximum is taken.
    """
    times = table["time_s"].unique().sort()
    width = -(-len(times) // POINTS)
    stretches = pl.DataFrame(
        {"time_s": times, "stretch": pl.arange(len(times), eager=True) // width}
    )
    values = [name for name in table.columns if name not in ("time_s", *keys)]
    return (
        table.join(stretches, on="time_s")
        .group_by(*keys, "stretch", maintain_order=True)
        .agg(
            pl.col("time_s").max(),
            *(pl.col(n).max() if n in highest else pl.col(n).mean() for n in values),
        )
        .drop("stretch")
    )


def records(table: pl.DataFrame, time: ChartAxis, digits: int = 4) -> list[dict[str, Any]]:
    """Return rows for a chart: time in its unit, numbers shortened, gaps left out."""
    rows = table.with_columns(t=pl.col("time_s") / time.unit_s).drop("time_s").iter_rows(named=True)
    return [
        {k: _short(v, digits) for k, v in row.items() if v is not None and v == v} for row in rows
    ]


def _short(value: Any, digits: int) -> Any:
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def stack(
    rows: list[dict[str, Any]], panels: Sequence[Panel], time: ChartAxis
) -> alt.TopLevelMixin:
    """Return panels whose lines are columns of the same rows."""
    charts = []
    for panel in panels:
        names: list[str | alt.FieldName] = list(panel.lines)
        base = alt.Chart().transform_fold(names, as_=["line", "value"])
        top = _top(rows, list(panel.lines))
        charts.append(_lines(base, panel, "value", "line", time, panel is panels[-1], top))
    return _column(charts, rows, shared=False)


def overlay(
    rows: list[dict[str, Any]], panels: Sequence[Panel], series: str, time: ChartAxis
) -> alt.TopLevelMixin:
    """Return panels, one per field, with one line per value of a series; one legend for all."""
    charts = [
        _lines(
            alt.Chart(),
            panel,
            panel.field,
            series,
            time,
            panel is panels[-1],
            _top(rows, [panel.field]),
        )
        for panel in panels
    ]
    return _column(charts, rows, shared=True)


def _top(rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> float:
    """Return the end of the vertical axis: a little above the highest value."""
    highest = max((row.get(field, 0.0) for row in rows for field in fields), default=0.0)
    return 1.08 * highest if highest > 0.0 else 1.0


def _lines(
    base: alt.Chart,
    panel: Panel,
    field: str,
    series: str,
    time: ChartAxis,
    last: bool,
    top: float,
) -> alt.Chart:
    shown = alt.Legend(title=None, symbolType="stroke", symbolSize=400, labelLimit=260)
    chart: alt.Chart = (
        base.mark_line(clip=True)
        .encode(
            x=time.encode(labels=last),
            y=alt.Y(
                f"{field}:Q",
                title=panel.title,
                scale=alt.Scale(domain=[0.0, top], nice=False),
                axis=alt.Axis(tickCount=4),
            ),
            **figures.line_channels(series, panel.lines, shown),
            tooltip=[
                alt.Tooltip(f"{series}:N", title=" "),
                alt.Tooltip("t:Q", title=time.unit, format=".2f"),
                alt.Tooltip(f"{field}:Q", title=panel.title, format=",.4~g"),
            ],
        )
        .properties(width=WIDTH, height=110)
    )
    return chart


def _column(
    charts: Sequence[alt.Chart], rows: list[dict[str, Any]], *, shared: bool
) -> alt.TopLevelMixin:
    which: Literal["shared", "independent"] = "shared" if shared else "independent"
    return style(
        alt.vconcat(*charts, data=alt.InlineData(values=rows), spacing=14).resolve_scale(
            color=which, strokeDash=which, strokeWidth=which
        )
    )


def style(chart: Any) -> alt.TopLevelMixin:
    """Apply the common style of all reports."""
    styled: alt.TopLevelMixin = chart.configure_view(stroke="#d9dee6").configure_axis(
        gridColor="#eceff3", titleFontWeight="normal"
    )
    return styled
