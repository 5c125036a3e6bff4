"""The figure of a forecast: what was, what had been expected, what is expected, and how surely."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from kubestow.reports import figures

WIDTH, HEIGHT = 760, 260
MEASURED, EXPECTED, AHEAD = "measured", "had been expected", "expected"
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
    """Return lines over time with bands around what is or was expected.

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
