"""The report on real request traces: overloaded and late requests over cost, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies import tradeoffs, verdicts

Row = dict[str, Any]
# A logarithmic axis has no 0.
_LEAST = 1e-4


def describe(point: tradeoffs.Point) -> Row:
    """Return a point as plain values."""
    return asdict(point)


def make_page(report: dict[str, Any]) -> str:
    """Return the whole report as HTML."""
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "Real request traces, replayed in the simulator. A replica serves 1/28 of the 99th "
            "percentile of the load; a pod takes 60 s to start. One point per target utilisation; "
            "lower left is better. `perfect` knows the coming minutes."
        ),
        pages.make_figure(
            curve_chart(report["points"], "overloaded requests (%)"),
            "Overloaded requests over mean pods, by trace.",
        ),
        pages.make_figure(
            curve_chart(report["late_points"], "late or dropped requests (%)"),
            "Late or dropped requests over mean pods, by trace.",
        ),
        verdicts.make(report["rows"], "blocks", thesis=False),
        points_table(report["points"], "overloaded"),
        points_table(report["late_points"], "late or dropped"),
    ]
    return pages.render("Scaling on real request traces", blocks)


def curve_chart(points: Sequence[Row], title: str) -> alt.TopLevelMixin:
    """Return the curves of all traces; the title is that of the vertical axis."""
    shown = [{**p, "share": max(100.0 * p["badness"], 100.0 * _LEAST)} for p in points]
    base = alt.Chart(alt.InlineData(shown)).encode(
        x=alt.X("cost:Q", title="mean pods", scale=alt.Scale(zero=False)),
        y=alt.Y("share:Q", title=title, scale=alt.Scale(type="log")),
        color=alt.Color("way:N", title=None, scale=alt.Scale(range=list(figures.PALETTE))),
        order=alt.Order("target:Q"),
        tooltip=[alt.Tooltip("way:N", title="scaler"), "target:Q", "cost:Q", "share:Q", "ratio:Q"],
    )
    both = alt.layer(base.mark_line(), base.mark_point(filled=True, size=40))
    faceted = both.properties(width=330, height=210).facet(
        alt.Facet("trace:N", title=None), columns=2
    )
    chart: alt.TopLevelMixin = faceted.resolve_scale(x="independent", y="independent")
    return chart


def points_table(points: Sequence[Row], measure: str) -> pages.PageTable:
    """Return every point with its ratio to the reactive curve."""
    shown = [
        [
            p["trace"],
            p["way"],
            f"{100 * p['target']:.0f} %",
            f"{p['cost']:.1f}",
            f"{100 * p['badness']:.3f} %",
            "-" if p["ratio"] is None else f"{p['ratio']:.2f}",
            "-" if p["low"] is None else f"{p['low']:.2f} to {p['high']:.2f}",
        ]
        for p in points
    ]
    head = ["trace", "scaler", "target", "pods", measure, "ratio to hpa", "95 %"]
    return pages.PageTable(head, shown, caption=f"All points: {measure} requests.", folded=True)
