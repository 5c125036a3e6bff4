"""Reads the newest recommendations: all of them now and then, in between only what is new."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from kubestow.live.late_stores import LateStore
from kubestow.live.stores import containers, recommendations, schemas
from kubestow.live.stores.containers import ContainerKey
from kubestow.live.stores.engines import Store
from kubestow.live.stores.recommendations import Recommendation

_TABLE = schemas.recommendations
_FACTS: Final = (_TABLE.c.id, *containers.COLUMNS, _TABLE.c.time_s, _TABLE.c.strategy)
_PART: Final = 100
# Numbers are given before transactions end, so that a lower one may be seen later.
_OVERLAP: Final = 100


@dataclass(frozen=True, slots=True)
class Row:
    """A recommendation with its number in the store."""

    number: int
    key: ContainerKey
    value: Recommendation

    @property
    def age_key(self) -> tuple[float, int]:
        """What tells the newer of two, as in ``recommendations.is_newest``."""
        return self.value.time_s, self.number


def everything(store: Store) -> Iterator[Row]:
    """Read the newest recommendation of each container."""
    return _read(store, _select().where(recommendations.is_newest()))


def since(store: Store, number: int) -> Iterator[Row]:
    """Read recommendations whose numbers are higher than one, and some before it."""
    return _read(store, _select().where(_TABLE.c.id > number - _OVERLAP))


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Reads a store that may not be there yet, as a book does."""

    store: LateStore

    def everything(self) -> Iterator[Row]:
        """Return the newest recommendation of each container."""
        return everything(self.store.open())

    def since(self, number: int) -> Iterator[Row]:
        """Return recommendations with higher numbers."""
        return since(self.store.open(), number)


def _select() -> sa.Select[tuple[Any, ...]]:
    joined = _TABLE.join(schemas.containers)
    return sa.select(*_FACTS, _TABLE.c.content).select_from(joined)


def _read(store: Store, wanted: sa.Select[tuple[Any, ...]]) -> Iterator[Row]:
    with store.reading() as connection:
        for part in connection.execute(wanted).partitions(_PART):
            for number, *key, time_s, strategy, content in part:
                yield Row(number, ContainerKey(*key), Recommendation(time_s, strategy, content))
            time.sleep(0.0)  # threads that answer requests wait for the interpreter
