"""Learned values in memory, read from the store in the background.

No admission ever waits for the database: one that is slow or down only lets the table grow old.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from kubestow.live import servers, stores
from kubestow.live.admission.learned_reader import LearnedRow
from kubestow.live.stores import StoredRecommendation
from kubestow.model import errors
from kubestow.model.keys import ContainerKey

EVERY_S: Final = 5.0
WHOLE_S: Final = 300.0  # the rest of the time only what is new is read
_LOG = logging.getLogger(__name__)


class LearnedReader(Protocol):
    """Reads recommendations; may take its time, or fail."""

    def everything(self) -> Iterable[LearnedRow]:
        """Return the newest one of each container."""

    def since(self, number: int) -> Iterable[LearnedRow]:
        """Return those with higher numbers; some others may be among them."""


@dataclass(frozen=True, slots=True)
class LearnedTable:
    """What was read.

    Attributes:
        values: What was learned, by container.
        read_s: When reading began, on the clock of the book.
    """

    values: Mapping[ContainerKey, StoredRecommendation]
    read_s: float


class LearnedCache:
    """Keeps the newest table.

    Args:
        reader: Reads the store.
        metrics: Where to count.
        every_s: Pause between two readings.
        clock: A clock that only goes forward.
    """

    def __init__(
        self,
        reader: LearnedReader,
        metrics: servers.Telemetry,
        every_s: float = EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._reader, self._every_s, self._clock = reader, every_s, clock
        self._table: LearnedTable | None = None
        self._rows: dict[ContainerKey, tuple[LearnedRow, StoredRecommendation | None]] = {}
        self._whole_s = -math.inf
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._reads = metrics.counter("table_reads", "Readings of learned values.", ("result",))
        self._bad = metrics.counter("table_bad_values", "Values that were not understood.")
        metrics.watch("table_age_seconds", "Age of the learned values.", lambda: self.age_s)
        metrics.watch("table_containers", "Containers with learned values.", self._size)

    @property
    def table(self) -> LearnedTable | None:
        """The newest table; ``None`` before the first."""
        return self._table

    @property
    def age_s(self) -> float:
        """How old the table is; without end before the first."""
        table = self._table
        return math.inf if table is None else self._clock() - table.read_s

    def refresh(self) -> bool:
        """Read what is new, in this thread; tell whether that worked."""
        began_s = self._clock()
        try:
            changed = self._read(began_s)
        except (stores.StoreUnavailableError, errors.InputError) as err:
            self._reads.labels("failed").inc()
            _LOG.warning("learned values were not read, they are %.0f s old: %s", self.age_s, err)
            return False
        except Exception:  # noqa: BLE001 - without this thread the table would grow old for good
            self._reads.labels("failed").inc()
            _LOG.exception("learned values were not read")
            return False
        table = self._table
        if changed or table is None:
            values = {key: value for key, (_, value) in self._rows.items() if value is not None}
            self._table = LearnedTable(values, began_s)
        else:
            self._table = LearnedTable(table.values, began_s)
        self._reads.labels("ok").inc()
        return True

    def start(self) -> None:
        """Begin to read in a thread of its own."""
        self._thread = threading.Thread(target=self._keep, name="book", daemon=True)
        self._thread.start()

    def stop(self, wait_s: float = 1.0) -> None:
        """End the thread; one that hangs in the database is left behind."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(wait_s)

    def _keep(self) -> None:
        while not self._ending.is_set():
            self.refresh()
            self._ending.wait(self._every_s)

    def _size(self) -> float:
        return 0.0 if self._table is None else float(len(self._table.values))

    def _read(self, now_s: float) -> bool:
        """Read all or what is new; tell whether anything changed."""
        if now_s - self._whole_s < WHOLE_S:
            highest = max((row.number for row, _ in self._rows.values()), default=0)
            return self._take(self._reader.since(highest), self._rows)
        rows: dict[ContainerKey, tuple[LearnedRow, StoredRecommendation | None]] = {}
        self._take(self._reader.everything(), rows)
        self._rows, self._whole_s = rows, now_s
        servers.settle_memory()
        return True

    def _take(
        self,
        found: Iterable[LearnedRow],
        rows: dict[ContainerKey, tuple[LearnedRow, StoredRecommendation | None]],
    ) -> bool:
        """Put newer rows into a table; one that is known is not read again."""
        changed = False
        for row in found:
            present = rows.get(row.key)
            if present is not None and present[0].age_key >= row.age_key:
                continue
            known = self._rows.get(row.key)
            same = known is not None and known[0] == row
            rows[row.key] = known if known is not None and same else (row, self._one(row))
            changed = True
        return changed

    def _one(self, row: LearnedRow) -> StoredRecommendation | None:
        """Read a value; one that is not understood takes no other one with it."""
        try:
            found = stores.decode_recommendation(row.key, row.time_s, row.strategy, row.content)
        except errors.InputError as err:
            self._bad.inc()
            _LOG.warning("%s", err)
            return None
        return found if found.requests else None  # what says nothing changes nothing
