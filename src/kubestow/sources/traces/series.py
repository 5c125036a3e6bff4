"""Read time series from CSV or Parquet, with a ``timestamp`` and one column per series.

Times are ISO 8601 or seconds since the epoch; CSV may be compressed (``.csv.gz``). Repairs are
counted in the result.

``read_series`` returns one series at its own times: rows are sorted, rows of the same time are
averaged, and a value holds until the next one. ``read_grid`` returns several series at equal steps,
by the rules of ``grids``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kubestow.model import errors, time_series
from kubestow.sources.traces import grids

TIMESTAMP = "timestamp"
_MOST_BYTES = 2 * 1024**3


@dataclass(frozen=True, slots=True, eq=False)
class SeriesTable:
    """One series.

    Attributes:
        name: Name of its column.
        times_s: Seconds since its first value, ascending.
        values: The values.
        step_s: Median distance of two values in seconds.
        gaps: Number of distances above one and a half steps.
        duplicates: Number of rows with the time of another one.
    """

    name: str
    times_s: NDArray[np.float64]
    values: NDArray[np.float64]
    step_s: float
    gaps: int
    duplicates: int


def read_series(path: Path, column: str | None = None) -> SeriesTable:
    """Read one series.

    Args:
        path: A ``.csv``, ``.csv.gz`` or ``.parquet`` file.
        column: Name of the column; by default the first one that is not the times.

    Raises:
        InputError: If the file cannot be read or has no such column.
    """
    table = load(path)
    chosen = _choose(path, table, TIMESTAMP, None if column is None else (column,))[0]
    return _series(
        path, chosen, column_seconds(path, table[TIMESTAMP]), column_numbers(path, table[chosen])
    )


def read_grid(
    path: Path,
    columns: Sequence[str] | None = None,
    *,
    step_s: float | None = None,
    times: str = TIMESTAMP,
) -> time_series.TimeGrid:
    """Read several series and resample them to equal steps.

    Args:
        path: A ``.csv``, ``.csv.gz`` or ``.parquet`` file.
        columns: Names of the columns; by default all but the times.
        step_s: Seconds between two points; by default the median distance of two rows.
        times: Column of the times.

    Raises:
        InputError: If the file cannot be read or has no such columns.
    """
    table = load(path)
    names = _choose(path, table, times, columns)
    values = np.stack([column_numbers(path, table[name]) for name in names])
    return grids.make(str(path), tuple(names), column_seconds(path, table[times]), values, step_s)


def first_column(path: Path) -> str:
    """Return the name of the first column that is not the times."""
    return _choose(path, load(path), TIMESTAMP, None)[0]


def _choose(
    path: Path, table: pl.DataFrame, times: str, columns: Sequence[str] | None
) -> Sequence[str]:
    """Return the given columns, or all but the times."""
    if times not in table.columns:
        listed = ", ".join(table.columns[:5])
        raise errors.InputError(str(path), f"has no column {times!r}; found {listed}")
    others = [name for name in table.columns if name != times]
    chosen = columns if columns is not None else (others or [""])
    for name in chosen:
        if name not in others:
            raise errors.InputError(
                str(path), f"has no column {name!r}; expected one of {', '.join(others[:8])}"
            )
    return chosen


def load(path: Path) -> pl.DataFrame:
    """Return a file as a table.

    Raises:
        InputError: If there is no such file, or it is too large or not a table.
    """
    if not path.is_file():
        raise errors.InputError(str(path), "no such file")
    if path.stat().st_size > _MOST_BYTES:
        raise errors.InputError(str(path), "is larger than 2 GiB")
    try:
        if path.suffix == ".parquet":
            return pl.read_parquet(path)
        return pl.read_csv(path, try_parse_dates=True, infer_schema_length=10_000)
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as err:
        raise errors.InputError(str(path), f"is not a table: {err}") from err


def column_seconds(path: Path, column: pl.Series) -> NDArray[np.float64]:
    """Return times in seconds since the epoch."""
    if column.dtype.is_temporal():
        return column.cast(pl.Datetime("us")).dt.epoch("us").to_numpy().astype(np.float64) / 1e6
    if column.dtype.is_numeric():
        return column.to_numpy().astype(np.float64)
    expectation = "expected ISO 8601 or seconds since the epoch"
    if column.dtype != pl.String:
        raise errors.InputError(f"{path}: {column.name}", f"{column.dtype}: {expectation}")
    try:
        parsed = column.str.to_datetime(time_unit="us", time_zone="UTC")
    except pl.exceptions.PolarsError:
        offender = _first_lost(column, column.str.to_datetime(time_zone="UTC", strict=False))
        raise errors.InputError(f"{path}: {column.name}", f"{offender!r}: {expectation}") from None
    return parsed.dt.epoch("us").to_numpy().astype(np.float64) / 1e6


def _first_lost(before: pl.Series, after: pl.Series) -> object:
    """Return the first value that a conversion could not read."""
    lost = before.filter(before.is_not_null() & after.is_null())
    return lost[0] if len(lost) else before.drop_nulls().first()


def column_numbers(path: Path, column: pl.Series, *, finite: bool = True) -> NDArray[np.float64]:
    """Return a column as numbers, ``nan`` where there is none.

    Args:
        path: The file, for messages.
        column: The column.
        finite: Whether infinite values are refused.

    Raises:
        InputError: If a value is not a number, or is refused.
    """
    place = f"{path}: {column.name}"
    if column.dtype == pl.String:
        numbers = column.cast(pl.Float64, strict=False)
        _refuse_first(place, column, column.is_not_null() & numbers.is_null(), "a number")
    elif column.dtype.is_numeric() or column.null_count() == len(column):
        numbers = column.cast(pl.Float64)
    else:
        raise errors.InputError(place, f"{_first_lost(column, column)!r}: expected numbers")
    if finite:
        _refuse_first(place, column, numbers.is_infinite(), "a finite number, or nothing for a gap")
    return numbers.to_numpy().astype(np.float64)


def _refuse_first(place: str, column: pl.Series, wrong: pl.Series, expected: str) -> None:
    row = wrong.fill_null(value=False).arg_true()
    if len(row):
        value = column[int(row[0])]
        raise errors.InputError(
            f"{place}: row {int(row[0]) + 1}", f"{value!r}: expected {expected}"
        )


def _series(
    path: Path, name: str, times_s: NDArray[np.float64], values: NDArray[np.float64]
) -> SeriesTable:
    known = np.isfinite(times_s) & np.isfinite(values)
    unique_s, which = np.unique(times_s[known], return_inverse=True)
    if not len(unique_s):
        raise errors.InputError(f"{path}: {name}", "has no values")
    counts = np.bincount(which)
    means = np.bincount(which, values[known]) / counts
    steps = np.diff(unique_s)
    step_s = float(np.median(steps)) if len(steps) else 0.0
    return SeriesTable(
        name=name,
        times_s=unique_s - unique_s[0],
        values=means,
        step_s=step_s,
        gaps=int(np.count_nonzero(steps > 1.5 * step_s)) + int(np.count_nonzero(~known)),
        duplicates=int((counts - 1).sum()),
    )
