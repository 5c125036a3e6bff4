"""Reads the newest recommendations: all of them now and then, in between only what is new."""

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
# Numbers are given before transactions end, so that a lower one may be seen later.
_OVERLAP: Final = 100


@dataclass(frozen=True, slots=True)
class LearnedRow:
    """A recommendation with its number in the store; its document is not decoded yet."""

    number: int
    key: ContainerKey
    time_s: float
    strategy: str
    content: Any

    @property
    def age_key(self) -> tuple[float, int]:
        """What tells the newer of two, as in ``recommendations.is_newest``."""
        return self.time_s, self.number


def everything(store: Store) -> Iterator[LearnedRow]:
    """Read the newest recommendation of each container."""
    return _read(store, _select().where(stores.is_newest()))


def since(store: Store, number: int) -> Iterator[LearnedRow]:
    """Read recommendations whose numbers are higher than one, and some before it."""
    return _read(store, _select().where(_TABLE.c.id > number - _OVERLAP))


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Reads a store that may not be there yet, as a book does."""

    store: DeferredStore

    def everything(self) -> Iterator[LearnedRow]:
        """Return the newest recommendation of each container."""
        return everything(self.store.open())

    def since(self, number: int) -> Iterator[LearnedRow]:
        """Return recommendations with higher numbers."""
        return since(self.store.open(), number)


def _select() -> sa.Select[tuple[Any, ...]]:
    joined = _TABLE.join(stores.containers_table)
    return sa.select(*_FACTS, _TABLE.c.content).select_from(joined)


def _read(store: Store, wanted: sa.Select[tuple[Any, ...]]) -> Iterator[LearnedRow]:
    with store.reading() as connection:
        for part in connection.execute(wanted).partitions(_PART):
            for number, *key, time_s, strategy, content in part:
                yield LearnedRow(number, ContainerKey(*key), time_s, strategy, content)
            time.sleep(0.0)  # threads that answer requests wait for the interpreter
