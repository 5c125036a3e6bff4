"""A store for servers that may start before it is available, with periodic removal of old rows.

Servers keep adding decisions. Each writer also removes rows past their retention once an hour;
several replicas may do so at once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from kubestow.live.stores import decisions, engines, faults, retentions
from kubestow.model.decisions import DecisionRecord

_CLOSE_S = 1.0
SWEEP_EVERY_S = 3600.0
_LOG = logging.getLogger(__name__)


class DeferredStore:
    """A store that is opened on first use, and retried until that succeeds.

    Args:
        url: URL of the database.
        retention: How long each table keeps its rows.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        url: str,
        retention: retentions.Retention | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._url, self._clock = url, clock
        self._retention = retention or retentions.Retention()
        self._swept_s = -SWEEP_EVERY_S
        self._lock = threading.Lock()
        self._store: engines.Store | None = None

    def open(self) -> engines.Store:
        """Return the store.

        Raises:
            InputError: If the URL is invalid or the database cannot be used.
            StoreUnavailableError: If the database is not available.
        """
        with self._lock:
            if self._store is None:
                self._store = engines.open_store(self._url)
            return self._store

    def close(self) -> None:
        """Close it, unless a thread hangs in opening it."""
        if not self._lock.acquire(timeout=_CLOSE_S):
            return
        try:
            if self._store is not None:
                self._store.close()
        finally:
            self._lock.release()

    def write(self, records: Sequence[DecisionRecord]) -> None:
        """Store decisions; once an hour, also remove rows past their retention."""
        store, now_s = self.open(), self._clock()
        decisions.insert(store, records, now_s)
        if now_s - self._swept_s >= SWEEP_EVERY_S:
            self._swept_s = now_s
            self._sweep(store, now_s)

    def _sweep(self, store: engines.Store, now_s: float) -> None:
        """Remove old rows; only logs errors, because the decisions have been written."""
        try:
            removed = retentions.sweep(store, now_s, self._retention)
        except faults.StoreUnavailableError as err:
            _LOG.warning("cannot remove old rows from the store: %s", err)
            return
        _LOG.debug("removed from the store: %s", removed)


def try_opening(store: DeferredStore, warn: Callable[[str], None]) -> None:
    """Open a store now if it is available; otherwise warn.

    Raises:
        InputError: If the URL is invalid or the database cannot be used.
    """
    try:
        store.open()
    except faults.StoreUnavailableError as err:
        warn(f"the store is not available yet: {err}")
