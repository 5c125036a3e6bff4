"""Groups of series for the forecast study: synthetic ones in the schema of the trace, and real.

The thesis used six groups of 10 000 rows of ``container_usage``; the files are too large to ship,
and the rows are not specified. *Synthetic* groups ("made up" in results) have its schema, a daily
cycle, autocorrelated noise, bursts, and samples marked invalid; they are drawn from a seed. *Real*
groups are six production series of one-minute samples (crane_dsp), 10 000 rows each.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from kubestow.model import time_series
from kubestow.model.arrays import Floats
from kubestow.sources import traces

GROUPS: Final = 6
ROWS: Final = 10_000
STEP_S: Final = 10.0

SYNTHETIC, REAL = "made up", "real"


@dataclass(frozen=True, slots=True, eq=False)
class UsageGroup:
    """One group.

    Attributes:
        kind: Synthetic or real.
        name: Its name.
        grid: Its series.
    """

    kind: str
    name: str
    grid: time_series.TimeGrid


def synthesize(seed: int, number: int, rows: int = ROWS) -> pl.DataFrame:
    """Return synthetic rows of one container in the schema of the trace."""
    rng = np.random.default_rng((seed, number))
    times_s: Floats = np.arange(rows, dtype=np.float64) * STEP_S
    cpu = _synthesize_usage(
        rng, times_s, level=rng.uniform(20, 45), swing=rng.uniform(5, 15), noise=1.5
    )
    memory = _synthesize_usage(
        rng, times_s, level=rng.uniform(50, 75), swing=rng.uniform(1, 4), noise=0.4
    )
    lost = rng.random((2, rows)) < 0.003
    return pl.DataFrame(
        {
            "container_id": [f"c_{number}"] * rows,
            "machine_id": [f"m_{number}"] * rows,
            "time_stamp": times_s.astype(np.int64),
            "cpu_util_percent": np.where(lost[0], 101.0, cpu.round(2)),
            "mem_util_percent": np.where(lost[1], -1.0, memory.round(2)),
            **{name: np.zeros(rows) for name in traces.ALIBABA_COLUMNS[5:]},
        }
    )


def _synthesize_usage(
    rng: np.random.Generator,
    times_s: Floats,
    level: float,
    swing: float,
    noise: float,
) -> Floats:
    """Return a daily cycle with autocorrelated noise and bursts, partly non-linear."""
    count = len(times_s)
    shape = level + swing * np.sin(2 * np.pi * (times_s / 86400.0 + rng.random()))
    values = np.empty(count)
    rest, burst = 0.0, 0.0
    shocks, draws = rng.normal(0.0, noise, count), rng.random(count)
    for k in range(count):
        # Above a threshold the noise decays faster, which a linear model cannot represent.
        pull = 0.95 if rest < 2.0 * noise else 0.55
        rest = pull * rest + shocks[k]
        burst = 0.9 * burst + (swing if draws[k] < 0.002 else 0.0)
        values[k] = shape[k] + rest + burst
    clipped: Floats = np.clip(values, 0.0, 100.0)
    return clipped


def synthetic_groups(seed: int, count: int = GROUPS, rows: int = ROWS) -> list[UsageGroup]:
    """Return the synthetic groups, cleaned like the real trace."""
    groups = []
    for number in range(count):
        grids = traces.clean_alibaba_usage(
            synthesize(seed, number, rows), f"made up {number}", STEP_S
        )
        groups.append(UsageGroup(SYNTHETIC, f"group {number + 1}", grids[f"c_{number}"]))
    return groups


def real_groups(data: Path, count: int = GROUPS, rows: int = ROWS) -> list[UsageGroup]:
    """Return the real groups; none if the data is missing."""
    groups = []
    for path in sorted((data / "crane_dsp").glob("*.csv.gz"))[:count]:
        grid = traces.read_table(path, "ts", ("value",))
        cut = time_series.TimeGrid(grid.names, grid.start_s, grid.step_s, grid.values[:, :rows])
        groups.append(UsageGroup(REAL, path.name.removesuffix(".csv.gz"), cut))
    return groups
