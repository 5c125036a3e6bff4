"""Programs started by tests: with a log, ended by their process id."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from pathlib import Path

_END_S = 20.0
_POLL_S = 0.05
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl.h
# A child gets the signal when the thread that started it ends, so this thread has to stay alive.
_starter = futures.ThreadPoolExecutor(1, "starter")
_SHOWN = 3000  # characters of a log that an error quotes


class Process:
    """A program that runs until it is stopped."""

    def __init__(self, name: str, command: Sequence[str], log: Path) -> None:
        self.name, self.command, self.log = name, tuple(command), log
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its process id while it runs."""
        if self._running is None:
            raise RuntimeError(f"{self.name} is not running")
        return self._running.pid

    @property
    def runs(self) -> bool:
        """Whether it is running."""
        return self._running is not None and self._running.poll() is None

    def start(self) -> None:
        """Start it; its output is appended to the log."""
        self._running = _starter.submit(self._spawn).result()

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as messages:
            return subprocess.Popen(  # noqa: S603 - our own command
                self.command,
                stdout=messages,
                stderr=messages,
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the tests, which then stop it
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - one system call, no locks
            )

    def wait_until(self, ready: Callable[[], bool], seconds: float) -> None:
        """Wait until it is ready.

        Raises:
            RuntimeError: If it ends or is not ready in time; with the end of its log.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.runs:
            if ready():
                return
            time.sleep(_POLL_S)
        state = "is not ready" if self.runs else "has ended"
        text = self.log.read_text(encoding="utf-8", errors="replace")[-_SHOWN:]
        raise RuntimeError(f"{self.name} {state} after {seconds:g} s; its log ends with:\n{text}")

    def stop(self) -> None:
        """Terminate it and wait."""
        if self._running is not None:
            self._running.send_signal(signal.SIGTERM)
            try:
                self._running.wait(_END_S)
            except subprocess.TimeoutExpired:
                self.kill()
        self._running = None

    def kill(self) -> None:
        """Kill it and wait."""
        if self._running is not None:
            self._running.kill()
            self._running.wait()
        self._running = None


def _die_with_parent() -> None:
    # Killed tests leave no processes behind.
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
