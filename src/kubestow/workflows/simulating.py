"""Writes a simulated run to files: results, timeline, events, decisions."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import polars as pl

from kubestow.simulation import timelines
from kubestow.simulation.outcomes import RunOutcome
from kubestow.workflows import files

RESULTS, DECISIONS = "results.json", "decisions.jsonl"
TABLES = {
    "timeline.parquet": timelines.workloads,
    "nodes.parquet": timelines.nodes,
    "events.parquet": timelines.events,
}


def write(outcome: RunOutcome, folder: Path) -> None:
    """Write all files of a run, each atomically."""
    for name, make in TABLES.items():
        files.write_bytes(folder / name, parquet(make(outcome)))
    lines = [msgspec.json.encode(record.as_json()) for record in outcome.decisions]
    files.write_bytes(folder / DECISIONS, b"".join(line + b"\n" for line in lines))
    files.write_json(folder / RESULTS, {**outcome.measures, "decisions": DECISIONS})


def parquet(table: pl.DataFrame) -> bytes:
    """Return a table as Parquet; equal tables give equal bytes."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=False)
    return buffer.getvalue()
