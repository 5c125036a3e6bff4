"""Cache of learned values, read from the store in the background.

No admission waits for the database: if that is slow or down, the cache only becomes stale.
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
WHOLE_S: Final = 300.0  # full read; in between, only new rows are read
_LOG = logging.getLogger(__name__)


class LearnedReader(Protocol):
    """Reads recommendations; may be slow or fail."""

    def everything(self) -> Iterable[LearnedRow]:
        """Return the newest recommendation of each container."""

    def since(self, number: int) -> Iterable[LearnedRow]:
        """Return those with higher IDs; may include a few others."""


@dataclass(frozen=True, slots=True)
class LearnedTable:
    """Learned values at one time.

    Attributes:
        values: Recommendations by container.
        read_s: Start of the read, on the cache's monotonic clock.
    """

    values: Mapping[ContainerKey, StoredRecommendation]
    read_s: float


class LearnedCache:
    """Caches the newest table of learned values.

    Args:
        reader: Reads the store.
        metrics: Metrics to update.
        every_s: Pause between two reads, seconds.
        clock: Monotonic clock, seconds.
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
        self._reads = metrics.counter(
            "table_reads", "Reads of learned values by result.", ("result",)
        )
        self._bad = metrics.counter("table_bad_values", "Malformed learned values.")
        metrics.watch("table_age_seconds", "Age of the learned values.", lambda: self.age_s)
        metrics.watch("table_containers", "Containers with learned values.", self._size)

    @property
    def table(self) -> LearnedTable | None:
        """The newest table; ``None`` before the first read."""
        return self._table

    @property
    def age_s(self) -> float:
        """Age of the table, seconds; infinite before the first read."""
        table = self._table
        return math.inf if table is None else self._clock() - table.read_s

    def refresh(self) -> bool:
        """Read new values in this thread; return whether that succeeded."""
        began_s = self._clock()
        try:
            changed = self._read(began_s)
        except (stores.StoreUnavailableError, errors.InputError) as err:
            self._reads.labels("failed").inc()
            _LOG.warning(
                "cannot read learned values; the cached ones are %.0f s old: %s", self.age_s, err
            )
            return False
        except Exception:  # noqa: BLE001 - if this thread ended, the table would stay stale
            self._reads.labels("failed").inc()
            _LOG.exception("cannot read learned values")
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
        """Start reading in a thread."""
        self._thread = threading.Thread(target=self._keep, name="learned-values", daemon=True)
        self._thread.start()

    def stop(self, wait_s: float = 1.0) -> None:
        """Stop the thread without waiting for a hanging database call."""
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
        """Read all or only new rows; return whether anything changed."""
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
        incoming: Iterable[LearnedRow],
        rows: dict[ContainerKey, tuple[LearnedRow, StoredRecommendation | None]],
    ) -> bool:
        """Put newer rows into a table; known rows are not decoded again."""
        changed = False
        for row in incoming:
            present = rows.get(row.key)
            if present is not None and present[0].age_key >= row.age_key:
                continue
            known = self._rows.get(row.key)
            same = known is not None and known[0] == row
            rows[row.key] = known if known is not None and same else (row, self._decode(row))
            changed = True
        return changed

    def _decode(self, row: LearnedRow) -> StoredRecommendation | None:
        """Decode a value; ``None`` if it is malformed or has no requests."""
        try:
            value = stores.decode_recommendation(row.key, row.time_s, row.strategy, row.content)
        except errors.InputError as err:
            self._bad.inc()
            _LOG.warning("%s", err)
            return None
        return value if value.requests else None  # nothing to set
