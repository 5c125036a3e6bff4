"""The time line of a finished run as tables, ready for Parquet."""

from __future__ import annotations

import numpy as np
import polars as pl

from kubestow.simulation.outcomes import RunOutcome


def workloads(outcome: RunOutcome) -> pl.DataFrame:
    """Return one row per look and workload.

    Rates are per second and means over the time since the last look; replicas, pods, memory and
    queue are those of the moment.
    """
    names = [workload.key for workload in outcome.world.workloads]
    return _table(outcome.recorder.workload_columns, "workload", names)


def nodes(outcome: RunOutcome) -> pl.DataFrame:
    """Return one row per look and node."""
    names = [node.name for node in outcome.world.nodes]
    return _table(outcome.recorder.node_columns, "node", names)


def events(outcome: RunOutcome) -> pl.DataFrame:
    """Return one row per event: time, what happened, to whom, where."""
    found = outcome.world.ledger.events
    times, what, subjects, places = zip(*found, strict=True) if found else ((), (), (), ())
    return pl.DataFrame(
        {
            "time_s": pl.Series(times, dtype=pl.Float64),
            "event": pl.Series(what, dtype=pl.String),
            "subject": pl.Series(subjects, dtype=pl.String),
            "detail": pl.Series(places, dtype=pl.String),
        }
    )


def _table(columns: dict[str, list[np.ndarray]], key: str, names: list[str]) -> pl.DataFrame:
    found = {}
    for name, pieces in columns.items():
        values = np.concatenate(pieces)
        if name == key:
            found[name] = pl.Series(names).gather(values)
        else:
            found[name] = pl.Series(values, nan_to_null=values.dtype.kind == "f")
    return pl.DataFrame(found)
