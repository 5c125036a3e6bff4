"""Background load: processes that keep a share of a core busy, or hold memory and touch it.

They replace the ``stress-ng`` pod of Schubert 2023, 5.4. ``child_processes`` starts this module
once per core or once for the memory. A load ends when its standard input closes, so none outlives
the study. Loads set the highest OOM score, so the kernel kills them first; a memory load frees its
memory before that.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np

from kubestow.model.arrays import Bytes
from kubestow.policies.compiling import compiled
from kubestow.studies.schubert.limits import machine_state

PERIOD_S: Final = 0.05
"""Period of busy and idle; shorter than a task, longer than a time slice of the scheduler."""

CHUNK_BYTES: Final = 128 * 2**20
PAGE_BYTES: Final = 4096
_TOUCH_PAUSE_S: Final = 0.02
_KILLED_FIRST: Final = "1000"  # largest oom_score_adj

Stop = Callable[[], bool]


def spin(duty: float, period_s: float, stopped: Stop) -> None:
    """Be busy for a share of every period of wall-clock time, as stress-ng does."""
    turn_s = time.perf_counter()
    while not stopped():
        busy_until_s = turn_s + duty * period_s
        while time.perf_counter() < busy_until_s:
            continue
        turn_s = max(turn_s + period_s, time.perf_counter())
        if duty < 1.0:
            time.sleep(max(turn_s - time.perf_counter(), 0.0))


@compiled
def touch(chunk: Bytes, step: int) -> None:
    """Write one byte of every page."""
    for index in range(0, len(chunk), step):
        chunk[index] += 1


def allocate(size_bytes: int, floor_bytes: int, available: Callable[[], int]) -> list[Bytes]:
    """Allocate memory in chunks; stop when less than a floor would be left to others.

    Available memory is checked before every chunk.
    """
    chunks: list[Bytes] = []
    left = size_bytes
    while left > 0:
        size = min(left, CHUNK_BYTES)
        if available() - size < floor_bytes:
            break
        chunk = np.zeros(size, dtype=np.uint8)
        touch(chunk, PAGE_BYTES)
        chunks.append(chunk)
        left -= size
    return chunks


def keep(
    chunks: list[Bytes], floor_bytes: int, available: Callable[[], int], stopped: Stop
) -> bool:
    """Touch memory chunk by chunk; free all if others need it. Return whether it was kept."""
    position = 0
    while chunks and not stopped():
        if available() < floor_bytes // 2:
            chunks.clear()
            return False
        touch(chunks[position % len(chunks)], PAGE_BYTES)
        position += 1
        time.sleep(_TOUCH_PAUSE_S)
    return True


def hold(order: Mapping[str, Any], answers: TextIO, stopped: Stop) -> None:
    """Allocate memory, report how much, keep it; report again if it had to be freed."""
    floor = int(order["floor_bytes"])
    chunks = allocate(int(order["bytes"]), floor, machine_state.available_bytes)
    send(answers, {"held_bytes": sum(map(len, chunks))})
    if not keep(chunks, floor, machine_state.available_bytes, stopped):
        send(answers, {"held_bytes": 0})


def send(answers: TextIO, value: Mapping[str, Any]) -> None:
    """Write one line."""
    print(json.dumps(value), file=answers, flush=True)


def perform(orders: TextIO, answers: TextIO, stopped: Stop) -> None:
    """Carry out the order of this process until it is stopped."""
    order = json.loads(orders.readline())
    if order["load"] == "memory":
        hold(order, answers, stopped)
    else:
        send(answers, {"duty": order["duty"]})
        spin(float(order["duty"]), PERIOD_S, stopped)


def prefer_oom_kill(path: Path = Path("/proc/self/oom_score_adj")) -> None:
    """Make this process the first that the kernel kills when memory runs out."""
    if path.exists():
        path.write_text(_KILLED_FIRST, encoding="ascii")


def main() -> None:
    """Run as a child process; exit when standard input closes."""
    prefer_oom_kill()
    order = sys.stdin.readline()

    def exit_with_input() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=exit_with_input, daemon=True).start()
    perform(_one_line(order), sys.stdout, lambda: False)
    threading.Event().wait()  # a load that freed its memory stays until its input closes


def _one_line(text: str) -> TextIO:
    return io.StringIO(text)


if __name__ == "__main__":
    main()
