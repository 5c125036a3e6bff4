"""``container_usage`` of the Alibaba cluster trace of 2018: eleven columns, no header.

container_id, machine_id, time_stamp (s), cpu_util_percent, mem_util_percent, cpi, mem_gps, mpki,
net_in, net_out, disk_io_percent (the publisher's schema). Percentages outside 0 to 100 mark
invalid samples (-1, 101); they and empty cells are gaps, which repeat the last value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from kubestow.model import errors, time_series
from kubestow.sources.traces import grids

ALIBABA_COLUMNS: Final = (
    "container_id", "machine_id", "time_stamp", "cpu_util_percent", "mem_util_percent", "cpi",
    "mem_gps", "mpki", "net_in", "net_out", "disk_io_percent",
)  # fmt: skip
MEASURES: Final = ("cpu_util_percent", "mem_util_percent")


def read(path: Path, step_s: float | None = None) -> dict[str, time_series.TimeGrid]:
    """Read CPU and memory usage of every container in a file.

    Args:
        path: A CSV file without a header, plain or compressed.
        step_s: Seconds between two points; ``None`` for the usual step.

    Raises:
        InputError: If the file is not such a table.
    """
    try:
        table = pl.read_csv(path, has_header=False, infer_schema_length=10_000)
    except (pl.exceptions.PolarsError, OSError) as err:
        raise errors.InputError(str(path), f"is not a table: {err}") from err
    if len(table.columns) != len(ALIBABA_COLUMNS):
        raise errors.InputError(
            str(path), f"has {len(table.columns)} columns; expected {len(ALIBABA_COLUMNS)}"
        )
    table.columns = list(ALIBABA_COLUMNS)
    return clean_alibaba_usage(table, str(path), step_s)


def clean_alibaba_usage(
    table: pl.DataFrame, place: str, step_s: float | None = None
) -> dict[str, time_series.TimeGrid]:
    """Return the valid samples of every container at equal steps."""
    grids_by_container = {}
    for (name,), rows in table.group_by("container_id", maintain_order=True):
        columns = []
        for measure in MEASURES:
            values = rows[measure].cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
            valid = np.isfinite(values) & (values >= 0.0) & (values <= 100.0)
            columns.append(np.where(valid, values, np.nan))
        times_s = rows["time_stamp"].cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
        grids_by_container[str(name)] = grids.make(
            f"{place}: {name}", MEASURES, times_s, np.array(columns), step_s
        )
    return grids_by_container
