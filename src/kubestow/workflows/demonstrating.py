"""The demonstration: stock Kubernetes against kubestow, one day of a bundled shop, several seeds.

Guessed requests, services with a rush hour, builds around the clock, and in the morning all nodes
are drained for maintenance; nodes are rented as they are needed. Everything that is shown comes
out of the runs; what is better and what is worse stands side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from kubestow.model.progress import Progress
from kubestow.workflows import comparing, scenario_files

STOCK = "stock Kubernetes"
SEEDS = 3


@dataclass(frozen=True, slots=True)
class DemoVariant:
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
    DemoVariant(STOCK, "default scheduler, requests as guessed"),
    DemoVariant("nodes filled", "scheduler configuration from `kubestow place`", (_FILL,)),
    DemoVariant(SIZED, "also requests that follow use (`auto`, in place, hourly)", (_FILL, _SIZE)),
    DemoVariant(
        AHEAD,
        "also the web service scaled one pod start ahead (`auto`)",
        (_FILL, _SIZE, _AHEAD),
    ),
)

ROWS = (
    comparing.RunMeasure("cost", "rent of nodes for the day", digits=1),
    comparing.RunMeasure("node_hours", "node hours", digits=0),
    comparing.RunMeasure(
        "eru.cpu", "processor used, of what is reserved", "%", 100.0, better="higher"
    ),
    comparing.RunMeasure(
        "eru.memory", "memory used, of what is reserved", "%", 100.0, better="higher"
    ),
    comparing.RunMeasure("response.p95", "95 % of requests answered within", "ms", 1000.0),
    comparing.RunMeasure("slo_violation_ratio", "requests late or lost", "%", 100.0, digits=4),
    comparing.RunMeasure("database_pending", "databases waiting for a node", "min", 1 / 60),
    comparing.RunMeasure("pending_pod_seconds", "all pods waiting for a node", "h", 1 / 3600),
    comparing.RunMeasure("oom_kills", "containers killed for memory", digits=1),
    comparing.RunMeasure(
        "sizing.memory_missed", "hours in which memory went beyond what was advised", "%", 100.0
    ),
)
"""What the table shows, in words for people who pay for clusters."""


def plan(seeds: int = SEEDS, changes: tuple[str, ...] = ()) -> comparing.ComparisonGrid:
    """Lay out the runs.

    Args:
        seeds: Seeds every way runs with.
        changes: What differs from the bundled scenario in all ways, for tests.
    """
    source = str(resources.files("kubestow.workflows") / "data" / "demo_scenario.yaml")
    variants = []
    for way in WAYS:
        loaded = scenario_files.load(source, (*changes, *way.changes))
        paths: dict[str, Any] = dict(scenario_files.split_change(c) for c in way.changes)
        variants.append(comparing.Variant(way.name, paths, loaded))
    first = variants[0].loaded.scenario
    return comparing.ComparisonGrid(
        name=first.metadata.name,
        folder=Path(source).parent,
        axes=(),
        variants=tuple(variants),
        seeds=tuple(range(first.spec.seed, first.spec.seed + seeds)),
        baseline=STOCK,
    )


def run(
    sweep: comparing.ComparisonGrid, folder: Path | None, jobs: int, watch: Progress
) -> comparing.Comparison:
    """Run the demonstration; finished runs are kept in the folder."""
    tasks = comparing.make_tasks(sweep)
    engine = comparing.get_engine(comparing.LOCAL)
    records = comparing.run_cells(tasks, folder, engine, jobs, watch)
    return comparing.make_comparison(sweep, [_with_databases(record) for record in records])


def _with_databases(record: comparing.CellRecord) -> comparing.CellRecord:
    """Add how long the databases waited, which measures of the whole cluster do not tell."""
    waited = record.measures["workloads"]["default/database"]["pending_pod_seconds"]
    found = {**record.measures, "database_pending": waited}
    return comparing.CellRecord(record.key, found, record.series)


@dataclass(frozen=True, slots=True)
class DemoCell:
    """One value of the table: the text, and whether it is better or worse than stock for sure."""

    text: str
    verdict: str = ""


def table(found: comparing.Comparison) -> list[tuple[str, list[DemoCell]]]:
    """Return the rows of the table: title and one cell per way."""
    rows = []
    for measure in ROWS:
        cells = [_cell(one, measure, found) for one in found.results]
        title = f"{measure.title} ({measure.unit})" if measure.unit else measure.title
        rows.append((title, cells))
    return rows


def _cell(
    one: comparing.ComparisonResult, measure: comparing.RunMeasure, found: comparing.Comparison
) -> DemoCell:
    summary = one.summary.get(measure.path)
    if summary is None:
        return DemoCell("-")
    text = measure.interval(summary.mean, summary.half_width)
    if one.label == found.baseline:
        return DemoCell(text)
    stock = next(r for r in found.results if r.label == found.baseline)
    if measure.path not in stock.summary:
        return DemoCell(text)
    paired = [
        (
            comparing.value_of(mine.measures, measure.path) or 0.0,
            comparing.value_of(theirs.measures, measure.path) or 0.0,
        )
        for mine, theirs in zip(one.records, stock.records, strict=True)
    ]
    signs = {(mine > theirs) - (mine < theirs) for mine, theirs in paired}
    if signs in ({1}, {-1}):  # the same way in every seed
        higher = signs == {1}
        good = higher == (measure.better == comparing.HIGHER)
        return DemoCell(text, "good" if good else "bad")
    return DemoCell(text)
