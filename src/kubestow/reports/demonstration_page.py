"""The page of ``kubestow demo``: the table, time lines, requests against usage, scaling ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from kubestow.policies.sizing import conformal
from kubestow.reports import comparison_charts, figures, outlook_charts, pages
from kubestow.workflows import comparing, demonstrating

Row = Mapping[str, Any]
_PANELS: Final = (
    ("cpu", "CPU of a pod (cores)", 1.0),
    ("memory", "memory of a pod (GiB)", 2.0**30),
)


def chart(found: comparing.Comparison) -> alt.TopLevelMixin:
    """Return the time line of one seed: what nodes cost and what services felt."""
    panels = ("demand", "nodes", "response", "pending")
    return comparison_charts.timeline_chart(found, comparison_charts.drawn(found), panels)


def _ahead(found: comparing.Comparison) -> list[pages.Block]:
    """Return the figure of the service that is scaled ahead, where there is one."""
    record = next(
        (one.records[0] for one in found.results if one.label == demonstrating.AHEAD), None
    )
    if record is None or "ahead_load" not in record.series:
        return []
    return [
        pages.Heading("Scaled one pod start ahead"),
        pages.make_figure(
            outlook_charts.outlook_chart(record.series),
            "The web service under `auto`, in pods: work there is, what was expected for that "
            "moment (line: mean, band: up to the upper end, exceeded at one moment in ten), "
            "replicas; below, whether a forecast or the last value drove the decision.",
        ),
    ]


def _sizes(found: comparing.Comparison) -> list[pages.Block]:
    """Return requests against use, before and after they are sized."""
    records = {
        one.label: one.records[0]
        for one in found.results
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
    risk = conformal.ConformalParameters().memory_miss_probability
    missed = comparing.value_of(records[demonstrating.SIZED].measures, "sizing.memory_missed")
    told = "nothing could be judged" if missed is None else f"{100 * missed:.1f} % did"
    return [
        pages.Heading("Requests against use"),
        pages.Paragraph(
            "`conformal`, the first of the recommenders `auto` chooses from, states a risk of "
            f"{100 * risk:g} % that memory goes beyond its answer within the next hour; `auto` "
            f"goes by the least cost in the past instead. Of its answers in this run {told}. "
            "Limits keep their distance to requests, so that a miss is not a kill."
        ),
        pages.make_figure(
            _sizes_chart(rows, order),
            "Means over the day, one point per workload, first seed; on the dashed line a pod "
            "requests what it uses. Sized workloads begin the day with the guessed requests.",
        ),
        _sizes_table(rows, order),
    ]


def report(found: comparing.Comparison) -> str:
    """Return the demonstration as a page that opens offline."""
    rows = demonstrating.table(found)
    marks = {
        (r, c + 1): cell.verdict
        for r, (_, cells) in enumerate(rows)
        for c, cell in enumerate(cells)
        if cell.verdict
    }
    ways = "; ".join(f"{way.name}: {way.how}" for way in demonstrating.VARIANTS)
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "One day of a made-up shop: web services with a rush hour at six, 24 back ends whose "
            "requests were guessed, three databases of half a node each, builds around the clock. "
            "From ten o'clock all nodes are drained for maintenance, one after another; nodes are "
            "rented when pods wait and given back when they are hardly used."
        ),
        pages.Paragraph(f"Ways to run it. {ways}."),
        pages.PageTable(
            ("", *(way.name for way in demonstrating.VARIANTS)),
            [[title, *(cell.text for cell in cells)] for title, cells in rows],
            caption=f"Mean over {len(found.seeds)} seeds and 95 % interval. Green: better than "
            "stock in every seed; red: worse in every seed.",
            marks=marks,
        ),
        pages.make_figure(
            chart(found), f"The run with seed {found.seeds[0]} of every way, minute by minute."
        ),
        *_sizes(found),
        *_ahead(found),
        pages.Heading("Cost against quality"),
        pages.make_figure(
            comparison_charts.pareto_chart(found),
            "Means over seeds with 95 % intervals.",
        ),
    ]
    return pages.render("A day of a shop, run four ways", blocks)


def _collect(when: str, outcome: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what pods of every workload requested and used on average, one row per resource.

    Args:
        when: What figures call this run.
        outcome: Measures of a run.
    """
    found = []
    for key, workload in outcome["workloads"].items():
        for resource, title, unit in _PANELS:
            used = workload["per_pod"][f"used_{resource}"]
            requested = workload["per_pod"][f"requested_{resource}"]
            if used and requested:
                found.append(
                    {
                        "when": when,
                        "workload": key,
                        "resource": title,
                        "used": used / unit,
                        "requested": requested / unit,
                    }
                )
    return found


def _sizes_chart(rows: Sequence[Row], order: Sequence[str]) -> alt.TopLevelMixin:
    """Return requests over use on logarithmic axes, with the line where both are the same."""
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
    found: alt.TopLevelMixin = alt.hconcat(*panels)
    return found


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
    return pages.PageTable(head, shown, caption="One mean pod of every workload, added up.")
