"""The demonstration: stock Kubernetes against kubestow, one day of a bundled shop, several seeds.

Guessed requests, services with a rush hour, builds around the clock, and in the morning all nodes
are drained for maintenance; nodes are rented as they are needed. Everything that is shown comes
out of the runs; what is better and what is worse stands side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import altair as alt

from kubestow.policies.sizing import conformals
from kubestow.reports import pages
from kubestow.studies import (
    comparison_charts,
    comparisons,
    demonstration_sizes,
    engines,
    measures,
    outlook_charts,
    scenario_files,
    sweep_cells,
    sweeps,
)

STOCK = "stock Kubernetes"
SEEDS = 3

Watcher = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to run the cluster.

    Attributes:
        name: What the table calls it.
        how: What one has to do for it.
        changes: What differs from the bundled scenario, as for ``simulate --set``.
    """

    name: str
    how: str
    changes: tuple[str, ...] = ()


_FILL = "policies.placing.profile=most-allocated"
# Hourly, with limits in proportion as before: what is missed by a little is not killed.
_SIZE = (
    "policies.sizing={recommender: auto, mode: in-place-or-recreate, interval: 1h, "
    "guards: {memoryLimit: ratio, cpuLimit: keep}, "
    "parameters: {tournament: {windowS: 3600}, conformal: {windowS: 1h}}}"
)
SIZED = "filled and sized"
_AHEAD = "workloads[1].scaling={scaler: auto, target: {cpu: 0.6}, min: 4, max: 60}"
AHEAD = "and scaled ahead"
WAYS = (
    Way(STOCK, "default scheduler, requests as guessed"),
    Way("nodes filled", "scheduler configuration from `kubestow place`", (_FILL,)),
    Way(SIZED, "also requests that follow use (`auto`, in place, hourly)", (_FILL, _SIZE)),
    Way(
        AHEAD,
        "also the web service scaled one pod start ahead (`auto`)",
        (_FILL, _SIZE, _AHEAD),
    ),
)

ROWS = (
    measures.Measure("cost", "rent of nodes for the day", digits=1),
    measures.Measure("node_hours", "node hours", digits=0),
    measures.Measure("eru.cpu", "processor used, of what is reserved", "%", 100.0, better="higher"),
    measures.Measure("eru.memory", "memory used, of what is reserved", "%", 100.0, better="higher"),
    measures.Measure("response.p95", "95 % of requests answered within", "ms", 1000.0),
    measures.Measure("slo_violation_ratio", "requests late or lost", "%", 100.0, digits=4),
    measures.Measure("database_pending", "databases waiting for a node", "min", 1 / 60),
    measures.Measure("pending_pod_seconds", "all pods waiting for a node", "h", 1 / 3600),
    measures.Measure("oom_kills", "containers killed for memory", digits=1),
    measures.Measure(
        "sizing.memory_missed", "hours in which memory went beyond what was advised", "%", 100.0
    ),
)
"""What the table shows, in words for people who pay for clusters."""


def plan(seeds: int = SEEDS, changes: tuple[str, ...] = ()) -> sweeps.Sweep:
    """Lay out the runs.

    Args:
        seeds: Seeds every way runs with.
        changes: What differs from the bundled scenario in all ways, for tests.
    """
    source = str(resources.files("kubestow.studies") / "data" / "demo_scenario.yaml")
    variants = []
    for way in WAYS:
        loaded = scenario_files.load(source, (*changes, *way.changes))
        paths: dict[str, Any] = dict(scenario_files.split_change(c) for c in way.changes)
        variants.append(sweeps.Variant(way.name, paths, loaded))
    first = variants[0].loaded.scenario
    return sweeps.Sweep(
        name=first.metadata.name,
        folder=Path(source).parent,
        axes=(),
        variants=tuple(variants),
        seeds=tuple(range(first.spec.seed, first.spec.seed + seeds)),
        baseline=STOCK,
    )


def run(
    sweep: sweeps.Sweep, folder: Path | None, jobs: int, watch: Watcher
) -> comparisons.Comparison:
    """Run the demonstration; finished runs are kept in the folder."""
    tasks = sweep_cells.make_tasks(sweep)
    engine = engines.get(engines.LOCAL)
    records = sweep_cells.run_cells(tasks, folder, engine, jobs, watch)
    return comparisons.make(sweep, [_with_databases(record) for record in records])


def _with_databases(record: sweep_cells.Record) -> sweep_cells.Record:
    """Add how long the databases waited, which measures of the whole cluster do not tell."""
    waited = record.measures["workloads"]["default/database"]["pending_pod_seconds"]
    found = {**record.measures, "database_pending": waited}
    return sweep_cells.Record(record.key, found, record.series)


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of the table: the text, and whether it is better or worse than stock for sure."""

    text: str
    verdict: str = ""


def table(found: comparisons.Comparison) -> list[tuple[str, list[Cell]]]:
    """Return the rows of the table: title and one cell per way."""
    rows = []
    for measure in ROWS:
        cells = [_cell(one, measure, found) for one in found.results]
        title = f"{measure.title} ({measure.unit})" if measure.unit else measure.title
        rows.append((title, cells))
    return rows


def _cell(
    one: comparisons.Result, measure: measures.Measure, found: comparisons.Comparison
) -> Cell:
    summary = one.summary.get(measure.path)
    if summary is None:
        return Cell("-")
    text = measure.interval(summary.mean, summary.half_width)
    if one.label == found.baseline:
        return Cell(text)
    stock = next(r for r in found.results if r.label == found.baseline)
    if measure.path not in stock.summary:
        return Cell(text)
    paired = [
        (
            measures.value_of(mine.measures, measure.path) or 0.0,
            measures.value_of(theirs.measures, measure.path) or 0.0,
        )
        for mine, theirs in zip(one.records, stock.records, strict=True)
    ]
    signs = {(mine > theirs) - (mine < theirs) for mine, theirs in paired}
    if signs in ({1}, {-1}):  # the same way in every seed
        higher = signs == {1}
        good = higher == (measure.better == measures.HIGHER)
        return Cell(text, "good" if good else "bad")
    return Cell(text)


def chart(found: comparisons.Comparison) -> alt.TopLevelMixin:
    """Return the time line of one seed: what nodes cost and what services felt."""
    panels = ("demand", "nodes", "response", "pending")
    return comparison_charts.timeline_chart(found, comparison_charts.drawn(found), panels)


def _ahead(found: comparisons.Comparison) -> list[pages.Block]:
    """Return the figure of the service that is scaled ahead, where there is one."""
    record = next((one.records[0] for one in found.results if one.label == AHEAD), None)
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


def _sizes(found: comparisons.Comparison) -> list[pages.Block]:
    """Return requests against use, before and after they are sized."""
    records = {one.label: one.records[0] for one in found.results if one.label in (STOCK, SIZED)}
    if len(records) < 2:
        return []
    order = ("as guessed", "sized")
    rows = [
        row
        for when, label in zip(order, (STOCK, SIZED), strict=True)
        for row in demonstration_sizes.collect(when, records[label].measures)
    ]
    risk = conformals.ConformalParameters().memory_miss_probability
    missed = measures.value_of(records[SIZED].measures, "sizing.memory_missed")
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
            demonstration_sizes.chart(rows, order),
            "Means over the day, one point per workload, first seed; on the dashed line a pod "
            "requests what it uses. Sized workloads begin the day with the guessed requests.",
        ),
        demonstration_sizes.table(rows, order),
    ]


def report(found: comparisons.Comparison) -> str:
    """Return the demonstration as a page that opens offline."""
    rows = table(found)
    marks = {
        (r, c + 1): cell.verdict
        for r, (_, cells) in enumerate(rows)
        for c, cell in enumerate(cells)
        if cell.verdict
    }
    ways = "; ".join(f"{way.name}: {way.how}" for way in WAYS)
    blocks: list[pages.Block] = [
        pages.Paragraph(
            "One day of a made-up shop: web services with a rush hour at six, 24 back ends whose "
            "requests were guessed, three databases of half a node each, builds around the clock. "
            "From ten o'clock all nodes are drained for maintenance, one after another; nodes are "
            "rented when pods wait and given back when they are hardly used."
        ),
        pages.Paragraph(f"Ways to run it. {ways}."),
        pages.Table(
            ("", *(way.name for way in WAYS)),
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
