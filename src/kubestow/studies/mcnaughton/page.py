"""The report on scaling one pod start-up ahead: verdicts, curves, start-up times, one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies import verdicts
from kubestow.studies.mcnaughton import scenarios

Row = dict[str, Any]
_SHOWN: Final = ("hpa", "line-fit", "receding", "auto")


def make_page(report: dict[str, Any]) -> str:
    """Return the whole report as HTML."""
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "Four traffic patterns of McNaughton 2016; pods of 0.1 core that take up to "
            f"{report['startups_s'][-1]:g} s to start; requests simulated one by one; "
            f"{len(report['seeds'])} seeds. Intervals are 95 %, over seeds."
        ),
        pages.make_figure(
            curve_chart(report["curves"]),
            "95th percentile of response times over cost, one point per target utilisation. Lower "
            "left is better. Response times are capped at the time-out of the client.",
        ),
        verdicts.make(report["rows"], "seeds"),
        pages.Heading("One run over time"),
        pages.make_figure(
            timeline_chart(report["course"]),
            "Requests per second and ready pods at a target of 60 %, first seed.",
        ),
        pages.Heading("All cells with the longest start-up time"),
        grid_table(report["grid"], report["startups_s"][-1]),
    ]
    return pages.render("Scaling one pod start-up ahead: McNaughton 2016, repeated", blocks)


def curve_chart(rows: Sequence[Row]) -> alt.TopLevelMixin:
    """Return the curves of all patterns."""
    shown = [row for row in rows if row["way"] in _SHOWN]
    colour = alt.Color("way:N", title=None, scale=alt.Scale(range=list(figures.PALETTE)))
    base = alt.Chart(alt.InlineData(shown)).encode(
        x=alt.X("cost:Q", title="pod-hours", scale=alt.Scale(zero=False)),
        y=alt.Y("badness:Q", title="p95 response (s)", scale=alt.Scale(type="log")),
        color=colour,
        order=alt.Order("target:Q"),
        tooltip=[
            alt.Tooltip("way:N", title="scaler"),
            "target:Q",
            "cost:Q",
            "badness:Q",
            "ratio:Q",
            "low:Q",
            "high:Q",
        ],
    )
    both = alt.layer(base.mark_line(), base.mark_point(filled=True, size=45))
    faceted = both.properties(width=330, height=220).facet(
        alt.Facet("pattern:N", title=None, sort=list(scenarios.PATTERNS)), columns=2
    )
    chart: alt.TopLevelMixin = faceted.resolve_scale(x="independent", y="independent")
    return chart


def timeline_chart(rows: Sequence[Row]) -> alt.TopLevelMixin:
    """Return demand and ready pods over time."""
    charts = []
    for pattern in scenarios.PATTERNS:
        here = [row for row in rows if row["pattern"] == pattern]
        x = alt.X("minute:Q", title="minutes")
        demand = (
            alt.Chart(alt.InlineData([row for row in here if row["way"] == "auto"]))
            .mark_area(opacity=0.18, color="#55606e")
            .encode(x=x, y=alt.Y("demand:Q", title="requests per second"))
        )
        pods = (
            alt.Chart(alt.InlineData(here))
            .mark_line(interpolate="step-after")
            .encode(
                x=x,
                y=alt.Y("ready:Q", title="ready pods"),
                color=alt.Color("way:N", title=None, scale=alt.Scale(range=list(figures.PALETTE))),
            )
        )
        both = alt.layer(demand, pods).resolve_scale(y="independent")
        charts.append(both.properties(width=330, height=170, title=pattern))
    chart: alt.TopLevelMixin = alt.concat(*charts, columns=2)
    return chart


def grid_table(rows: Sequence[Row], startup_s: float) -> pages.PageTable:
    """Return all scalers with the longest start-up time."""
    shown = [
        [
            row["pattern"],
            row["way"],
            f"{row['pod_hours']['mean']:.2f}",
            f"{100 * row['eru']['mean']:.0f} %",
            f"{row['mean_s']['mean']:.2f}",
            f"{row['p95_s']['mean']:.2f}",
            f"{100 * row['late']['mean']:.0f} %",
            f"{row['actions']['mean']:.0f}",
        ]
        for row in rows
        if row["startup_s"] == startup_s
    ]
    head = [
        "pattern",
        "scaler",
        "pod-hours",
        "utilisation",
        "mean (s)",
        "p95 (s)",
        "over 1 s",
        "changes",
    ]
    return pages.PageTable(head, shown)
