"""Containers in one array of records: demand, limits, usage and counters.

One row per running container, allocated when a pod starts on a node and freed at the end of the
step in which it is removed, so its last seconds still count. Three stopwatches per row (running,
starting up, receiving requests) turn changes at any time into seconds per step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def make(members: list[tuple[str, Any]]) -> np.dtype[Any]:
    """Return the type of a record.

    Rows are ``np.record``, so ``row.member`` works in Python and in compiled code.
    """
    return np.dtype((np.record, members))


NONE = -1
_FIRST_ROOM = 256

# Records: units are cores, bytes, seconds, bytes per second.
RecordArray = NDArray[Any]
Record = Any  # one row; type checkers do not know its members

CONTAINER = make(
    [
        ("used", np.bool_),  # the row belongs to a container
        ("lost", np.bool_),  # still receives requests although its node has failed
        ("killed", np.bool_),  # exceeded its memory limit in this step
        ("settled", np.bool_),  # has its share, while cores are divided
        ("finished", np.bool_),  # finished its work in this step
        ("node", np.int64),
        ("workload", np.int64),
        ("service", np.int64),  # row of the service it serves, or NONE
        ("stream", np.int64),  # key of its random numbers
        ("play", np.int64),  # row of its requests if they are simulated one by one, or NONE
        ("cpu_signal", np.int64),  # rows of the signals, or NONE
        ("memory_signal", np.int64),
        ("network_signal", np.int64),
        ("disk_signal", np.int64),
        ("cpu_weight", np.float64),
        ("cpu_limit", np.float64),
        ("parallel", np.float64),  # cores it can use at once
        ("memory_limit", np.float64),
        ("alone_s", np.float64),  # response time of a lone request, under the limit
        ("cache_target", np.float64),
        ("leak", np.float64),  # bytes per second
        ("startup_cpu", np.float64),
        ("startup_memory", np.float64),
        ("work_cores", np.float64),  # cores a job uses, 0 for others
        ("work_left", np.float64),  # core-seconds, infinite for others
        ("since_s", np.float64),  # when the container started
        ("running_from", np.float64),  # stopwatches: since when, infinite if stopped
        ("starting_from", np.float64),
        ("serving_from", np.float64),
        ("running_s", np.float64),  # seconds of this step
        ("starting_s", np.float64),
        ("serving_s", np.float64),
        ("in_system", np.float64),  # requests
        ("memory", np.float64),  # in use, without page cache
        ("cache", np.float64),
        ("cpu", np.float64),  # cores used, mean of the last step
        ("wanted", np.float64),  # cores demanded, mean of the last step
        ("own", np.float64),  # of these, without requests and work
        ("network", np.float64),
        ("disk", np.float64),
        ("cpu_noise", np.float64),
        ("memory_noise", np.float64),
        ("cpu_total", np.float64),  # core-seconds
        ("periods", np.float64),  # quota periods
        ("throttled", np.float64),  # periods in which the quota was exhausted
        ("throttling", np.float64),  # share of such periods in the last step
        ("peak_memory", np.float64),  # largest since it was last read
    ]
)

RUNNING, STARTING, SERVING = "running", "starting", "serving"

_BLANK = np.zeros(1, dtype=CONTAINER)[0]
for _name in ("node", "workload", "service", "cpu_signal", "memory_signal"):
    _BLANK[_name] = NONE
for _name in ("network_signal", "disk_signal", "play"):
    _BLANK[_name] = NONE
for _name in ("cpu_limit", "parallel", "memory_limit", "work_left", "since_s"):
    _BLANK[_name] = math.inf
for _name in (RUNNING, STARTING, SERVING):
    _BLANK[f"{_name}_from"] = math.inf
_BLANK["cpu_weight"] = 1.0


class ContainerTable:
    """The containers of a run."""

    def __init__(self) -> None:
        self.rows: RecordArray = np.full(_FIRST_ROOM, _BLANK, dtype=CONTAINER)
        self.top = 0  # rows from here on were never used
        self._free: list[int] = []
        self._leaving: list[int] = []

    def add(self, **values: float) -> int:
        """Allocate a row for a container and return its number."""
        if self._free:
            row = self._free.pop()
        else:
            row = self.top
            self.top += 1
            if row >= len(self.rows):
                self.rows = np.concatenate([self.rows, np.full(row, _BLANK, dtype=CONTAINER)])
        self.rows[row] = _BLANK
        record = self.rows[row]
        record["used"] = True
        for name, value in values.items():
            record[name] = value
        return row

    def leave(self, row: int) -> None:
        """Free a row at the end of the step."""
        self._leaving.append(row)

    def leaving(self) -> list[int]:
        """Return the rows to free at the end of the step."""
        return list(self._leaving)

    def clear_left(self) -> None:
        """Free the rows of removed containers; called at the end of a step."""
        if not self._leaving:
            return
        self.rows[self._leaving] = _BLANK
        # The lowest rows are reused first, so the used part stays short.
        self._free = sorted({*self._free, *self._leaving}, reverse=True)
        self._leaving.clear()

    def start(self, watch: str, row: int, now_s: float) -> None:
        """Start a stopwatch."""
        self.rows[f"{watch}_from"][row] = now_s

    def stop(self, watch: str, row: int, now_s: float, step_start_s: float) -> None:
        """Stop a stopwatch; no effect if it is stopped."""
        record = self.rows[row]
        begun = record[f"{watch}_from"]
        if begun <= now_s:
            record[f"{watch}_s"] += now_s - max(begun, step_start_s)
        record[f"{watch}_from"] = math.inf
