"""The report on limits that follow usage: curves, verdicts, means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies import verdicts

Row = Mapping[str, Any]
_REQUEST_CORES = 0.6
_LINES = {"used": "used", "limit": "limit", "request": "request"}


def make_page(report: Mapping[str, Any]) -> str:
    """Return the whole report as HTML."""
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "Three replicas of a web pod with requests of 600 m and 400 MB; load rises from 30 to "
            "330 s, is constant until 450 s and falls until 600 s; a sample every 20 s, lambda 0.2 "
            f"unless stated; {len(report['seeds'])} seeds. The thesis (Shi 2023, 5.4) shows only a "
            "figure; `strict` is its rule as printed, which sets limits below usage after a fall."
        ),
        pages.make_figure(
            timeline_chart(report["course"]),
            "CPU of a pod in cores (mean of three) and mean response time over 5 s, first seed.",
        ),
        verdicts.make(report["rows"], "seeds"),
        means(report["table"]),
    ]
    return pages.render("Limits that follow usage: Shi 2023, repeated", blocks)


def timeline_chart(rows: Sequence[Row]) -> alt.TopLevelMixin:
    """Return usage, limit and request over time, one column per variant; response times below."""
    columns = []
    for variant in dict.fromkeys(row["way"] for row in rows):
        mine = [row for row in rows if row["way"] == variant]
        lines = [
            {"time_s": row["time_s"], "line": line, "cores": row.get(line, _REQUEST_CORES)}
            for row in mine
            for line in _LINES
        ]
        upper = (
            alt.Chart(alt.InlineData(lines))
            .mark_line(interpolate="step-after")
            .encode(
                x=alt.X("time_s:Q", title=None),
                y=alt.Y("cores:Q", title="cores", scale=alt.Scale(domain=[0.0, 1.0], clamp=True)),
                color=alt.Color(
                    "line:N",
                    title=None,
                    scale=alt.Scale(domain=list(_LINES), range=list(figures.PALETTE[:3])),
                ),
            )
        )
        points = [{"time_s": row["time_s"], "response_s": row["response_s"]} for row in mine]
        lower = (
            alt.Chart(alt.InlineData([one for one in points if one["response_s"] > 0.0]))
            .mark_line(color=figures.INK)
            .encode(
                x=alt.X("time_s:Q", title="seconds"),
                y=alt.Y(
                    "response_s:Q",
                    title="response (s)",
                    scale=alt.Scale(type="log", domain=[0.02, 30.0], clamp=True),
                ),
            )
        )
        columns.append(
            alt.vconcat(
                upper.properties(title=variant, width=190, height=170),
                lower.properties(width=190, height=110),
            )
        )
    chart: alt.TopLevelMixin = alt.hconcat(*columns)
    return chart


def means(rows: Sequence[Row]) -> pages.PageTable:
    """Return the means of all variants."""
    head = [
        "variant", "reserved, not used (core s)", "mean response (s)", "p95 (s)", "OOM kills",
        "throttled (%)", "requests lost", "limits written",
    ]  # fmt: skip
    shown = [
        [
            row["way"],
            f"{row['reserved_unused']:.0f}",
            f"{row['response_mean']:.4f}",
            f"{row['response_p95']:.4f}",
            f"{row['oom_kills']:.2f}",
            f"{100 * row['throttled']:.2f}",
            f"{row['dropped']:.0f}",
            f"{row['written']:.0f}",
        ]
        for row in rows
    ]
    return pages.PageTable(head, shown, caption="Means over seeds.")
