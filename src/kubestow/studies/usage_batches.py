"""Public usage series as batches, on which recommenders are evaluated.

Each function reads one data set of the folder of public data (``public_data``) and resamples it to
one time grid; values that were not measured, or that a set lacks, are NaN. Some sets give shares of
a machine of unknown size. A fixed size is assumed for them, large enough that the minimum amounts
of baselines (25 m and 250 MiB in VPA) hardly matter.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from kubestow.model import errors
from kubestow.model.arrays import Floats
from kubestow.model.usage import Usage, arrange
from kubestow.sources import traces

MIB: Final = float(1 << 20)
STEP_S: Final = 300.0
# Assumed sizes of machines whose size is unknown: shares become cores and bytes.
MACHINE_CORES: Final = 4.0
MACHINE_BYTES: Final = 16.0 * 2**30
GPU_POD_BYTES: Final = 64.0 * 2**30
CORE_MHZ: Final = 2926.0  # of most machines of the same data centre (bitbrains_rnd)
_SUFFIX: Final = "_cpu"


def half(name: str) -> int:
    """Return the half of a series, by a hash of its name: 0 for tuning, 1 for reporting.

    >>> half("vm1"), half("vm2")
    (1, 0)
    """
    return hashlib.sha256(name.encode()).digest()[0] & 1


def choose(batch: Usage, part: int) -> Usage:
    """Return the series of one half; every container has one series here."""
    kept = np.array([half(name) == part for name in batch.names], dtype=np.bool_)
    return arrange(
        [name for name, keep in zip(batch.names, kept, strict=True) if keep],
        np.arange(int(kept.sum()), dtype=np.int64),
        batch.step_s,
        batch.end_s,
        batch.cpu_cores[kept],
        batch.memory_bytes[kept],
    )


def read_bitbrains(folder: Path) -> Usage:
    """Read ``bitbrains_rnd``: machines over three months, CPU in cores and memory in bytes.

    Machines begin at different times; all are placed on one grid.
    """
    path = folder / "bitbrains_rnd" / "series.npz"
    with _load(path) as archive:
        names = [key.removesuffix(_SUFFIX) for key in archive.files if key.endswith(_SUFFIX)]
        starts = {name: int(archive[f"{name}_t0"]) for name in names}
        first_s = min(starts.values())
        shifts = {name: round((start - first_s) / STEP_S) for name, start in starts.items()}
        points = max(shifts[name] + len(archive[name + _SUFFIX]) for name in names)
        cpu = np.full((len(names), points), np.nan)
        memory = np.full((len(names), points), np.nan)
        for row, name in enumerate(names):
            share = _known(archive[name + _SUFFIX]) * 1e-4  # hundredths of a percent
            span = slice(shifts[name], shifts[name] + len(share))
            cpu[row, span] = share * _cores(archive[f"{name}_cap"], len(share))
            memory[row, span] = _known(archive[f"{name}_mem"]) * MIB
    return _single(names, STEP_S, first_s + (points - 1) * STEP_S, cpu, memory)


def _cores(changes: NDArray[np.generic], points: int) -> Floats:
    """Return the number of cores at every point, from rows (first point, MHz, MiB, cores)."""
    rows = changes.astype(np.int64)
    places = np.searchsorted(rows[:, 0], np.arange(points), side="right") - 1
    cores: Floats = rows[np.maximum(places, 0), 3].astype(np.float64)
    return cores


def _known(values: NDArray[np.generic]) -> Floats:
    read = values.astype(np.float64)
    return np.where(read < 0.0, np.nan, read)


def read_google(folder: Path) -> Usage:
    """Read ``google2011_vms``: 24 hours of jobs, CPU and memory, given in percent."""
    path = folder / "google2011_vms" / "vms.npz"
    cpu = traces.read_cube(path, 0, STEP_S)
    memory = traces.read_cube(path, 1, STEP_S)
    points = cpu.values.shape[1]
    return _single(
        cpu.names,
        STEP_S,
        (points - 1) * STEP_S,
        cpu.values / 100.0 * MACHINE_CORES,
        memory.values / 100.0 * MACHINE_BYTES,
    )


def read_planetlab(folder: Path) -> Usage:
    """Read ``planetlab_cpu``: machines over one day each, CPU, given in percent."""
    days = traces.read_days(folder / "planetlab_cpu" / "days.npz", STEP_S)
    names = [name for grid in days.values() for name in grid.names]
    cpu = np.concatenate([grid.values for grid in days.values()]) / 100.0 * MACHINE_CORES
    points = cpu.shape[1]
    return _single(names, STEP_S, (points - 1) * STEP_S, cpu, np.full_like(cpu, np.nan))


def read_crane(folder: Path) -> Usage:
    """Read ``crane_dsp``: production series of 8 to 16 days by the minute, used as CPU."""
    return _read_series(folder / "crane_dsp", "input*.csv.gz", "ts", 1.0)


def read_nab(folder: Path) -> Usage:
    """Read ``nab_cloudwatch``: two weeks of five virtual machines, CPU, given in percent."""
    return _read_series(
        folder / "nab_cloudwatch", "*_cpu_utilization_*.csv.gz", "timestamp", MACHINE_CORES / 100.0
    )


def _read_series(folder: Path, pattern: str, column: str, factor: float) -> Usage:
    """Read single series as CPU.

    They end at different times; each is shifted so that all end together. Those with a finer step
    than others are left out.
    """
    paths = sorted(folder.glob(pattern))
    if not paths:
        raise errors.InputError(str(folder), f"has no {pattern}")
    grids = [traces.read_table(path, column, ["value"]) for path in paths]
    step_s = max(grid.step_s for grid in grids)
    kept = [grid for grid in grids if grid.step_s == step_s]
    names = [path.name.split(".")[0] for path, grid in zip(paths, grids, strict=True)
             if grid.step_s == step_s]  # fmt: skip
    points = max(grid.values.shape[1] for grid in kept)
    cpu = np.full((len(kept), points), np.nan)
    for row, grid in enumerate(kept):
        cpu[row, points - grid.values.shape[1] :] = grid.values[0] * factor
    end_s = max(grid.start_s + (grid.values.shape[1] - 1) * step_s for grid in kept)
    return _single(names, step_s, end_s, cpu, np.full_like(cpu, np.nan))


def read_alibaba(folder: Path) -> Usage:
    """Read ``alibaba_genai2026``: a day of pods by the minute, memory as a share."""
    path = folder / "alibaba_genai2026" / "pod_memory_util_anon.tar.gz"
    table = _unpack(path, "pod_memory_util_anon.csv").drop_nulls()
    return _place(
        path, table["container_ip"].to_list(), table["timestamp_anon"].to_numpy(),
        table["value"].to_numpy() * GPU_POD_BYTES, 60.0, memory=True,
    )  # fmt: skip


def read_opendc(folder: Path) -> Usage:
    """Read ``opendc_bitbrains_small``: a month of machines, CPU, given in MHz.

    A row of the table has a duration. Its value applies to the step in which it ends and to the
    steps before that have no row.
    """
    path = folder / "opendc_bitbrains_small" / "trace.parquet"
    if not path.is_file():
        raise errors.InputError(str(path), "no such file")
    table = pl.read_parquet(path)
    counts = np.clip(np.round(table["duration"].to_numpy() / 1e3 / STEP_S), 1, 288).astype(np.int64)
    owner = np.repeat(np.arange(len(table)), counts)
    back = np.concatenate([np.arange(count) for count in counts])
    times_s = table["timestamp"].dt.epoch("ms").to_numpy()[owner] / 1e3 - back * STEP_S
    ids = table["id"].to_numpy()[owner].tolist()
    mhz = table["cpu_usage"].to_numpy()[owner]
    return _place(path, ids, times_s, mhz / CORE_MHZ, STEP_S, memory=False)


def _place(
    path: Path, ids: list[str], times_s: Floats, values: Floats, step_s: float, *, memory: bool
) -> Usage:
    """Return rows of (series, time, value) on one grid; the maximum of each step."""
    if not len(values):
        raise errors.InputError(str(path), "has no rows")
    names = sorted(set(ids))
    places = {name: place for place, name in enumerate(names)}
    rows = np.array([places[one] for one in ids], dtype=np.int64)
    columns = np.floor((times_s - times_s.min()) / step_s).astype(np.int64)
    table = np.full((len(names), int(columns.max()) + 1), np.nan)
    np.fmax.at(table, (rows, columns), values)
    end_s = float(times_s.min()) + (table.shape[1] - 1) * step_s
    none = np.full_like(table, np.nan)
    return _single(names, step_s, end_s, none if memory else table, table if memory else none)


def _single(
    names: list[str] | tuple[str, ...], step_s: float, end_s: float, cpu: Floats, memory: Floats
) -> Usage:
    return arrange(names, np.arange(len(names), dtype=np.int64), step_s, end_s, cpu, memory)


def _load(path: Path) -> np.lib.npyio.NpzFile:
    if not path.is_file():
        raise errors.InputError(str(path), "no such file")
    archive: np.lib.npyio.NpzFile = np.load(path, allow_pickle=False)
    return archive


def _unpack(path: Path, member: str) -> pl.DataFrame:
    if not path.is_file():
        raise errors.InputError(str(path), "no such file")
    with tarfile.open(path) as archive:
        stream = archive.extractfile(member)
        if stream is None:
            raise errors.InputError(str(path), f"has no file {member}")
        return pl.read_csv(io.BytesIO(stream.read()))


READERS: Final[Mapping[str, Callable[[Path], Usage]]] = MappingProxyType(
    {
        "bitbrains_rnd": read_bitbrains,
        "google2011_vms": read_google,
        "planetlab_cpu": read_planetlab,
        "crane_dsp": read_crane,
        "nab_cloudwatch": read_nab,
        "alibaba_genai2026": read_alibaba,
        "opendc_bitbrains_small": read_opendc,
    }
)
"""Readers of the data sets, by folder."""
