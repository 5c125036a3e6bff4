"""Reads the newest recommendations from the store: all of them, or only new ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from kubestow.live import stores
from kubestow.live.stores import DeferredStore, Store
from kubestow.model.keys import ContainerKey

_TABLE = stores.recommendations_table
_FACTS: Final = (_TABLE.c.id, *stores.CONTAINER_COLUMNS, _TABLE.c.time_s, _TABLE.c.strategy)
_PART: Final = 100
# IDs are assigned before transactions commit, so a lower one may become visible later.
_OVERLAP: Final = 100


@dataclass(frozen=True, slots=True)
class LearnedRow:
    """A recommendation with its row ID in the store; its document is not decoded yet."""

    number: int
    key: ContainerKey
    time_s: float
    strategy: str
    content: Any

    @property
    def age_key(self) -> tuple[float, int]:
        """Sort key by age, newest last, as in ``recommendations.is_newest``."""
        return self.time_s, self.number


def everything(store: Store) -> Iterator[LearnedRow]:
    """Read the newest recommendation of each container."""
    return _read(store, _select().where(stores.is_newest()))


def since(store: Store, number: int) -> Iterator[LearnedRow]:
    """Read recommendations with higher IDs than ``number``, and a few before it."""
    return _read(store, _select().where(_TABLE.c.id > number - _OVERLAP))


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Reads a store that may not be available yet; a ``LearnedReader``."""

    store: DeferredStore

    def everything(self) -> Iterator[LearnedRow]:
        """Return the newest recommendation of each container."""
        return everything(self.store.open())

    def since(self, number: int) -> Iterator[LearnedRow]:
        """Return recommendations with higher IDs."""
        return since(self.store.open(), number)


def _select() -> sa.Select[tuple[Any, ...]]:
    joined = _TABLE.join(stores.containers_table)
    return sa.select(*_FACTS, _TABLE.c.content).select_from(joined)


def _read(store: Store, statement: sa.Select[tuple[Any, ...]]) -> Iterator[LearnedRow]:
    with store.reading() as connection:
        for part in connection.execute(statement).partitions(_PART):
            for number, *key, time_s, strategy, content in part:
                yield LearnedRow(number, ContainerKey(*key), time_s, strategy, content)
            time.sleep(0.0)  # lets threads that serve requests have the interpreter
