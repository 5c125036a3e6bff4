"""Programs run as children: what they print, and what they need."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_NOTHING: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class ChildRun:
    """A program that has ended well.

    Attributes:
        seconds: Wall time.
        processor_seconds: CPU time, user and system.
        peak_bytes: Largest resident set.
        output: Standard output.
        messages: Standard error.
    """

    seconds: float
    processor_seconds: float
    peak_bytes: int
    output: bytes
    messages: str


def run_child(command: Sequence[str], environment: Mapping[str, str] = _NOTHING) -> ChildRun:
    """Run a program to its end.

    Args:
        command: The program and its arguments.
        environment: Variables beside those of this process.

    Raises:
        RuntimeError: If it fails, with its messages.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begun = time.perf_counter()
        child = subprocess.Popen(  # noqa: S603 - a program of the benchmark
            command, stdout=out, stderr=err, env={**os.environ, **environment}
        )
        _, status, used = os.wait4(child.pid, 0)
        took_s = time.perf_counter() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        messages = err.read().decode()
        if child.returncode:
            raise RuntimeError(f"{' '.join(command[:3])}: {messages}")
        processor_s = used.ru_utime + used.ru_stime
        return ChildRun(took_s, processor_s, 1024 * used.ru_maxrss, out.read(), messages)
