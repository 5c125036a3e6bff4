"""The report of the limit study: verdicts, box plots (Figs 5.13, 5.14), nodes (Figs 6.2 to 6.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import altair as alt

from kubestow.reports import figures, pages
from kubestow.studies.schubert.limits.drain import FIXED, MAINTENANCE, RECOMMENDED, SPREADING
from kubestow.studies.schubert.limits.drain_figures import QUANTITIES
from kubestow.studies.schubert.limits.measurements import CPU, LIMITS, MEMORY, PLAIN, REQUESTS

Row = dict[str, Any]

TITLES: Final = {REQUESTS: "requests only", LIMITS: "limits = requests", PLAIN: "no groups"}
STATES: Final = {
    (SPREADING, "before"): "spreading, before",
    (SPREADING, "after"): "spreading, after drain",
    (RECOMMENDED, "after"): f"{RECOMMENDED}, after",
    (FIXED, "after"): f"{FIXED}, after",
}
_COLOURS: Final = (figures.PALETTE[0], "#aab2bf", figures.PALETTE[1], figures.PALETTE[2])
_LIMITS: Final = {"requested_memory": 40.8, "used_memory": 40.8, "requested_cpu": 6.8}


def make_page(report: dict[str, Any]) -> str:
    """Return the whole report as HTML."""
    measured, simulated = report["measured"], report["simulated"]
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "How full may a node get before its workloads slow down, and what happens to a cluster "
            "when its scheduler starts to pack? The first was measured on this machine, the second "
            "was simulated; the statements are from Schubert 2023, sections 5.4 and 6.1."
        ),
        _verdicts(report["rows"]),
        pages.Heading("Measured on this machine"),
        pages.Paragraph(_describe(measured)),
        *(_boxes(measured["levels"], kind) for kind in (CPU, MEMORY)),
        pages.Paragraph(f"Rule: {report['rules']['change']}; {report['rules']['quiet']}."),
        _levels(measured),
        pages.Heading("Simulated: before and after"),
        pages.Paragraph(
            "40 nodes of 48 GiB and 8 schedulable cores, DaemonSets of 3 cores on each, 13 pods of "
            "4 cores, and small pods drawn per seed. All nodes are drained one after another. "
            "Grey: the default profile before and after the same drain. Dashed lines: limits of "
            f"85 %. Means over {len(simulated['seeds'])} seeds."
        ),
        *_node_figures(simulated),
        pages.Heading("Simulated: big pods during maintenance"),
        pages.make_figure(
            waiting_chart(simulated["runs"]),
            "Total pending time of the 13 pods of 4 cores while a tenth of the nodes at a time is "
            "out of service for 15 minutes. One point per seed; the line is the mean.",
        ),
        _runs(simulated["runs"]),
    ]
    return pages.render("How full may a node get? Schubert 2023, repeated", blocks)


def _describe(measured: dict[str, Any]) -> str:
    machine = measured["machine"]
    return (
        f"{machine['cores']} cores, {machine['memory_gib']} GiB of memory, of which "
        f"{machine['available_gib']} GiB were available, {machine['swap_gib']} GiB of swap; "
        f"{measured['measurements_per_level']} measurements per level in {measured['rounds']} "
        f"round(s) of random order; {measured['groups']}. The CPU task tries all divisors of "
        f"{measured['number']}; the memory task allocates {measured['task_gib']:g} GiB, fills it "
        "and hashes it with XXH64 (the thesis: XXH3). The numbers include the effect of other work "
        "on the machine."
    )


def _verdicts(rows: Sequence[Row]) -> pages.PageTable:
    shown = [
        [row["statement"], row.get("found") or "-", str(row["n"]), row["verdict"], row["rule"]]
        for row in rows
    ]
    marks = {
        (index, 3): "good" if row["verdict"] == "reproduced" else "bad"
        for index, row in enumerate(rows)
    }
    columns = ("statement of the thesis", "measured here", "n", "verdict", "rule")
    return pages.PageTable(columns, shown, "Statements and verdicts.", marks)


def _boxes(levels: Sequence[Row], kind: str) -> pages.Block:
    chosen = [row for row in levels if row["kind"] == kind]
    if not chosen:
        return pages.Paragraph(f"No {kind} levels were measured.")
    what = "load on all cores" if kind == CPU else "memory held by the load"
    caption = (
        f"Processing time of the {kind} task over the {what}, percent: boxes are quartiles, "
        "whiskers extend to 1.5 times the interquartile range, points are outliers."
    )
    return pages.make_figure(box_chart(chosen, kind), caption)


def box_chart(levels: Sequence[Row], kind: str) -> alt.TopLevelMixin:
    """Return box plots of times over levels, one panel per variant."""
    data = [
        {"level": row["level_percent"], "variant": TITLES[row["variant"]], "ms": 1000.0 * value}
        for row in levels
        for value in row["values_s"]
    ]
    what = "background load (% of all cores)" if kind == CPU else "memory held (% of all)"
    titles = [title for title in TITLES.values() if any(one["variant"] == title for one in data)]
    base = (
        alt.Chart(alt.InlineData(data))
        .mark_boxplot(size=16, color=figures.PALETTE[2], median={"color": figures.INK})
        .encode(
            x=alt.X("level:O", title=what, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("ms:Q", title="processing time (ms)", scale=alt.Scale(zero=False)),
        )
        .properties(width=360, height=260)
    )
    chart: alt.TopLevelMixin = (
        base.facet(column=alt.Column("variant:N", title=None, sort=titles))
        .configure_view(stroke="#d9dee6")
        .configure_axis(gridColor="#eceff3", titleFontWeight="normal")
    )
    return chart


def _levels(measured: dict[str, Any]) -> pages.PageTable:
    rows = [
        [
            f"{row['kind']}, {TITLES[row['variant']]}",
            f"{row['level_percent']:g} %",
            f"{100 * row['load_reached']:.0f} %",
            f"{100 * row['busy']:.0f} %",
            f"{100 * row['others']:.0f} %",
            f"{row['held_gib']:.1f}",
            f"{1000 * row['median_s']:.1f}",
            f"{1000 * row['quartiles_s'][0]:.1f} - {1000 * row['quartiles_s'][1]:.1f}",
            str(row["n"]),
        ]
        for row in measured["levels"]
    ]
    columns = (
        "series",
        "level",
        "load reached",
        "total busy",
        "other work, at least",
        "GiB held",
        "median (ms)",
        "quartiles (ms)",
        "n",
    )
    return pages.PageTable(columns, rows, "All levels.", folded=True)


def _node_figures(simulated: dict[str, Any]) -> list[pages.Block]:
    blocks: list[pages.Block] = []
    settings = dict.fromkeys(row["setting"] for row in simulated["histograms"])
    for setting in (name for name in settings if name != MAINTENANCE.name):
        histograms = [row for row in simulated["histograms"] if row["setting"] == setting]
        nodes = [row for row in simulated["nodes"] if row["setting"] == setting]
        blocks += [
            pages.make_figure(
                histogram_chart(histograms),
                f"Nodes by requests and usage, setting {setting} (Figs 6.2 and 6.3).",
            ),
            pages.make_figure(
                scatter_chart(nodes),
                f"Usage over requests of nodes, setting {setting}, one seed (Fig. 6.4).",
            ),
        ]
    return blocks


def histogram_chart(histograms: Sequence[Row]) -> alt.TopLevelMixin:
    """Return nodes per bin: one row per state, one column per quantity."""
    rows = []
    for (profile, state), title in STATES.items():
        panels = [
            _panel(row, title, _COLOURS[list(STATES).index((profile, state))])
            for row in histograms
            if (row["profile"], row["state"]) == (profile, state)
        ]
        if panels:
            rows.append(alt.hconcat(*panels, spacing=12))
    chart: alt.TopLevelMixin = (
        alt.vconcat(*rows, spacing=8)
        .configure_view(stroke="#d9dee6")
        .configure_axis(gridColor="#eceff3", titleFontWeight="normal")
    )
    return chart


def _panel(row: Row, title: str, colour: str) -> alt.LayerChart | alt.FacetChart:
    quantity, width = row["quantity"], row["bin_width"]
    label, _, end = QUANTITIES[quantity]
    data = [
        {"from": index * width, "to": (index + 1) * width, "nodes": value, "zero": 0}
        for index, value in enumerate(row["nodes"])
    ]
    bars = (
        alt.Chart(alt.InlineData(data))
        .mark_bar(color=colour, stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("from:Q", title=label, scale=alt.Scale(domain=[0, end])),
            x2="to:Q",
            y=alt.Y("nodes:Q", title="nodes", scale=alt.Scale(domainMin=0)),
            y2="zero:Q",
        )
    )
    layers = [bars]
    if quantity in _LIMITS:
        layers.append(
            alt.Chart(alt.InlineData([{"limit": _LIMITS[quantity]}]))
            .mark_rule(strokeDash=[4, 3], color=figures.INK)
            .encode(x="limit:Q")
        )
    return alt.layer(*layers, width=190, height=95, title=alt.Title(title, fontSize=11))


def scatter_chart(nodes: Sequence[Row]) -> alt.TopLevelMixin:
    """Return usage over requests, one panel for memory and one for CPU."""
    panels = []
    for name, end in (("memory", 48.0), ("cpu", 8.0)):
        data = [
            {
                "requested": row[f"requested_{name}"],
                "used": row[f"used_{name}"],
                "state": STATES[row["profile"], row["state"]],
            }
            for row in nodes
        ]
        points = (
            alt.Chart(alt.InlineData(data))
            .mark_circle(size=38, opacity=0.75)
            .encode(
                x=alt.X(
                    "requested:Q",
                    title=QUANTITIES[f"requested_{name}"][0],
                    scale=alt.Scale(domain=[0, end]),
                ),
                y=alt.Y(
                    "used:Q",
                    title=QUANTITIES[f"used_{name}"][0],
                    scale=alt.Scale(domain=[0, end]),
                ),
                color=alt.Color(
                    "state:N",
                    title=None,
                    scale=alt.Scale(domain=list(STATES.values()), range=list(_COLOURS)),
                    legend=alt.Legend(orient="bottom", columns=4, labelLimit=220),
                ),
            )
        )
        corners = [{"at": 0.0}, {"at": end}]
        diagonal = (
            alt.Chart(alt.InlineData(corners))
            .mark_line(color="#aab2bf", strokeDash=[4, 3])
            .encode(x="at:Q", y="at:Q")
        )
        panels.append(alt.layer(diagonal, points).properties(width=360, height=280))
    chart: alt.TopLevelMixin = (
        alt.hconcat(*panels)
        .configure_view(stroke="#d9dee6")
        .configure_axis(gridColor="#eceff3", titleFontWeight="normal")
    )
    return chart


def waiting_chart(runs: Sequence[Row]) -> alt.TopLevelMixin:
    """Return the pending time of big pods by profile: a point per seed, a line for the mean."""
    data = [
        {"profile": run["profile"], "minutes": run["big_pods_pending_s"] / 60.0}
        for run in runs
        if run["setting"] == MAINTENANCE.name
    ]
    order = list(dict.fromkeys(one["profile"] for one in data))
    base = alt.Chart(alt.InlineData(data)).encode(
        y=alt.Y("profile:N", title=None, sort=order, axis=alt.Axis(labelLimit=220))
    )
    points = base.mark_circle(size=60, opacity=0.6, color=figures.PALETTE[2]).encode(
        x=alt.X("minutes:Q", title="big pods pending (pod minutes)")
    )
    means = base.mark_tick(thickness=3, size=24, color=figures.INK).encode(x="mean(minutes):Q")
    chart: alt.TopLevelMixin = (
        alt.layer(points, means)
        .properties(width=520, height=170)
        .configure_view(stroke="#d9dee6")
        .configure_axis(gridColor="#eceff3", titleFontWeight="normal")
    )
    return chart


def _runs(runs: Sequence[Row]) -> pages.PageTable:
    rows = [
        [
            run["profile"],
            run["setting"],
            str(run["seed"]),
            str(run["near_empty_before"]),
            str(run["near_empty_after"]),
            f"{run['big_pods_pending_s']:.1f}",
            f"{run['longest_wait_s']:.0f}",
            str(run["nodes_drained"]),
        ]
        for run in runs
    ]
    columns = (
        "profile",
        "setting",
        "seed",
        "near-empty before",
        "after",
        "big pods pending (s)",
        "longest (s)",
        "nodes drained",
    )
    return pages.PageTable(columns, rows, "All simulated runs.", folded=True)
