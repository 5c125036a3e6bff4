"""The forecasts of a scaler over time: load, forecast band, replicas and the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from kubestow.reports import figures

_HOUR_S = 3600.0
# Lines: column of the time and column of the value.
_LINES = {
    "forecast": ("about", "mean"),
    "load": ("hour", "load"),
    "replicas": ("hour", "replicas"),
}
_GATES = {1.0: "forecast", 0.0: "last value"}


def outlook_rows(series: Mapping[str, Sequence[float | None]]) -> list[dict[str, Any]]:
    """Return one row per minute; forecasts are shifted to their target time."""
    columns = zip(
        series["time_s"],
        *(
            series[f"ahead_{name}"]
            for name in (
                "load", "forecast", "forecast_upper", "forecast_horizon_s", "gate", "replicas",
            )
        ),
        strict=True,
    )  # fmt: skip
    rows = []
    for time_s, load, mean, upper, horizon_s, gate, replicas in columns:
        if time_s is None:
            continue
        row: dict[str, Any] = {"hour": round(time_s / _HOUR_S, 4)}
        row |= {"load": load, "replicas": replicas}
        if mean is not None and horizon_s is not None:
            row |= {"mean": mean, "upper": upper, "gate": _GATES.get(gate or 0.0)}
            row["about"] = round((time_s + horizon_s) / _HOUR_S, 4)
        rows.append(row)
    return rows


def outlook_chart(series: Mapping[str, Sequence[float | None]]) -> alt.TopLevelMixin:
    """Return the chart: load, band and replicas above, the gate below."""
    rows = outlook_rows(series)
    base = alt.Chart(alt.InlineData(rows))
    lines = [
        {"hour": row[when], "pods": row[name], "what": what}
        for what, (when, name) in _LINES.items()
        for row in rows
        if row.get(when) is not None and row.get(name) is not None
    ]
    colours = (figures.PALETTE[1], "#30363d", figures.PALETTE[0])
    legend = alt.Legend(title=None, symbolType="stroke", symbolSize=400)
    channels = figures.line_channels("what", dict(zip(_LINES, colours, strict=True)), legend)
    band = base.mark_area(opacity=0.25, color=figures.PALETTE[1]).encode(
        x=alt.X("about:Q", title=None), y=alt.Y("mean:Q", title="pods"), y2="upper:Q"
    )
    drawn = (
        alt.Chart(alt.InlineData(lines))
        .mark_line(interpolate="step-after")
        .encode(x=alt.X("hour:Q", title=None), y=alt.Y("pods:Q", title="pods"), **channels)
    )
    gate = (
        base.transform_filter("isValid(datum.gate)")
        .mark_tick(thickness=1.5, height=14)
        .encode(
            x=alt.X("hour:Q", title="hours"),
            y=alt.Y("gate:N", title=None, sort=list(_GATES.values())),
        )
    )
    upper = alt.layer(band, drawn).properties(width=680, height=260)
    both: alt.TopLevelMixin = alt.vconcat(upper, gate.properties(width=680, height=40))
    return both
