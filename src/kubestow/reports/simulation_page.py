"""The report of one simulated run: timelines, nodes, events, measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from kubestow.model import decoding
from kubestow.reports import figures, node_charts, pages, time_charts
from kubestow.simulation import outcomes, timelines
from kubestow.workflows import comparing

SERVICES = 6
"""Maximum number of services in the figure."""

EVENTS = 60
"""Maximum number of events in the table."""

TICKS = 1500
"""Maximum number of events in the figure."""

NOTED = {
    "oom-killed": "containers OOM-killed",
    "evicted": "pods evicted under memory pressure",
    "taint-evicted": "pods evicted from failed nodes",
    "resized-by-eviction": "pods evicted to change their requests",
    "preempted": "pods preempted by higher priority",
    "drained": "pods drained for maintenance",
    "unschedulable": "pods without a feasible node",
    "failed": "nodes failed",
    "recovered": "nodes recovered",
    "cordoned": "nodes cordoned",
    "uncordoned": "nodes uncordoned",
    "ordered": "nodes ordered",
    "joined": "nodes joined",
    "retired": "nodes removed",
}
"""Notable events and their titles; ordinary starts and stops of pods are not among them."""

_GIB = 1 / 2**30
_GREY, _RED, _TEAL = figures.PALETTE[:3]
_TOTALS = (
    time_charts.Panel(
        "requests per second",
        {"demand": figures.INK, "served": _TEAL, "late or lost": _RED},
    ),
    time_charts.Panel("response (ms)", {"response, mean": _TEAL}),
    time_charts.Panel("cores", {"CPU requested": _GREY, "CPU used": _TEAL}),
    time_charts.Panel("GiB", {"memory requested": _GREY, "memory used": _TEAL}),
    time_charts.Panel("pods", {"desired": _GREY, "ready": _TEAL, "pending": _RED}),
)
_SERVED = ("demand", "response, mean")


def make_page(outcome: outcomes.RunOutcome) -> str:
    """Return the whole report as HTML."""
    measures = outcome.measures
    time = time_charts.axis(measures["simulated_seconds"])
    table = timelines.workloads(outcome)
    events = timelines.events(outcome)
    blocks: list[pages.Block] = [
        pages.Verdict(_verdict(measures)),
        pages.Paragraph(
            f"{decoding.format_duration(measures['simulated_seconds'])} of {measures['scenario']} "
            f"with seed {measures['seed']}: {len(measures['workloads'])} workloads, at most "
            f"{measures['nodes_peak']} nodes at a time, {measures['pods_created']} pods."
        ),
        _measures(measures),
        pages.Heading("Timelines"),
        pages.make_figure(
            totals_chart(table, time),
            "All workloads together. Rates, response times and CPU usage are means; pods, requests "
            "and memory are current values; pending pods are the maximum of each interval.",
        ),
        *_services(table, measures["workloads"], time),
        *_nodes(timelines.nodes(outcome), time),
        *_events(events, time),
    ]
    return pages.render(f"Simulation of {measures['scenario']}", blocks)


def _verdict(measures: Mapping[str, Any]) -> str:
    """Return the run in one sentence: cost, nodes, response, OOM kills, waiting."""
    (cost,) = comparing.in_currency((comparing.COST,), measures.get("currency", ""))
    nodes = measures["node_hours"] / max(measures["simulated_seconds"] / 3600.0, 1e-9)
    wait_s = measures["pending_pod_seconds"] / max(measures["pods_created"], 1)
    parts = [f"{nodes:.1f} nodes on average cost {cost.text(measures['cost'])}"]
    p95 = measures["response"]["p95"]
    if p95 is not None:
        late = comparing.LATE.text(measures["slo_violation_ratio"])
        response = comparing.RESPONSE_P95.text(p95)
        parts.append(f"95 % of responses take at most {response}, {late} of requests late or lost")
    parts.append(f"{measures['oom_kills'] or 'no'} OOM kills")
    parts.append(f"pods wait {wait_s:.0f} s for a node on average")
    return f"{'; '.join(parts)}."


def totals_chart(table: pl.DataFrame, time: time_charts.ChartAxis) -> alt.TopLevelMixin:
    """Return the totals of all workloads; panels without values are left out."""
    sums = (
        table.with_columns(waited=pl.col("response_s") * pl.col("served"))
        .group_by("time_s", maintain_order=True)
        .agg(pl.all().exclude("workload").sum())
    )
    thinned = time_charts.thin(sums, (), highest=("pending",))
    shown = thinned.select(
        "time_s",
        "demand",
        "served",
        (pl.col("late") + pl.col("dropped")).alias("late or lost"),
        pl.when(pl.col("served") > 0)
        .then(1000 * pl.col("waited") / pl.col("served"))
        .alias("response, mean"),
        pl.col("requested_cpu").alias("CPU requested"),
        pl.col("used_cpu").alias("CPU used"),
        (pl.col("requested_memory") * _GIB).alias("memory requested"),
        (pl.col("used_memory") * _GIB).alias("memory used"),
        pl.col("replicas").alias("desired"),
        "ready",
        "pending",
    )
    served = table["demand"].null_count() < len(table)
    panels = [panel for panel in _TOTALS if served or not set(_SERVED) & set(panel.lines)]
    return time_charts.stack(time_charts.records(shown, time), panels, time)


def busiest(table: pl.DataFrame) -> list[str]:
    """Return the services by number of requests, busiest first."""
    asked = table.filter(pl.col("demand").is_not_null()).group_by("workload")
    ranked = asked.agg(pl.col("demand").sum()).sort(
        ["demand", "workload"], descending=[True, False]
    )
    return ranked["workload"].to_list()


def services_chart(
    table: pl.DataFrame, names: Sequence[str], time: time_charts.ChartAxis
) -> alt.TopLevelMixin:
    """Return demand, response time and replicas of some services."""
    chosen = table.filter(pl.col("workload").is_in(list(names))).select(
        "time_s",
        pl.col("workload").alias("service"),
        "demand",
        (1000 * pl.col("response_s")).alias("response"),
        "ready",
        pl.when(pl.col("requested_cpu") > 0)
        .then(100 * pl.col("used_cpu") / pl.col("requested_cpu"))
        .alias("use"),
    )
    rows = time_charts.records(time_charts.thin(chosen, ("service",)), time)
    lines = dict(zip(names, figures.PALETTE, strict=False))
    panels = [
        time_charts.Panel("requests per second", lines, "demand"),
        time_charts.Panel("response (ms)", lines, "response"),
        time_charts.Panel("ready pods", lines, "ready"),
        time_charts.Panel("CPU used (%)", lines, "use"),
    ]
    return time_charts.overlay(rows, panels, "service", time)


def _services(
    table: pl.DataFrame, workloads: Mapping[str, Any], time: time_charts.ChartAxis
) -> list[pages.Block]:
    names = busiest(table)
    if not names:
        return []
    left = len(names) - SERVICES
    note = f" {left} services with fewer requests are left out." if left > 0 else ""
    figure = pages.make_figure(
        services_chart(table, names[:SERVICES], time),
        f"Services with the most requests, the busiest first; CPU used is in % of requests.{note}",
    )
    rows = [
        [
            name,
            f"{one['replicas_mean']:.1f}",
            str(one["replicas_peak"]),
            comparing.ERU_CPU.text(one["eru"]["cpu"]),
            comparing.RESPONSE.text(one["response"]["mean"]),
            comparing.RESPONSE_P95.text(one["response"]["p95"]),
            comparing.LATE.text(one["slo_violation_ratio"]),
        ]
        for name, one in ((name, workloads[name]) for name in names)
    ]
    columns = ("service", "replicas", "peak", "CPU used", "mean", "p95", "late or lost")
    listed = pages.PageTable(
        columns, rows, "All services, the busiest first.", folded=len(rows) > 12
    )
    return [pages.Heading("Services"), figure, listed]


def _nodes(nodes: pl.DataFrame, time: time_charts.ChartAxis) -> list[pages.Block]:
    if not len(nodes):
        return []
    count = nodes["node"].n_unique()
    rows = "one row per node"
    if count > node_charts.ROWS:
        rows = (
            f"{count} nodes in bands of {-(-count // node_charts.ROWS)}, ranked by mean CPU usage"
        )
    caption = f"Usage of each node over time, {rows}. Blank: no node at that time."
    return [pages.Heading("Nodes"), pages.make_figure(node_charts.chart(nodes, time), caption)]


def _events(events: pl.DataFrame, time: time_charts.ChartAxis) -> list[pages.Block]:
    noted = events.filter(pl.col("event").is_in(list(NOTED)) & (pl.col("time_s") > 0.0))
    heading = pages.Heading("Notable events")
    if not len(noted):
        return [heading, pages.Paragraph("None: no OOM kill, eviction, failure or drain.")]
    drawn = noted.sample(TICKS, seed=0).sort("time_s") if len(noted) > TICKS else noted
    caption = f"{len(noted)} events."
    if len(drawn) < len(noted):
        caption = f"{len(noted)} events; the figure shows {TICKS} of them, chosen at random."
    counts = noted.group_by("event").agg(
        pl.len(), pl.col("time_s").min().alias("first"), pl.col("time_s").max().alias("last")
    )
    rows = [
        [NOTED[one["event"]], str(one["len"]), _clock(one["first"]), _clock(one["last"])]
        for one in sorted(
            counts.iter_rows(named=True), key=lambda row: list(NOTED).index(row["event"])
        )
    ]
    head = noted.head(EVENTS)
    listed = [
        [_clock(one["time_s"]), one["event"], one["subject"] or "", one["detail"] or ""]
        for one in head.iter_rows(named=True)
    ]
    return [
        heading,
        pages.make_figure(events_chart(drawn, time), caption),
        pages.PageTable(("event", "count", "first", "last"), rows),
        pages.PageTable(
            ("time", "event", "pod", "node or detail"),
            listed,
            f"The first {len(head)} of {len(noted)} events",
            folded=True,
        ),
    ]


def events_chart(noted: pl.DataFrame, time: time_charts.ChartAxis) -> alt.TopLevelMixin:
    """Return one tick per event, one line per kind."""
    rows = [
        {
            "t": round(one["time_s"] / time.unit_s, 3),
            "event": NOTED[one["event"]],
            "who": one["subject"] or one["detail"],
        }
        for one in noted.iter_rows(named=True)
    ]
    made: Any = alt.Chart(alt.InlineData(values=rows)).mark_tick(thickness=1.5, color=_RED)
    return time_charts.style(
        made.encode(
            x=time.encode(labels=True),
            y=alt.Y(
                "event:N", sort=list(NOTED.values()), title=None, axis=alt.Axis(labelLimit=260)
            ),
            tooltip=["who:N", alt.Tooltip("t:Q", title=time.unit), "event:N"],
        ).properties(width=time_charts.WIDTH - 150, height=alt.Step(20))
    )


def _clock(time_s: float) -> str:
    minutes, seconds = divmod(round(time_s), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _measures(measures: Mapping[str, Any]) -> pages.PageTable:
    rows = [
        [measure.title, measure.text(comparing.value_of(measures, measure.path))]
        for measure in comparing.in_currency(comparing.MEASURES, measures.get("currency", ""))
    ]
    return pages.PageTable(("measure", "value"), rows, "Measures of the run.")
