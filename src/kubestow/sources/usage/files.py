"""Read usage from a folder with ``usage.csv`` or ``usage.parquet``.

Columns: ``timestamp`` (ISO 8601 or seconds since the epoch), ``namespace``, ``kind``, ``workload``,
``pod``, ``container``, ``cpu_cores``, ``memory_bytes``; optionally ``cpu_throttled_ratio`` and
``oom_kills`` (a running total), and ``page_cache_bytes``, the active page cache that is part of
``memory_bytes``: the kernel frees it before it kills, so it is left out. Other columns are ignored,
with a note. Rows without a time or without both values are dropped and counted; negative values and
numbers that seem to be in another unit are refused, because the error would not be visible later.

Of several rows of a pod in one step the largest counts, so that peaks are not averaged away.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from kubestow.model import errors
from kubestow.model.arrays import Floats, Ints
from kubestow.model.keys import ContainerKey
from kubestow.model.usage import Usage
from kubestow.sources import traces

KEY: Final = ("namespace", "kind", "workload", "container")
VALUES: Final = ("cpu_cores", "memory_bytes")
TOTALS: Final = ("cpu_throttled_ratio", "oom_kills")
CACHE: Final = "page_cache_bytes"
OPTIONAL: Final = (*TOTALS, CACHE, "network_bytes", "disk_bytes")
NEEDED: Final = ("timestamp", "namespace", "kind", "workload", "pod", "container", *VALUES)
# No container uses more cores; larger numbers are millicores.
_MOST_CORES: Final = 4096.0
# No container uses less memory; smaller numbers are MiB or GiB.
_LEAST_BYTES: Final = 65536.0
# Most points times rows: 10000 containers for eight days at five minutes are 23 million.
_MOST_CELLS: Final = 200_000_000
_MOST_BYTES: Final = 2 * 1024**3

_ENDINGS: Final = (".parquet", ".csv", ".csv.gz")


def find(folder: Path, stem: str) -> Path | None:
    """Return the path of a table by its name without suffix; ``None`` if it does not exist.

    Raises:
        InputError: If it exists in two formats.
    """
    paths = [path for ending in _ENDINGS if (path := folder / f"{stem}{ending}").is_file()]
    if len(paths) > 1:
        names = " and ".join(path.name for path in paths)
        raise errors.InputError(str(folder), f"has {names}; expected one of them")
    return paths[0] if paths else None


def read_usage_files(
    folder: Path, step_s: float | None = None, history_s: float | None = None
) -> Usage:
    """Read the usage in a folder or a file.

    Args:
        folder: Folder with ``usage.csv`` or ``usage.parquet``, or such a file of any name.
        step_s: Seconds between two points; by default the usual distance of a pod's rows.
        history_s: Seconds of history before the last row; by default all.

    Raises:
        InputError: If there is no such table, or it has no usable rows.
    """
    path = _find_usage(folder)
    table, notes = _clean(path, load(path, (*KEY, "pod")))
    end_s = _largest(table["time_s"])
    if history_s is not None:
        table = table.filter(pl.col("time_s") > end_s - history_s)
    numbered, rows = _number(table)
    width_s = step_s if step_s is not None else _usual_step(numbered)
    return _gridded(path, numbered, rows, width_s, end_s, notes)


def _find_usage(path: Path) -> Path:
    if path.is_file():
        if not path.name.endswith(_ENDINGS):
            expected = f"expected a file that ends with {', '.join(_ENDINGS)}"
            raise errors.InputError(str(path), expected)
        return path
    if not path.is_dir():
        raise errors.InputError(str(path), "no such file or folder")
    usage = find(path, "usage")
    if usage is None:
        raise errors.InputError(str(path), "has no usage.csv or usage.parquet")
    return usage


def load(path: Path, names: Sequence[str] | None = None) -> pl.DataFrame:
    """Load a table whose names stay texts: a workload may be called 007 or true.

    Args:
        path: A ``.csv``, ``.csv.gz`` or ``.parquet`` file.
        names: Columns of names, stored as categories; by default all columns are texts.

    Raises:
        InputError: If it is too large or not a table.
    """
    if path.stat().st_size > _MOST_BYTES:
        raise errors.InputError(str(path), "is larger than 2 GiB; Parquet is smaller")
    try:
        if path.suffix == ".parquet":
            return _load_parquet(path, names)
        if names is None:
            return pl.read_csv(path, infer_schema=False)
        header = pl.read_csv(path, n_rows=0).columns
        kinds = {name: pl.Categorical() for name in names if name in header}
        return pl.read_csv(
            path, try_parse_dates=True, infer_schema_length=10_000, schema_overrides=kinds
        )
    except pl.exceptions.NoDataError:
        raise errors.InputError(str(path), "is empty; expected a header line") from None
    except (pl.exceptions.PolarsError, OSError, UnicodeDecodeError) as err:
        problem = str(err).splitlines()[0] if str(err) else type(err).__name__
        raise errors.InputError(str(path), f"is not a table: {problem}") from None


def _load_parquet(path: Path, names: Sequence[str] | None) -> pl.DataFrame:
    scan = pl.scan_parquet(path)
    if names is None:
        return scan.select(pl.all().cast(pl.String)).collect()
    kept = [name for name in names if name in scan.collect_schema().names()]
    categories = (pl.col(name).cast(pl.String).cast(pl.Categorical()) for name in kept)
    return scan.with_columns(*categories).collect(engine="streaming")


def _largest(column: pl.Series) -> float:
    largest = column.max()
    return float(largest) if isinstance(largest, int | float) else 0.0


def _clean(path: Path, raw: pl.DataFrame) -> tuple[pl.DataFrame, tuple[str, ...]]:
    missing = [name for name in NEEDED if name not in raw.columns]
    if missing:
        raise errors.InputError(
            str(path), f"has no column {', '.join(missing)}; expected {', '.join(NEEDED)}"
        )
    if not len(raw):
        raise errors.InputError(str(path), "has no rows")
    notes = []
    unknown = [name for name in raw.columns if name not in (*NEEDED, *OPTIONAL)]
    if unknown:
        notes.append(f"{path.name}: columns ignored: {', '.join(unknown)}")
    columns: dict[str, Floats] = {"time_s": traces.column_seconds(path, raw["timestamp"])}
    for name in (*VALUES, *TOTALS, CACHE):
        if name in raw.columns:
            columns[name] = traces.column_numbers(path, raw[name], finite=False)
    table = raw.select(*KEY, "pod").with_columns(
        **{name: pl.Series(values) for name, values in columns.items()}
    )
    kept = _valid(path, table)
    if len(kept) < len(table):
        notes.append(f"{path.name}: {len(table) - len(kept)} rows dropped: no time or no value")
    _check_units(path, kept)
    if CACHE in kept.columns:
        kept, left_out = _leave_out_cache(path, kept)
        notes.append(left_out)
    return kept, tuple(notes)


def _leave_out_cache(path: Path, table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return memory without page cache, and a note on how much that was."""
    cache = pl.col(CACHE).fill_nan(None).fill_null(0.0)
    bad = table.filter((cache < 0.0) | (cache > pl.col("memory_bytes")))
    if len(bad):
        raise errors.InputError(
            f"{path}: {CACHE}",
            f"{bad[CACHE][0]:g} of pod {bad['pod'][0]}: expected 0 to its memory_bytes",
        )
    total = table["memory_bytes"].fill_null(0.0).sum()
    share = table.select(cache.sum()).item() / total if total else 0.0
    kept = table.with_columns((pl.col("memory_bytes") - cache).alias("memory_bytes"))
    return kept, f"{path.name}: page cache left out of memory, {100.0 * share:.0f} % of it"


def _valid(path: Path, table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with a time and a possible value; impossible values become gaps."""
    for name in VALUES:
        bad = table.filter(pl.col(name) < 0.0)
        if len(bad):
            raise errors.InputError(
                f"{path}: {name}", f"{bad[name][0]:g} of pod {bad['pod'][0]}: must not be negative"
            )
    mended = table.with_columns(
        *(pl.when(pl.col(n).is_finite()).then(pl.col(n)).otherwise(None).alias(n) for n in VALUES)
    )
    kept = mended.filter(
        pl.col("time_s").is_finite()
        & (pl.any_horizontal(*(pl.col(n).is_not_null() for n in VALUES)))
    )
    if not len(kept):
        raise errors.InputError(str(path), f"{len(table)} rows, but none has a time and a value")
    return kept


def _check_units(path: Path, table: pl.DataFrame) -> None:
    cores, size = (table[name].drop_nulls().max() for name in VALUES)
    if isinstance(cores, float) and cores > _MOST_CORES:
        raise errors.InputError(
            f"{path}: cpu_cores", f"{cores:g}: looks like millicores; expected cores"
        )
    if isinstance(size, float) and 0.0 < size < _LEAST_BYTES:
        raise errors.InputError(
            f"{path}: memory_bytes", f"at most {size:g}: looks like MiB; expected bytes"
        )


def _number(table: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the table with row numbers instead of names, and the table of names.

    Names make up most of a large table; later steps do not need them.
    """
    names = [*KEY, "pod"]
    codes = table.select(names).unique(maintain_order=True).with_row_index("code")
    texts = pl.col(names).cast(pl.String).fill_null("")
    rows = codes.with_columns(texts).sort(names).with_row_index("row")
    keys = rows.select(KEY).unique(maintain_order=True).with_row_index("owner")
    rows = rows.join(keys, on=list(KEY), how="left", maintain_order="left")
    places = codes.join(rows.select("code", "row"), on="code", how="left").drop("code")
    numbered = table.join(places, on=names, how="left", nulls_equal=True).drop(names)
    return numbered, rows


def _usual_step(table: pl.DataFrame) -> float:
    """Return the median distance of successive rows of a pod; a minute if no pod has two."""
    order = table.select("row", "time_s").sort("row", "time_s")
    steps, rows = np.diff(order["time_s"].to_numpy()), np.diff(order["row"].to_numpy())
    known = steps[(rows == 0) & (steps > 0.0)]
    # The lower of two middle ones: their mean would be a step that does not occur.
    return float(np.quantile(known, 0.5, method="lower")) if len(known) else 60.0


def _gridded(
    path: Path,
    table: pl.DataFrame,
    rows: pl.DataFrame,
    width_s: float,
    end_s: float,
    notes: tuple[str, ...],
) -> Usage:
    """Arrange rows on a grid whose last column ends at the last time."""
    back = ((end_s - table["time_s"].to_numpy()) / width_s + 1e-9).astype(np.int64)
    points = int(back.max()) + 1
    if points * len(rows) > _MOST_CELLS:
        raise errors.InputError(
            str(path),
            f"{len(rows)} pods and {points} steps of {width_s:g} s are too many; "
            "choose a longer step or a shorter history",
        )
    row, column = table["row"].to_numpy(), points - 1 - back
    grids = []
    for name in VALUES:
        grid = np.full((len(rows), points), np.nan)
        np.fmax.at(grid, (row, column), table[name].fill_null(np.nan).to_numpy())
        grids.append(grid)
    keys = rows.select(KEY).unique(maintain_order=True)
    owners = rows["owner"].to_numpy().astype(np.int64)
    throttled, kills = _totals(table, owners, len(keys))
    containers = tuple(ContainerKey(*key) for key in keys.iter_rows())
    return Usage(
        containers=containers,
        pods=tuple(rows["pod"].to_list()),
        owners=owners,
        step_s=width_s,
        end_s=end_s,
        cpu_cores=grids[0],
        memory_bytes=grids[1],
        throttled=throttled,
        oom_kills=kills,
        oom_killed_bytes=np.zeros(len(containers)),
        notes=notes,
        cache_bytes=_largest_cache(table, owners, len(containers)),
    )


def _largest_cache(table: pl.DataFrame, owners: Ints, count: int) -> Floats | None:
    if CACHE not in table.columns:
        return None
    values = table[CACHE].fill_null(np.nan).to_numpy()
    known = np.isfinite(values)
    largest = np.full(count, np.nan)
    np.fmax.at(largest, owners[table["row"].to_numpy()[known]], values[known])
    return largest


def _totals(table: pl.DataFrame, owners: Ints, count: int) -> tuple[Floats, Floats]:
    """Return mean throttling and the largest total of OOM kills, by container."""
    throttled, kills = np.full(count, np.nan), np.zeros(count)
    whose = owners[table["row"].to_numpy()]
    if "cpu_throttled_ratio" in table.columns:
        values = table["cpu_throttled_ratio"].to_numpy()
        known = np.isfinite(values)
        known_count = np.bincount(whose[known], minlength=count)
        total = np.bincount(whose[known], values[known], count)
        throttled = np.where(known_count > 0, total / np.maximum(known_count, 1), np.nan)
    if "oom_kills" in table.columns:
        values = table["oom_kills"].to_numpy()
        known = np.isfinite(values)
        np.maximum.at(kills, whose[known], values[known])
    return throttled, kills
