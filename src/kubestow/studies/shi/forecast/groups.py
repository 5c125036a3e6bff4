"""Groups of series for the forecast study: made up in the trace's schema, and real ones.

The thesis took six groups of 10 000 rows of ``container_usage``, whose files are too large to ship
and are not said. *Made-up* groups have its schema, day shape, noise with memory, bursts that come
and go, and samples marked invalid; they are drawn from a seed and say what they are. *Real* groups
are six production series of one-minute samples (crane_dsp), 10 000 rows each.
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

MADE_UP, REAL = "made up", "real"


@dataclass(frozen=True, slots=True, eq=False)
class UsageGroup:
    """One group.

    Attributes:
        kind: Made up, or real.
        name: Which one.
        grid: Its series.
    """

    kind: str
    name: str
    grid: time_series.TimeGrid


def make_up(seed: int, number: int, rows: int = ROWS) -> pl.DataFrame:
    """Return one container's rows in the trace's schema."""
    rng = np.random.default_rng((seed, number))
    times_s: Floats = np.arange(rows, dtype=np.float64) * STEP_S
    cpu = _course(rng, times_s, level=rng.uniform(20, 45), swing=rng.uniform(5, 15), noise=1.5)
    memory = _course(rng, times_s, level=rng.uniform(50, 75), swing=rng.uniform(1, 4), noise=0.4)
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


def _course(
    rng: np.random.Generator,
    times_s: Floats,
    level: float,
    swing: float,
    noise: float,
) -> Floats:
    """Return a day shape, noise with memory, and bursts with a threshold: partly non-linear."""
    count = len(times_s)
    shape = level + swing * np.sin(2 * np.pi * (times_s / 86400.0 + rng.random()))
    values = np.empty(count)
    rest, burst = 0.0, 0.0
    shocks, draws = rng.normal(0.0, noise, count), rng.random(count)
    for k in range(count):
        # Above its threshold the rest falls back faster: what a linear model cannot have.
        pull = 0.95 if rest < 2.0 * noise else 0.55
        rest = pull * rest + shocks[k]
        burst = 0.9 * burst + (swing if draws[k] < 0.002 else 0.0)
        values[k] = shape[k] + rest + burst
    clipped: Floats = np.clip(values, 0.0, 100.0)
    return clipped


def made_up_groups(seed: int, count: int = GROUPS, rows: int = ROWS) -> list[UsageGroup]:
    """Return the made-up groups, cleaned as the real trace would be."""
    found = []
    for number in range(count):
        grids = traces.clean_alibaba_usage(make_up(seed, number, rows), f"made up {number}", STEP_S)
        found.append(UsageGroup(MADE_UP, f"group {number + 1}", grids[f"c_{number}"]))
    return found


def real_groups(data: Path, count: int = GROUPS, rows: int = ROWS) -> list[UsageGroup]:
    """Return real groups; none where the data is not there."""
    found = []
    for path in sorted((data / "crane_dsp").glob("*.csv.gz"))[:count]:
        grid = traces.read_table(path, "ts", ("value",))
        cut = time_series.TimeGrid(grid.names, grid.start_s, grid.step_s, grid.values[:, :rows])
        found.append(UsageGroup(REAL, path.name.removesuffix(".csv.gz"), cut))
    return found
