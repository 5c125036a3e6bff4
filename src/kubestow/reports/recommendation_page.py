"""The report of ``kubestow recommend``: requests and usage, waste, reasons.

The figures of Schubert 2023, E1: requests over usage with the line y = x, and totals per namespace;
for the most urgent containers also usage, request and recommendation over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import altair as alt
import numpy as np

from kubestow.policies.sizing.recommendations import (
    Recommendation,
)
from kubestow.reports import figures, pages
from kubestow.workflows import recommending
from kubestow.workflows.recommending import CPU, MEMORY

_GIB: Final = float(2**30)
_SHOWN: Final = 12
_POINTS: Final = 300
_PARTS: Final = ["requested", "used", "recommended"]
_UNITS: Final = {CPU: ("cores", 1000.0), MEMORY: ("GiB", _GIB)}

Row = dict[str, Any]


def make_page(result: recommending.RecommendResult, totals: recommending.Totals) -> str:
    """Return the whole report as HTML."""
    blocks: list[pages.Block] = [
        pages.Verdict(recommending.conclude_recommendations(result.recommendations)),
        pages.Paragraph(_introduction(result, totals)),
        pages.Heading("Requests and usage, before and after"),
        pages.make_figure(
            scatter_chart(result.recommendations),
            "One point per container. On the line, the request equals usage (95th percentile of "
            "CPU, peak of memory). Points above it are waste, points below it are a risk.",
        ),
        pages.Heading("Waste by namespace"),
        pages.make_figure(
            namespace_chart(result.recommendations),
            "Sum over all pods: current requests, mean usage, recommended requests.",
        ),
        pages.Heading("The most urgent containers"),
        pages.make_figure(
            usage_chart(result),
            "Memory usage, with the current and the recommended request.",
        ),
        pages.Heading("All recommendations"),
        recommendations_table(result.recommendations),
    ]
    if result.notes:
        blocks += [pages.Heading("Notes"), *(pages.Paragraph(note) for note in result.notes)]
    return pages.render("Recommended requests", blocks)


def _introduction(result: recommending.RecommendResult, totals: recommending.Totals) -> str:
    text = (
        f"{totals.containers} containers, {totals.suitable} of them suitable; "
        f"strategy `{result.strategy}`."
    )
    if totals.nodes_now is not None:
        text += f" Packed, they need {totals.nodes_now} nodes now and {totals.nodes_then} after."
    return text


def scatter_chart(recommendations: Sequence[Recommendation]) -> alt.TopLevelMixin:
    """Return requests over usage on logarithmic axes, with the line y = x."""
    charts = []
    for name, (unit, size) in _UNITS.items():
        rows = [row for one in recommendations for row in _scatter_rows(one, name, size)]
        ends = [value for row in rows for value in (row["used"], row["requested"])] or [1.0]
        line = [{"x": edge, "y": edge} for edge in (min(ends), max(ends))]
        scale = alt.Scale(type="log")
        points = (
            alt.Chart(alt.InlineData(rows))
            .mark_point(filled=True, opacity=0.6, size=30)
            .encode(
                x=alt.X("used:Q", title=f"used ({unit})", scale=scale),
                y=alt.Y("requested:Q", title=f"requested ({unit})", scale=scale),
                color=alt.Color(
                    "when:N", title=None, scale=alt.Scale(range=list(figures.PALETTE[:2]))
                ),
                tooltip=["container:N", "when:N", "used:Q", "requested:Q"],
            )
        )
        diagonal = (
            alt.Chart(alt.InlineData(line))
            .mark_line(color="#888", strokeDash=[4, 3])
            .encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))
        )
        charts.append(alt.layer(diagonal, points).properties(width=330, height=300, title=name))
    joined: alt.TopLevelMixin = alt.hconcat(*charts)
    return joined


def _scatter_rows(one: Recommendation, name: str, size: float) -> list[Row]:
    used = one.usage.cpu_p95_cores if name == CPU else one.usage.peak_bytes / size
    pairs = (("now", one.current_amount(name)), ("recommended", one.requests.get(name)))
    return [
        {"container": str(one.key), "when": when, "used": used, "requested": amount / size}
        for when, amount in pairs
        if amount and used > 0.0
    ]


def namespace_chart(recommendations: Sequence[Recommendation]) -> alt.TopLevelMixin:
    """Return bars of requests, usage and recommendations by namespace."""
    sums: dict[tuple[str, str, str], float] = {}
    for one in recommendations:
        for name, (_, size) in _UNITS.items():
            used = one.usage.cpu_mean_cores if name == CPU else one.usage.memory_mean_bytes / size
            parts = {
                "requested": (one.current_amount(name) or 0) / size,
                "used": used,
                "recommended": one.requests.get(name, 0) / size,
            }
            for part, amount in parts.items():
                key = (one.key.namespace, name, part)
                sums[key] = sums.get(key, 0.0) + amount * one.replicas
    charts = []
    for name, (unit, _) in _UNITS.items():
        rows = [
            {"namespace": space, "part": part, "amount": amount}
            for (space, resource, part), amount in sums.items()
            if resource == name
        ]
        charts.append(
            alt.Chart(alt.InlineData(rows))
            .mark_bar()
            .encode(
                y=alt.Y("namespace:N", title=None),
                x=alt.X("amount:Q", title=unit),
                yOffset=alt.YOffset("part:N", sort=_PARTS),
                color=alt.Color(
                    "part:N",
                    title=None,
                    sort=_PARTS,
                    scale=alt.Scale(range=list(figures.PALETTE[:3])),
                ),
                tooltip=["namespace:N", "part:N", "amount:Q"],
            )
            .properties(width=330, title=name)
        )
    joined: alt.TopLevelMixin = alt.hconcat(*charts)
    return joined


def usage_chart(result: recommending.RecommendResult) -> alt.TopLevelMixin:
    """Return memory over time of the most urgent containers."""
    table, rows, rules = result.table, [], []
    starts = np.searchsorted(table.owners, np.arange(len(table.containers) + 1))
    stride = max(table.cpu_cores.shape[1] // _POINTS, 1)
    for number in recommending.most_urgent(result.recommendations, _SHOWN):
        one, place = result.recommendations[number], result.places[number]
        block = table.memory_bytes[starts[place] : starts[place + 1]]
        if not block.size:
            continue
        cut = block[:, block.shape[1] % stride :]
        peaks = np.fmax.reduce(cut.reshape(len(cut), -1, stride), axis=(0, 2))
        hours = -np.arange(len(peaks) - 1, -1, -1) * stride * table.step_s / 3600.0
        name = f"{one.key.namespace}/{one.key.workload}/{one.key.container}"
        rows += [
            {"container": name, "hours": float(hour), "GiB": float(peak) / _GIB}
            for hour, peak in zip(hours, peaks, strict=True)
            if np.isfinite(peak)
        ]
        for kind, amount in (
            ("requested", one.current_amount(MEMORY)),
            ("recommended", one.requests.get(MEMORY)),
        ):
            if amount:
                rules.append({"container": name, "kind": kind, "GiB": amount / _GIB})
    return _facet(rows, rules)


def _facet(rows: Sequence[Row], rules: Sequence[Row]) -> alt.TopLevelMixin:
    """Return one small panel per container; rows and rules share one table, which facets need."""
    merged = [{**row, "what": "used"} for row in rows]
    merged += [{**rule, "what": rule["kind"]} for rule in rules]
    base = alt.Chart(alt.InlineData(merged))
    # The same colours as in the figure above.
    colour = alt.Color(
        "what:N", title=None, scale=alt.Scale(domain=_PARTS, range=list(figures.PALETTE[:3]))
    )
    used = (
        base.transform_filter("datum.what == 'used'")
        .mark_line(strokeWidth=1)
        .encode(
            x=alt.X("hours:Q", title="hours before now"),
            y=alt.Y("GiB:Q", title="GiB"),
            color=colour,
        )
    )
    rule = (
        base.transform_filter("datum.what != 'used'")
        .mark_rule(strokeWidth=2)
        .encode(
            y="GiB:Q",
            color=colour,
        )
    )
    both = alt.layer(used, rule).properties(width=220, height=110)
    faceted = both.facet(alt.Facet("container:N", title=None), columns=3)
    chart: alt.TopLevelMixin = faceted.resolve_scale(y="independent")
    return chart


def recommendations_table(recommendations: Sequence[Recommendation]) -> pages.PageTable:
    """Return all recommendations as a table, most urgent first."""
    head = [
        "container", "CPU now", "CPU", "memory now", "memory", "pods", "severity", "missed",
        "slack", "why",
    ]  # fmt: skip
    shown = []
    for place in recommending.most_urgent(recommendations, len(recommendations)):
        one = recommendations[place]
        now, then = recommending.say_requests(one)
        shown.append(
            [
                str(one.key), now[CPU], then[CPU], now[MEMORY], then[MEMORY], str(one.replicas),
                recommending.severity(one).value, recommending.say_misses(one.backtest),
                recommending.say_share(one.backtest.slack), one.why,
            ]
        )  # fmt: skip
    caption = "Most urgent first."
    return pages.PageTable(head, shown, caption=caption, folded=len(shown) > 50)
