"""Read public traces in their published formats, as series at equal steps.

Each function reads one format and names the traces that use it. Where a format has no times, the
first point is at 0 s.
"""

from __future__ import annotations

import gzip
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kubestow.model import errors, time_series
from kubestow.model.arrays import Floats
from kubestow.sources import gaps
from kubestow.sources.traces import grids, series

_HEADER = re.compile(r"# start=(\S+) step_s=(\d+(?:\.\d+)?) n=(\d+)\s*")
_VM = re.compile(r"vm(\w+)_cpu")


def read_counts(path: Path) -> time_series.TimeGrid:
    """Read ``# start= step_s= n=`` and then one count per line (WorldCup 98, NASA, Twitter)."""
    with _open(path) as stream:
        head = stream.readline().decode("utf-8", "replace")
        header = _HEADER.fullmatch(head)
        if header is None:
            raise errors.InputError(
                f"{path}:1", f"{head.strip()!r}: expected '# start=TIME step_s=NUMBER n=NUMBER'"
            )
        values = _parse_counts(path, stream.read())
    start, step_s, count = header[1], float(header[2]), int(header[3])
    if len(values) != count:
        raise errors.InputError(str(path), f"{len(values)} counts; expected n={count}")
    start_s = pl.Series([start]).str.to_datetime(time_zone="UTC").dt.epoch("us")[0] / 1e6
    return time_series.TimeGrid((_stem(path),), start_s, step_s, values[None, :])


def read_table(
    path: Path, times: str, columns: Sequence[str] | None = None
) -> time_series.TimeGrid:
    """Read a CSV whose column of times has any name.

    For example ``ts`` (Crane), ``TimeStamp`` (cloud monitoring), ``date`` (BizITObs) or
    ``timestamp`` (NAB).
    """
    return series.read_grid(path, columns, times=times)


def read_untimed(path: Path, step_s: float) -> time_series.TimeGrid:
    """Read a CSV of columns at equal steps without times (data-centre aggregates)."""
    table = series.load(path)
    values = np.stack([series.column_numbers(path, table[name]) for name in table.columns])
    stamps = step_s * np.arange(values.shape[1], dtype=np.float64)
    return grids.make(str(path), tuple(table.columns), stamps, values, step_s)


def read_arrivals(path: Path, times: str, step_s: float) -> time_series.TimeGrid:
    """Read a CSV with one row per request and count them by step (LLM inference)."""
    table = series.load(path)
    if times not in table.columns:
        raise errors.InputError(str(path), f"has no column {times!r}")
    stamps = series.column_seconds(path, table[times])
    start_s = float(stamps.min())
    bins = np.floor((stamps - start_s) / step_s).astype(np.int64)
    # The last step is dropped: the log may end within it.
    counts = np.bincount(bins)[:-1].astype(np.float64)
    return time_series.TimeGrid((_stem(path),), start_s, step_s, counts[None, :])


def read_days(path: Path, step_s: float = 300.0) -> dict[str, time_series.TimeGrid]:
    """Read an npz with one array (VMs, steps) per day (PlanetLab)."""
    with _load(path) as arrays:
        return {day: _rows(str(day), arrays[day], step_s) for day in arrays.files}


def read_cube(path: Path, measure: int, step_s: float = 300.0) -> time_series.TimeGrid:
    """Read one measure from an npz with ``names`` and ``data`` (VMs, steps, measures).

    In the Google 2011 set measure 0 is CPU and measure 1 is memory, both in percent.
    """
    with _load(path) as arrays:
        names = tuple(str(name) for name in _array(path, arrays, "names"))
        data = _array(path, arrays, "data")[:, :, measure]
    values, mended = _hold(data.astype(np.float64))
    return time_series.TimeGrid(names, 0.0, step_s, values, mended)


def read_machines(path: Path, measure: str = "cpu", step_s: float = 300.0) -> time_series.TimeGrid:
    """Read an npz with ``vm<id>_cpu`` and ``vm<id>_mem`` (Bitbrains), cut to the shortest series.

    CPU is in hundredths of a percent of the provisioned CPU, memory in MiB; -1 means missing.
    """
    with _load(path) as arrays:
        names = [match[1] for key in arrays.files if (match := _VM.fullmatch(key))]
        if not names:
            raise errors.InputError(str(path), "has no array vm<id>_cpu")
        rows = [_array(path, arrays, f"vm{name}_{measure}").astype(np.float64) for name in names]
        start_s = float(_array(path, arrays, f"vm{names[0]}_t0"))
    length = min(len(row) for row in rows)
    table = np.stack([row[:length] for row in rows])
    values, mended = _hold(np.where(table < 0, np.nan, table))
    scale = 0.01 if measure == "cpu" else 1.0
    return time_series.TimeGrid(tuple(names), start_s, step_s, values * scale, mended)


def _hold(table: Floats) -> tuple[Floats, time_series.Mended]:
    """Fill gaps as ``grids`` does; a series without any value is zero throughout."""
    hollow = ~np.isfinite(table).any(axis=1, keepdims=True)
    names = tuple(str(number) for number in range(len(table)))
    return gaps.fill_grid("", names, np.where(hollow, 0.0, table))


def _rows(day: str, table: NDArray[np.generic], step_s: float) -> time_series.TimeGrid:
    names = tuple(f"{day}/{number}" for number in range(len(table)))
    return time_series.TimeGrid(names, 0.0, step_s, table.astype(np.float64))


def _array(path: Path, arrays: Mapping[str, NDArray[Any]], key: str) -> NDArray[Any]:
    if key not in arrays:
        raise errors.InputError(str(path), f"has no array {key!r}")
    return arrays[key]


def _load(path: Path) -> np.lib.npyio.NpzFile:
    try:
        arrays = np.load(path, allow_pickle=False)
    except (OSError, ValueError, zipfile.BadZipFile) as err:
        raise errors.InputError(str(path), f"is not an npz file: {err}") from None
    if not isinstance(arrays, np.lib.npyio.NpzFile):
        raise errors.InputError(str(path), "is not an npz file")
    return arrays


def _open(path: Path) -> gzip.GzipFile | IO[bytes]:
    if not path.is_file():
        raise errors.InputError(str(path), "no such file")
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def _parse_counts(path: Path, text: bytes) -> Floats:
    try:
        return np.array(text.split(), dtype=np.float64)
    except ValueError as err:
        raise errors.InputError(str(path), f"expected one count per line: {err}") from None


def _stem(path: Path) -> str:
    return path.name.split(".")[0]
