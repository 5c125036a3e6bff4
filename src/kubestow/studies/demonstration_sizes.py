"""Requests against use in the demonstration: before and after they are sized."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import altair as alt

from kubestow.reports import figures, pages

Row = Mapping[str, Any]
_PANELS: Final = (
    ("cpu", "CPU of a pod (cores)", 1.0),
    ("memory", "memory of a pod (GiB)", 2.0**30),
)


def collect(when: str, outcome: Mapping[str, Any]) -> list[dict[str, Any]]:
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


def chart(rows: Sequence[Row], order: Sequence[str]) -> alt.TopLevelMixin:
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


def table(rows: Sequence[Row], order: Sequence[str]) -> pages.Table:
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
    return pages.Table(head, shown, caption="One mean pod of every workload, added up.")
