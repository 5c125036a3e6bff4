"""A store for servers that have to start without it: opened when it is there, tried until it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from kubestow.live.stores import decisions, engines, faults
from kubestow.model.decisions import DecisionRecord

_CLOSE_S = 1.0


class DeferredStore:
    """A store that is opened when it is first needed, and tried again until that works.

    Args:
        url: Where it is.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._store: engines.Store | None = None

    def open(self) -> engines.Store:
        """Return the store.

        Raises:
            InputError: If the address or the database is of no use.
            StoreUnavailableError: If it does not answer.
        """
        with self._lock:
            if self._store is None:
                self._store = engines.open_store(self._url)
            return self._store

    def close(self) -> None:
        """Close it, unless someone hangs in opening it."""
        if not self._lock.acquire(timeout=_CLOSE_S):
            return
        try:
            if self._store is not None:
                self._store.close()
        finally:
            self._lock.release()

    def write(self, records: Sequence[DecisionRecord]) -> None:
        """Keep decisions."""
        decisions.insert(self.open(), records, time.time())


def try_opening(store: DeferredStore, warn: Callable[[str], None]) -> None:
    """Open a store now if that is possible; one that does not answer is waited for.

    Raises:
        InputError: If the address or the database is of no use.
    """
    try:
        store.open()
    except faults.StoreUnavailableError as err:
        warn(f"the store does not answer yet: {err}")
