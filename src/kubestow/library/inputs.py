"""What callers may pass: paths, dicts, Polars or pandas frames, arrays.

Files and memory go through the same readers. A frame is written to a file in a temporary folder,
whose path never appears in an error message.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from kubestow.model import decoding, errors

Frame: TypeAlias = Any
"""A Polars frame, a pandas frame, or a mapping of columns."""

Seconds: TypeAlias = float | str
"""A number of seconds, or a duration such as ``"5m"``."""


def is_path(value: object) -> bool:
    """Return whether a value names a file, a folder or standard input."""
    return isinstance(value, str | os.PathLike)


def as_frame(value: Frame, place: str) -> pl.DataFrame:
    """Return a Polars frame.

    Args:
        value: A Polars frame, anything with the columns of a pandas frame, or a mapping of columns.
        place: Its name in error messages.

    Raises:
        InputError: If it is none of these.
    """
    if isinstance(value, pl.DataFrame):
        return value
    try:
        if isinstance(value, Mapping):
            return pl.DataFrame(dict(value))
        if hasattr(value, "columns") and hasattr(value, "__getitem__"):
            return pl.DataFrame({str(name): value[name].tolist() for name in value.columns})
    except (pl.exceptions.PolarsError, TypeError, ValueError) as err:
        raise errors.InputError(place, f"is not a table: {err}") from err
    expected = "expected a path, a Polars or pandas frame, or a mapping of columns"
    raise errors.InputError(place, f"{type(value).__name__}: {expected}")


def as_seconds(value: Seconds, place: str) -> float:
    """Return a duration in seconds.

    >>> as_seconds("5m", "horizon"), as_seconds(30, "horizon")
    (300.0, 30.0)
    """
    seconds = decoding.parse_duration(decoding.Field(value, place))
    if seconds <= 0.0:
        raise errors.InputError(place, f"{value!r}: must be longer than 0 s")
    return seconds


@contextlib.contextmanager
def as_folder(tables: Mapping[str, Frame | None]) -> Iterator[Path]:
    """Yield a folder with the tables as Parquet files, named by their keys.

    Errors of readers name the table, not the folder.
    """
    with tempfile.TemporaryDirectory(prefix="kubestow-") as name:
        folder = Path(name)
        for stem, table in tables.items():
            if table is not None:
                as_frame(table, stem).write_parquet(folder / f"{stem}.parquet")
        try:
            yield folder
        except errors.InputError as err:
            place = err.place.replace(f"{folder}{os.sep}", "").replace(".parquet", "")
            raise errors.InputError(place, err.problem) from err
