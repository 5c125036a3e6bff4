"""The demo: stock Kubernetes and kubestow on one day of a bundled web shop, with several seeds.

The shop has guessed requests, services with a rush hour, and builds around the clock. In the
morning all nodes are drained for maintenance; nodes are rented on demand. All figures come from the
runs, and gains and losses are shown together.
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
    """One variant of the cluster.

    Attributes:
        name: Its name in the table.
        how: What you have to configure for it.
        changes: Differences from the bundled scenario, as for ``simulate --set``.
    """

    name: str
    how: str
    changes: tuple[str, ...] = ()


_FILL = "policies.placing.profile=most-allocated"
# Hourly, with limits in the same ratio as before: a small miss causes no OOM kill.
_SIZE = (
    "policies.sizing={recommender: auto, mode: in-place-or-recreate, interval: 1h, "
    "guards: {memoryLimit: ratio, cpuLimit: keep}, "
    "parameters: {tournament: {windowS: 3600}, conformal: {windowS: 1h}}}"
)
SIZED = "filled and sized"
_AHEAD = "workloads[1].scaling={scaler: auto, target: {cpu: 0.6}, min: 4, max: 60}"
AHEAD = "and scaled ahead"
VARIANTS = (
    DemoVariant(STOCK, "default scheduler, requests as guessed"),
    DemoVariant("nodes filled", "scheduler configuration from `kubestow place`", (_FILL,)),
    DemoVariant(SIZED, "also requests sized from usage (`auto`, in place, hourly)", (_FILL, _SIZE)),
    DemoVariant(
        AHEAD,
        "also the web service scaled one pod start-up ahead (`auto`)",
        (_FILL, _SIZE, _AHEAD),
    ),
)

ROWS = (
    comparing.RunMeasure("cost", "cost of nodes", digits=1),
    comparing.RunMeasure("node_hours", "node hours", digits=0),
    comparing.RunMeasure("eru.cpu", "CPU used, of requested", "%", 100.0, better="higher"),
    comparing.RunMeasure("eru.memory", "memory used, of requested", "%", 100.0, better="higher"),
    comparing.RunMeasure("response.p95", "response time, 95th percentile", "ms", 1000.0),
    comparing.RunMeasure("slo_violation_ratio", "requests late or lost", "%", 100.0, digits=4),
    comparing.RunMeasure("database_pending", "database pods pending", "min", 1 / 60),
    comparing.RunMeasure("pending_pod_seconds", "all pods pending", "h", 1 / 3600),
    comparing.RunMeasure("oom_kills", "OOM kills", digits=1),
    comparing.RunMeasure("sizing.memory_missed", "hours above recommended memory", "%", 100.0),
)
"""The rows of the table, in words for people who pay for clusters."""


def plan(seeds: int = SEEDS, changes: tuple[str, ...] = ()) -> comparing.ComparisonGrid:
    """Plan the runs.

    Args:
        seeds: Number of seeds per variant.
        changes: Differences from the bundled scenario in all variants, for tests.
    """
    source = str(resources.files("kubestow.workflows") / "data" / "demo_scenario.yaml")
    variants = []
    for variant in VARIANTS:
        loaded = scenario_files.load(source, (*changes, *variant.changes))
        paths: dict[str, Any] = dict(scenario_files.split_change(c) for c in variant.changes)
        variants.append(comparing.Variant(variant.name, paths, loaded))
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
    """Run the demo; finished runs are kept in the folder."""
    tasks = comparing.make_tasks(sweep)
    engine = comparing.get_engine(comparing.LOCAL)
    records = comparing.run_cells(tasks, folder, engine, jobs, watch)
    return comparing.make_comparison(sweep, [_with_databases(record) for record in records])


def _with_databases(record: comparing.CellRecord) -> comparing.CellRecord:
    """Add how long the databases were pending, which cluster-wide measures do not show."""
    waited = record.measures["workloads"]["default/database"]["pending_pod_seconds"]
    measures = {**record.measures, "database_pending": waited}
    return comparing.CellRecord(record.key, measures, record.series)


@dataclass(frozen=True, slots=True)
class DemoCell:
    """One value of the table, and whether it is better or worse than stock in all seeds."""

    text: str
    verdict: str = ""


def table(comparison: comparing.Comparison) -> list[tuple[str, list[DemoCell]]]:
    """Return the rows of the table: title and one cell per variant."""
    rows = []
    for measure in ROWS:
        cells = [_cell(one, measure, comparison) for one in comparison.results]
        title = f"{measure.title} ({measure.unit})" if measure.unit else measure.title
        rows.append((title, cells))
    return rows


def _cell(
    one: comparing.ComparisonResult, measure: comparing.RunMeasure, comparison: comparing.Comparison
) -> DemoCell:
    summary = one.summary.get(measure.path)
    if summary is None:
        return DemoCell("-")
    text = measure.interval(summary.mean, summary.half_width)
    if one.label == comparison.baseline:
        return DemoCell(text)
    stock = next(r for r in comparison.results if r.label == comparison.baseline)
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
    if signs in ({1}, {-1}):  # the same sign in every seed
        higher = signs == {1}
        good = higher == (measure.better == comparing.HIGHER)
        return DemoCell(text, "good" if good else "bad")
    return DemoCell(text)
