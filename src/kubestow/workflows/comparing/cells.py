"""One cell of a comparison: a variant run with a seed, kept on disk once it is finished.

A cell holds the measures of the run and a timeline by minute. Its file is named by a digest of
everything its numbers depend on, so a comparison that was interrupted, or varies another value,
computes only what is missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

import kubestow
from kubestow.model.progress import Progress
from kubestow.simulation import outcomes, run, timelines
from kubestow.workflows import scenario_files
from kubestow.workflows.comparing import engines, grid, resumable

FORMAT = 10
"""Raise it when simulator or policies change, so that kept cells are not reused."""

MINUTE_S = 60.0
_DIGITS = 7  # significant digits of the timeline


@dataclass(frozen=True, slots=True)
class CellTask:
    """A cell to run, in plain values that can be sent to another process.

    Attributes:
        value: The decoded scenario.
        place: What errors call it.
        folder: Where the files it refers to are.
        seed: Seed of the run.
        key: Digest of everything the numbers depend on.
        label: Its name in progress reports.
    """

    value: Mapping[str, Any]
    place: str
    folder: str
    seed: int
    key: str
    label: str


class CellRecord(msgspec.Struct, frozen=True):
    """A finished cell.

    Attributes:
        key: Digest of everything the numbers depend on.
        measures: The outcome, with the keys of ``simulate -o json``.
        series: The timeline in columns, one value per minute; see ``minutes``.
    """

    key: str
    measures: dict[str, Any]
    series: dict[str, list[float | None]]


def make_tasks(sweep: grid.ComparisonGrid) -> list[CellTask]:
    """Return all cells of a sweep, variant by variant."""
    return [
        CellTask(
            value=variant.loaded.value,
            place=f"{sweep.name} ({variant.label})",
            folder=str(sweep.folder),
            seed=seed,
            key=digest(variant.loaded, seed),
            label=f"{variant.label}, seed {seed}",
        )
        for variant in sweep.variants
        for seed in sweep.seeds
    ]


def digest(loaded: scenario_files.Loaded, seed: int) -> str:
    """Return a fingerprint of scenario, files it refers to, seed and program."""
    inputs = loaded.inputs
    traces = {
        name: (trace.times_s.tolist(), trace.values.tolist(), trace.end_s)
        for name, trace in inputs.traces.items()
    }
    everything = (FORMAT, kubestow.__version__, seed, loaded.value, inputs.profile, traces)
    return hashlib.sha256(msgspec.json.encode(everything, order="sorted")).hexdigest()


def run_cells(
    tasks: Sequence[CellTask],
    folder: Path | None,
    engine: engines.Engine,
    jobs: int,
    watch: Progress,
) -> list[CellRecord]:
    """Return all cells in the order of the tasks; those on disk are not computed again.

    Args:
        tasks: The cells.
        folder: Folder that keeps finished cells; ``None`` keeps nothing.
        engine: Runs the cells.
        jobs: Number of parallel processes; results do not depend on it.
        watch: Called after every cell.
    """
    parts = [make_part(task) for task in tasks]
    return resumable.run_parts(parts, folder, CellRecord, compute, watch, engine=engine, jobs=jobs)


def make_part(task: CellTask) -> resumable.Part[CellTask]:
    """Return a cell as a part of a long run."""
    return resumable.Part(task, task.key, f"{task.key[:20]}-s{task.seed}.json", task.label)


def compute(task: CellTask) -> bytes:
    """Run one cell and return its record as JSON."""
    loaded = scenario_files.read(task.value, task.place, Path(task.folder))
    outcome = run.run(loaded.scenario, loaded.inputs, task.seed)
    return resumable.encode(CellRecord(task.key, dict(outcome.measures), minutes(outcome)))


def minutes(outcome: outcomes.RunOutcome) -> dict[str, list[float | None]]:
    """Return the timeline by minute; samples that are further apart stay as they are.

    ``eru_cpu`` and ``response_s`` cover request-driven workloads (usage is the mean of the minute,
    CPU requests are those at its end); cores and pods cover all workloads, and ``nodes`` counts the
    existing nodes.
    """
    table = timelines.workloads(outcome).with_columns(
        minute_s=(pl.col("time_s") / MINUTE_S).ceil() * MINUTE_S,
        serves=pl.col("demand").is_not_null(),
        waited=pl.col("response_s") * pl.col("served"),
    )
    samples = table.group_by("minute_s", "time_s", maintain_order=True).agg(_sums())
    by_minute = samples.group_by("minute_s", maintain_order=True).agg(
        pl.all().exclude("time_s").mean()
    )
    shown = by_minute.select(
        pl.col("minute_s").alias("time_s"),
        _ratio("service_used", "service_requested").alias("eru_cpu"),
        _ratio("waited", "served").alias("response_s"),
        "demand",
        "missed",
        "requested_cpu",
        "used_cpu",
        "ready",
        "pending",
    )
    series = {column.name: _short(column) for column in shown.iter_columns()}
    nodes = nodes_at(outcome, shown["time_s"].to_numpy())
    return {**series, "nodes": nodes, **outlooks(table)}


def outlooks(table: pl.DataFrame) -> dict[str, list[float | None]]:
    """Return the forecasts of the first workload with a forecasting scaler, by minute.

    Empty if no scaler forecasts. A value is the last of its minute.
    """
    forecasts = table.filter(pl.col("forecast").is_not_null())
    if not len(forecasts):
        return {}
    mine = table.filter(pl.col("workload") == forecasts["workload"][0])
    columns = ("load", "forecast", "forecast_upper", "forecast_horizon_s", "gate", "replicas")
    last = mine.group_by("minute_s", maintain_order=True).agg(pl.col(*columns).last())
    return {f"ahead_{name}": _short(last[name]) for name in columns}


def nodes_at(
    outcome: outcomes.RunOutcome, times_s: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> list[float | None]:
    """Return the number of nodes at some times: initial ones, plus joined, minus retired."""
    count = np.full(len(times_s), float(sum(pool.count for pool in outcome.spec.cluster.nodes)))
    for what, sign in (("joined", 1.0), ("retired", -1.0)):
        moments_s = [time_s for time_s, event, *_ in outcome.events if event == what]
        count += sign * np.searchsorted(np.array(moments_s), times_s, side="right")
    return [float(value) for value in count]


def _sums() -> list[pl.Expr]:
    serving = pl.col("serves")
    return [
        pl.col("used_cpu").filter(serving).sum().alias("service_used"),
        pl.col("requested_cpu").filter(serving).sum().alias("service_requested"),
        pl.col("waited").sum(),
        pl.col("served").sum(),
        pl.col("demand").sum(),
        (pl.col("late") + pl.col("dropped")).sum().alias("missed"),
        *(pl.col(name).sum() for name in ("requested_cpu", "used_cpu", "ready", "pending")),
    ]


def _ratio(part: str, whole: str) -> pl.Expr:
    return pl.when(pl.col(whole) > 0.0).then(pl.col(part) / pl.col(whole))


def _short(column: pl.Series) -> list[float | None]:
    return [None if value is None else float(f"{value:.{_DIGITS}g}") for value in column]


def column(record: CellRecord, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return a column of the timeline as an array; gaps are NaN."""
    return np.array(
        [np.nan if value is None else value for value in record.series[name]], dtype=np.float64
    )
