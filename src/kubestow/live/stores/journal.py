"""Decisions on their way to the store: a bounded queue that never blocks."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from kubestow.live.stores import faults
from kubestow.model.decisions import DecisionRecord

if TYPE_CHECKING:  # the store works without the optional dependencies of servers
    from kubestow.live import servers

MOST: Final = 10_000
_BATCH: Final = 250
_GATHER_S: Final = 1.0  # batches decisions into one transaction
_PAUSE_S: Final = 1.0  # after a failure, doubled with each further one
_LONGEST_PAUSE_S: Final = 30.0
_LOG = logging.getLogger(__name__)


class Journal:
    """Writes decisions in the background.

    Args:
        write: Stores some decisions; may be slow or fail. After a failure they are retried.
        metrics: Metrics to update.
        most: Capacity of the queue; further decisions are dropped and counted.
    """

    def __init__(
        self,
        write: Callable[[Sequence[DecisionRecord]], None],
        metrics: servers.Telemetry,
        most: int = MOST,
    ) -> None:
        self._write = write
        self._queue: queue.Queue[Callable[[], DecisionRecord]] = queue.Queue(most)
        self._held: list[DecisionRecord] = []
        self._ending = threading.Event()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None
        self._counts = metrics.counter("decisions", "Decisions by result.", ("result",))
        metrics.watch("decisions_waiting", "Decisions not yet in the store.", self._size)

    def put(self, decision: Callable[[], DecisionRecord]) -> None:
        """Queue a function that makes a decision record; dropped if the queue is full."""
        try:
            self._queue.put_nowait(decision)
        except queue.Full:
            self._counts.labels("dropped").inc()
        self._woken.set()

    def start(self) -> None:
        """Start writing in a thread."""
        self._thread = threading.Thread(target=self._keep, name="journal", daemon=True)
        self._thread.start()

    def stop(self, wait_s: float = 5.0) -> int:
        """Write pending decisions and stop; return the number of lost decisions."""
        until_s = time.monotonic() + wait_s
        self._ending.set()
        self._woken.set()
        if self._thread is not None:
            self._thread.join(max(until_s - time.monotonic(), 0.0))
        lost = int(self._size())
        if lost:
            self._counts.labels("lost").inc(lost)
            _LOG.warning("%d decisions were not written", lost)
        return lost

    def _size(self) -> float:
        return float(self._queue.qsize() + len(self._held))

    def _keep(self) -> None:
        pause_s = _PAUSE_S
        while True:
            ending, began_s = self._ending.is_set(), time.monotonic()
            self._fill()
            if self._held and not self._try():
                if ending:
                    return
                self._ending.wait(pause_s)
                pause_s = min(2.0 * pause_s, _LONGEST_PAUSE_S)
                continue
            pause_s = _PAUSE_S
            if self._queue.empty():
                if ending:
                    return
                self._woken.wait()
                self._ending.wait(_GATHER_S)
                self._woken.clear()
            else:  # under load, give request threads as much time as writing took
                self._ending.wait(time.monotonic() - began_s)

    def _fill(self) -> None:
        while len(self._held) < _BATCH:
            try:
                make = self._queue.get_nowait()
            except queue.Empty:
                return
            try:
                self._held.append(make())
            except Exception:  # noqa: BLE001 - nor one whose record cannot be made
                self._counts.labels("lost").inc()
                _LOG.exception("cannot make a decision record")

    def _try(self) -> bool:
        try:
            self._write(tuple(self._held))
        except faults.StoreUnavailableError as err:
            self._counts.labels("failed").inc(len(self._held))
            _LOG.warning("%d decisions are waiting for the store: %s", len(self._held), err)
            return False
        except Exception:  # noqa: BLE001 - one that cannot be written must not block the rest
            self._counts.labels("lost").inc(len(self._held))
            _LOG.exception("cannot write %d decisions", len(self._held))
            self._held = []
            return True
        self._counts.labels("written").inc(len(self._held))
        self._held = []
        return True
