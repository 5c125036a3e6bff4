"""The report on recommenders in the control loop: nodes and OOM kills, verdicts, all means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies import verdicts

Row = Mapping[str, Any]
_COLUMNS = (
    ("node_hours", "node hours", 1.0, 1),
    ("nodes_end", "nodes, last quarter", 1.0, 1),
    ("oom_kills", "OOM kills", 1.0, 1),
    ("throttled_ratio", "throttled (%)", 100.0, 2),
    ("pending_pod_seconds", "pending (pod min)", 1 / 60, 1),
    ("pod_hours", "pod hours", 1.0, 0),
    ("eru.cpu", "CPU used of requested (%)", 100.0, 0),
    ("eru.memory", "memory used of requested (%)", 100.0, 0),
    ("resizes", "resizes", 1.0, 0),
    ("sizing.memory_missed", "recommendations missed, memory (%)", 100.0, 1),
)


def make_page(report: Mapping[str, Any]) -> str:
    """Return the whole report as HTML."""
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "Requests are set while the cluster runs. Memory above the limit is an OOM kill and "
            "the work starts over; CPU above the limit is throttled; nodes are added when pods "
            "are pending and removed when few of their resources are requested. Memory limits "
            "equal requests and CPU limits are twice the requests, for all recommenders. "
            f"{len(report['seeds'])} seeds, each with other workloads; seeds are paired."
        ),
        pages.make_figure(
            tradeoff_chart(report["points"]),
            "OOM kills over node hours. Small: seeds; large: means. Lower left is better.",
        ),
        verdicts.make(report["rows"], "seeds", thesis=False),
        pages.Paragraph(f"Verdicts: {report['rule']}."),
        *(_means(report["table"], name) for name in _scenarios(report["table"])),
    ]
    return pages.render("Recommenders in the control loop", blocks)


def _scenarios(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["scenario"] for row in rows))


def tradeoff_chart(points: Sequence[Row]) -> alt.TopLevelMixin:
    """Return OOM kills over node hours, one panel per scenario."""
    variants = list(dict.fromkeys(row["way"] for row in points))
    colour = alt.Color(
        "way:N",
        title="requests by",
        scale=alt.Scale(domain=variants, range=list(figures.PALETTE[: len(variants)])),
    )
    shape = alt.Shape("placing:N", title="placing")
    panels = []
    for name in _scenarios(points):
        base = alt.Chart(alt.InlineData([dict(row) for row in points if row["scenario"] == name]))
        kills = alt.Scale(type="symlog")
        seeds = base.mark_point(opacity=0.3, size=18).encode(
            x=alt.X("node_hours:Q", title="node hours", scale=alt.Scale(zero=False)),
            y=alt.Y("oom_kills:Q", title="OOM kills", scale=kills),
            color=colour,
            shape=shape,
        )
        means = base.mark_point(filled=True, size=130, opacity=0.95).encode(
            x=alt.X("mean(node_hours):Q", title="node hours"),
            y=alt.Y("mean(oom_kills):Q", title="OOM kills", scale=kills),
            color=colour,
            shape=shape,
        )
        panels.append(alt.layer(seeds, means).properties(title=name, width=330, height=280))
    chart: alt.TopLevelMixin = alt.hconcat(*panels)
    return chart


def _means(rows: Sequence[Row], name: str) -> pages.PageTable:
    shown = [
        [
            row["placing"],
            row["way"],
            *(_text(row[path], factor, digits) for path, _, factor, digits in _COLUMNS),
        ]
        for row in rows
        if row["scenario"] == name
    ]
    head = ["placing", "requests by", *(title for _, title, *_ in _COLUMNS)]
    return pages.PageTable(head, shown, caption=f"{name}: mean and half the 95 % interval.")


def _text(value: Row, factor: float, digits: int) -> str:
    if value["mean"] is None:
        return "-"
    text = f"{value['mean'] * factor:,.{digits}f}"
    half = value["half_width"]
    return text if half is None else f"{text} ± {half * factor:,.{digits}f}"
