"""The page of ``kubestow demo``: the table, timelines, requests and usage, scaling ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from kubestow.policies.sizing import conformal
from kubestow.reports import comparison_charts, figures, outlook_charts, pages
from kubestow.workflows import comparing, demonstrating

Row = Mapping[str, Any]
_RISK: Final = conformal.ConformalParameters().memory_miss_probability
_PANELS: Final = (
    ("cpu", "CPU of a pod (cores)", 1.0),
    ("memory", "memory of a pod (GiB)", 2.0**30),
)


def chart(comparison: comparing.Comparison) -> alt.TopLevelMixin:
    """Return the timeline of one seed: nodes, and response times of services."""
    panels = ("demand", "nodes", "response", "pending")
    return comparison_charts.timeline_chart(comparison, comparison_charts.drawn(comparison), panels)


def _ahead(comparison: comparing.Comparison) -> list[pages.Block]:
    """Return the figure of the service that is scaled ahead, if there is one."""
    record = next(
        (one.records[0] for one in comparison.results if one.label == demonstrating.AHEAD), None
    )
    if record is None or "ahead_load" not in record.series:
        return []
    return [
        pages.Heading("Scaled one pod start ahead"),
        pages.make_figure(
            outlook_charts.outlook_chart(record.series),
            "The service api with the scaler `auto`, in pods: load, forecast for that moment "
            "(line: mean; band: up to the 90 % quantile), and replicas. Below: whether a "
            "forecast or the last value drove the decision.",
        ),
    ]


def _sizes(comparison: comparing.Comparison) -> list[pages.Block]:
    """Return requests and usage, before and after sizing."""
    records = {
        one.label: one.records[0]
        for one in comparison.results
        if one.label in (demonstrating.STOCK, demonstrating.SIZED)
    }
    if len(records) < 2:
        return []
    order = ("as guessed", "sized")
    rows = [
        row
        for when, label in zip(order, (demonstrating.STOCK, demonstrating.SIZED), strict=True)
        for row in _collect(when, records[label].measures)
    ]
    missed = comparing.value_of(records[demonstrating.SIZED].measures, "sizing.memory_missed")
    result = "none could be checked" if missed is None else f"{100 * missed:.1f} % did"
    return [
        pages.Heading("Requests and usage"),
        pages.Paragraph(
            "`auto` allows memory usage to exceed its recommendation in a stated share of hours, "
            f"by default {100 * _RISK:g} %; in this run {result}. Limits stay as they were, so "
            "such an hour is not an OOM kill. The CPU requests of services with an autoscaler stay "
            "as well: the autoscaler divides by them."
        ),
        pages.make_figure(
            _sizes_chart(rows, order),
            "Means over the day, one point per workload, first seed. On the dashed line, requests "
            "equal usage. Sized workloads start the day with the guessed requests.",
        ),
        _sizes_table(rows, order),
    ]


def report(comparison: comparing.Comparison) -> str:
    """Return the demo as a page that opens offline."""
    rows = demonstrating.table(comparison)
    marks = {
        (r, c + 1): cell.verdict
        for r, (_, cells) in enumerate(rows)
        for c, cell in enumerate(cells)
        if cell.verdict
    }
    blocks: list[pages.Block] = [
        pages.Verdict(demonstrating.verdict(comparison)),
        pages.PageTable(
            ("", *(variant.name for variant in demonstrating.VARIANTS)),
            [[title, *(cell.interval for cell in cells)] for title, cells in rows],
            caption=f"Mean over {len(comparison.seeds)} seeds and 95 % interval. Green: clearly "
            "better than stock, in every seed; red: clearly worse.",
            marks=marks,
        ),
        pages.Heading("What each step does"),
        pages.Bullets(
            [
                f"{demonstrating.STOCK}: {demonstrating.VARIANTS[0].how}.",
                *demonstrating.steps(comparison),
            ]
        ),
        pages.Heading("The day"),
        pages.Paragraph(
            "One day of a fictitious web shop. Web, api and checkout have autoscalers; api and "
            "checkout take more than a minute to start. Beside them run a search, databases, "
            "caches, queue workers, back ends, builds, and reports at night. From 10:00 all nodes "
            "are drained for maintenance, one after another; at 19:00 a flash crowd brings almost "
            "eight times the requests within six minutes. Nodes are added when pods are pending "
            "and removed when they are nearly idle. "
            f"{demonstrating.describe_used(comparison)}"
        ),
        pages.make_figure(
            chart(comparison),
            f"The run with seed {comparison.seeds[0]} of every variant. Where lines coincide, the "
            "dashes of the upper one show the lower one.",
        ),
        *_sizes(comparison),
        *_ahead(comparison),
        pages.Heading("Cost against quality"),
        pages.make_figure(
            comparison_charts.pareto_chart(comparison),
            "Means over seeds with 95 % intervals.",
        ),
    ]
    return pages.render("A day of a web shop in four variants", blocks)


def _collect(when: str, outcome: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return mean requests and usage per pod of every workload, one row per resource.

    Args:
        when: Name of this run in figures.
        outcome: Measures of a run.
    """
    rows = []
    for key, workload in outcome["workloads"].items():
        for resource, title, unit in _PANELS:
            used = workload["per_pod"][f"used_{resource}"]
            requested = workload["per_pod"][f"requested_{resource}"]
            if used and requested:
                rows.append(
                    {
                        "when": when,
                        "workload": key,
                        "resource": title,
                        "used": used / unit,
                        "requested": requested / unit,
                    }
                )
    return rows


def _sizes_chart(rows: Sequence[Row], order: Sequence[str]) -> alt.TopLevelMixin:
    """Return requests over usage on logarithmic axes, with the line where they are equal."""
    panels = []
    for _, title, _ in _PANELS:
        mine = [dict(row) for row in rows if row["resource"] == title]
        ends = [row[name] for row in mine for name in ("used", "requested")] or [1.0]
        low, high = min(ends) * 0.8, max(ends) * 1.25
        scale = alt.Scale(type="log", domain=[low, high], nice=False)
        points = (
            alt.Chart(alt.InlineData(mine))
            .mark_point(filled=True, size=45, opacity=0.75)
            .encode(
                x=alt.X("used:Q", title=f"used: {title}", scale=scale),
                y=alt.Y("requested:Q", title="requested", scale=scale),
                color=alt.Color(
                    "when:N",
                    title=None,
                    scale=alt.Scale(domain=list(order), range=list(figures.PALETTE[1:3])),
                ),
                tooltip=["workload:N", "used:Q", "requested:Q"],
            )
        )
        same = alt.InlineData([{"used": low, "requested": low}, {"used": high, "requested": high}])
        line = (
            alt.Chart(same)
            .mark_line(color=figures.INK, strokeDash=[4, 4], strokeWidth=1)
            .encode(x=alt.X("used:Q", scale=scale), y=alt.Y("requested:Q", scale=scale))
        )
        panels.append(alt.layer(line, points).properties(width=320, height=300))
    chart: alt.TopLevelMixin = alt.hconcat(*panels)
    return chart


def _sizes_table(rows: Sequence[Row], order: Sequence[str]) -> pages.PageTable:
    """Return requested and used amounts, summed over the mean pods of all workloads."""
    shown = []
    for _, title, _ in _PANELS:
        for when in order:
            mine = [row for row in rows if row["resource"] == title and row["when"] == when]
            used = sum(row["used"] for row in mine)
            requested = sum(row["requested"] for row in mine)
            share = f"{100.0 * used / requested:.0f} %" if requested else "-"
            shown.append([title, when, f"{requested:.1f}", f"{used:.1f}", share])
    head = ["", "requests", "requested", "used", "used of requested"]
    return pages.PageTable(head, shown, caption="Sum over one mean pod of every workload.")
