"""Observed usage on a time grid, the input of estimators.

A row is one container of one pod. Of several samples in one cell of the grid, the largest counts.
The past is bounded: cells older than the history are dropped, and of the removed pods of a
container only the last ones are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from kubestow.model.arrays import Floats, Ints
from kubestow.model.usage import Usage, arrange

EPOCH_S: Final = 19_676 * 86_400.0
"""Start of a run: midnight, because some recommenders count days since the Unix epoch."""

MOST_GONE: Final = 50
"""Number of removed pods kept per container; ``conformal`` uses 20 runs."""

_FIRST_ROWS, _FIRST_CELLS = 64, 256


@dataclass(slots=True, eq=False)
class ObservedSeries:
    """Usage of one container of one pod.

    Attributes:
        row: Its row in the arrays.
        owner: Number of the container of the workload.
        ended_s: When its pod was removed; ``None`` while it exists.
        whole: Whether it is a finished run.
    """

    row: int
    owner: int
    ended_s: float | None = None
    whole: bool = False


@dataclass(slots=True, eq=False)
class ObservedUsage:
    """Usage of many containers.

    Attributes:
        grid_s: Time step.
        history_s: Length of the history.
        series: All series, in the order of their start.
    """

    grid_s: float
    history_s: float
    series: list[ObservedSeries] = field(default_factory=list)
    _cpu: Floats = field(default_factory=lambda: np.full((_FIRST_ROWS, _FIRST_CELLS), np.nan))
    _memory: Floats = field(default_factory=lambda: np.full((_FIRST_ROWS, _FIRST_CELLS), np.nan))
    _free: list[int] = field(default_factory=lambda: list(range(_FIRST_ROWS - 1, -1, -1)))
    _first: int = 0  # the cell in the first column
    _last: int = -1  # the newest cell that was written

    @property
    def points(self) -> int:
        """Number of points in the history."""
        return max(round(self.history_s / self.grid_s), 1)

    def open(self, owner: int) -> ObservedSeries:
        """Start the series of a container."""
        if not self._free:
            count = len(self._cpu)
            more = np.full(self._cpu.shape, np.nan)
            self._cpu = np.concatenate([self._cpu, more])
            self._memory = np.concatenate([self._memory, more])
            self._free = list(range(2 * count - 1, count - 1, -1))
        series = ObservedSeries(self._free.pop(), owner)
        self.series.append(series)
        return series

    def close(self, series: ObservedSeries, now_s: float, *, whole: bool) -> None:
        """End the series of a removed pod; the oldest are forgotten."""
        series.ended_s, series.whole = now_s, whole
        gone = [one for one in self.series if one.owner == series.owner and one.ended_s is not None]
        if len(gone) > MOST_GONE:
            self._forget(gone[:-MOST_GONE])

    def drop(self, series: ObservedSeries) -> None:
        """Forget a series at once."""
        self._forget([series])

    def _forget(self, forgotten: Sequence[ObservedSeries]) -> None:
        rows = [one.row for one in forgotten]
        self._cpu[rows] = np.nan
        self._memory[rows] = np.nan
        self._free += rows
        left = {id(one) for one in forgotten}
        self.series = [one for one in self.series if id(one) not in left]

    def add(self, rows: Ints, time_s: float, cpu_cores: Floats, memory_bytes: Floats) -> None:
        """Add samples of one time."""
        cell = int((time_s + 1e-6) // self.grid_s)
        column = self._make_room(cell)
        self._last = max(self._last, cell)
        self._cpu[rows, column] = np.fmax(self._cpu[rows, column], cpu_cores)
        self._memory[rows, column] = np.fmax(self._memory[rows, column], memory_bytes)

    def _make_room(self, cell: int) -> int:
        width = self._cpu.shape[1]
        if cell - self._first < width:
            return cell - self._first
        if width < 2 * self.points:
            more = np.full((len(self._cpu), width), np.nan)
            self._cpu = np.concatenate([self._cpu, more], axis=1)
            self._memory = np.concatenate([self._memory, more], axis=1)
        else:
            shift = width - self.points
            for values in (self._cpu, self._memory):
                values[:, :-shift] = values[:, shift:].copy()
                values[:, -shift:] = np.nan
            self._first += shift
            oldest_s = self._first * self.grid_s
            self._forget([s for s in self.series if s.ended_s is not None and s.ended_s < oldest_s])
        return self._make_room(cell)

    def usage(
        self,
        names: Sequence[str],
        owners: Sequence[int],
        oom_killed_bytes: Floats,
        *,
        runs: bool,
        since_s: float = 0.0,
    ) -> Usage:
        """Return the usage of some containers.

        Args:
            names: Their names.
            owners: Their numbers.
            oom_killed_bytes: Limits at which they were OOM-killed.
            runs: Whether series are runs, of which only finished ones count.
            since_s: Start of the usage; of runs, only those that ended later.
        """
        places = {owner: place for place, owner in enumerate(owners)}
        kept = [one for one in self.series if one.owner in places]
        if runs:
            kept = [one for one in kept if one.whole and (one.ended_s or 0.0) > since_s]
        rows = np.array([one.row for one in kept], dtype=np.int64)
        begin = max(self._last + 1 - self.points, self._first)
        if not runs:
            begin = max(begin, int((since_s + 1e-6) // self.grid_s))
        cells = slice(begin - self._first, self._last + 1 - self._first)
        return arrange(
            names,
            np.array([places[one.owner] for one in kept], dtype=np.int64),
            self.grid_s,
            EPOCH_S + self._last * self.grid_s,
            self._cpu[rows, cells],
            self._memory[rows, cells],
            oom_killed_bytes,
            runs=runs,
        )
