"""The timeline of a finished run as data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kubestow.simulation.outcomes import RunOutcome


def workloads(outcome: RunOutcome) -> pl.DataFrame:
    """Return one row per sample and workload.

    Rates are per second and averaged since the last sample; replicas, pods, memory and queue are
    current values.
    """
    return _table(outcome.workload_columns, "workload", outcome.workloads)


def nodes(outcome: RunOutcome) -> pl.DataFrame:
    """Return one row per sample and node."""
    return _table(outcome.node_columns, "node", outcome.nodes)


def events(outcome: RunOutcome) -> pl.DataFrame:
    """Return one row per event: time, event, subject and detail."""
    rows = outcome.events
    times, what, subjects, places = zip(*rows, strict=True) if rows else ((), (), (), ())
    return pl.DataFrame(
        {
            "time_s": pl.Series(times, dtype=pl.Float64),
            "event": pl.Series(what, dtype=pl.String),
            "subject": pl.Series(subjects, dtype=pl.String),
            "detail": pl.Series(places, dtype=pl.String),
        }
    )


def _table(
    columns: Mapping[str, list[NDArray[Any]]], key: str, names: Sequence[str]
) -> pl.DataFrame:
    table = {}
    for name, pieces in columns.items():
        values = np.concatenate(pieces)
        if name == key:
            table[name] = pl.Series(names).gather(values)
        else:
            table[name] = pl.Series(values, nan_to_null=values.dtype.kind == "f")
    return pl.DataFrame(table)
