"""The report on the 600 s experiment: replicas and response times over time, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies import verdicts

Row = dict[str, Any]


def make_page(report: dict[str, Any]) -> str:
    """Return the whole report as HTML."""
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "Load rises from 90 to 330 s and falls from 450 to 570 s; 2 to 8 replicas that are "
            f"ready after about 25 s; {len(report['seeds'])} seeds. The thesis (Shi 2023, 5.2) "
            "shows only a figure; these are numbers for the same experiment."
        ),
        pages.make_figure(
            timeline_chart(report["course"]),
            "Desired replicas and mean response times over 5 s, first seed; grey: requests per "
            "second.",
        ),
        verdicts.make(report["rows"], "seeds"),
        means(report["table"]),
    ]
    return pages.render("Scaling ahead of load: Shi 2023, repeated", blocks)


def timeline_chart(rows: Sequence[Row]) -> alt.TopLevelMixin:
    """Return replicas and response times over time."""
    colour = alt.Color("way:N", title=None, scale=alt.Scale(range=list(figures.PALETTE)))
    x = alt.X("time_s:Q", title="seconds")
    first = rows[0]["way"] if rows else ""
    load = (
        alt.Chart(alt.InlineData([row for row in rows if row["way"] == first]))
        .mark_area(opacity=0.18, color="#55606e")
        .encode(x=x, y=alt.Y("demand:Q", title="requests per second"))
    )
    base = alt.Chart(alt.InlineData(list(rows)))
    replicas = base.mark_line(interpolate="step-after").encode(
        x=x, y=alt.Y("replicas:Q", title="replicas"), color=colour
    )
    response = base.mark_line().encode(
        x=x,
        y=alt.Y("response_s:Q", title="response (s)", scale=alt.Scale(type="log")),
        color=colour,
    )
    upper = alt.layer(load, replicas).resolve_scale(y="independent")
    chart: alt.TopLevelMixin = alt.vconcat(
        upper.properties(width=680, height=220), response.properties(width=680, height=180)
    )
    return chart


def means(rows: Sequence[Row]) -> pages.PageTable:
    """Return the means of all scalers."""
    shown = [
        [
            row["way"],
            f"{row['rise_mean_s']:.3f}",
            f"{row['rise_p95_s']:.3f}",
            f"{row['rise_replica_seconds']:.0f}",
            f"{row['fall_mean_s']:.3f}",
            f"{row['fall_replica_seconds']:.0f}",
        ]
        for row in rows
    ]
    head = ["scaler", "rise: mean (s)", "p95 (s)", "replica-s", "fall: mean (s)", "replica-s"]
    return pages.PageTable(head, shown)
