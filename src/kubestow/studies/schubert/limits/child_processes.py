"""Child processes of the limit study, controlled by lines of JSON.

Children run in their own sessions, so that Ctrl-C reaches only the study, which then ends them.
They also exit when their standard input closes, in case the study is killed.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TextIO, cast

from kubestow.studies.schubert.limits import machine_state

TASKS: Final = "kubestow.studies.schubert.limits.timed_tasks"
LOADS: Final = "kubestow.studies.schubert.limits.background_load"
_PATIENCE_S: Final = 5.0


class ChildError(Exception):
    """A child process ended before it answered."""


@dataclass(frozen=True, slots=True, eq=False)
class Child:
    """A running child process."""

    process: subprocess.Popen[str]
    orders: TextIO
    answers: TextIO

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    def send(self, value: Mapping[str, Any]) -> None:
        """Send one line."""
        print(json.dumps(value), file=self.orders, flush=True)

    def receive(self) -> dict[str, Any]:
        """Wait for one line."""
        line = self.answers.readline()
        if not line:
            raise ChildError(f"a child process ended with code {self.process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def ask(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Send one line and wait for the answer."""
        self.send(value)
        return self.receive()

    def end(self) -> None:
        """Close its input, wait, and kill it if it does not exit."""
        for stream in (self.orders, self.answers):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        try:
            self.process.wait(_PATIENCE_S)
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise


@contextlib.contextmanager
def start(module: str) -> Iterator[Child]:
    """Start a module as a child process and end it in any case."""
    process = subprocess.Popen(  # noqa: S603 - our own module, no external input
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    # Both exist because of PIPE; the types do not know that.
    child = Child(process, cast("TextIO", process.stdin), cast("TextIO", process.stdout))
    try:
        yield child
    finally:
        child.end()


@contextlib.contextmanager
def start_server() -> Iterator[Child]:
    """Start the process under test and wait until it has compiled its loops."""
    with start(TASKS) as child:
        child.receive()
        yield child


@contextlib.contextmanager
def start_loads(
    orders: Sequence[Mapping[str, Any]],
) -> Iterator[list[tuple[Child, dict[str, Any]]]]:
    """Start one load per order and wait until all have reported."""
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(start(LOADS)) for _ in orders]
        for child, order in zip(children, orders, strict=True):
            child.send(order)
        yield [(child, child.receive()) for child in children]


@dataclass(frozen=True, slots=True)
class Meter:
    """CPU time of children and of the machine since the meter was started."""

    pids: tuple[int, ...]
    time_s: float
    seconds: float
    ticks: machine_state.Ticks

    def read(self, cores: int) -> tuple[float, float]:
        """Return the share of all cores used by the children, and the total busy share."""
        elapsed_s = max(time.perf_counter() - self.time_s, 1e-9)
        spent_s = _seconds(self.pids) - self.seconds
        busy = machine_state.busy_share(self.ticks, machine_state.read_ticks())
        return spent_s / (elapsed_s * cores), busy


def start_meter(pids: Sequence[int]) -> Meter:
    """Start a meter."""
    ids = tuple(pids)
    return Meter(ids, time.perf_counter(), _seconds(ids), machine_state.read_ticks())


def _seconds(pids: Sequence[int]) -> float:
    return sum(machine_state.process_seconds(pid) for pid in pids)
