"""Containers by the identity of their workload, and their IDs in the store."""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from kubestow.live.stores import engines, schema
from kubestow.live.stores.engines import Store
from kubestow.model.keys import ContainerKey

_TABLE = schema.containers_table
CONTAINER_COLUMNS = (_TABLE.c.namespace, _TABLE.c.kind, _TABLE.c.workload, _TABLE.c.container)


def read(store: Store) -> tuple[ContainerKey, ...]:
    """Return all known containers, sorted."""
    with store.reading() as connection:
        return tuple(
            sorted(ContainerKey(*row) for row in connection.execute(sa.select(*CONTAINER_COLUMNS)))
        )


def number(connection: sa.Connection, key: ContainerKey) -> int | None:
    """Return the ID of a container; ``None`` if it is not known."""
    return connection.scalar(sa.select(_TABLE.c.id).where(is_key(key)))


def container_numbers(
    connection: sa.Connection, keys: Iterable[ContainerKey]
) -> dict[ContainerKey, int]:
    """Return the IDs of containers; unknown ones are added."""
    numbers: dict[ContainerKey, int] = {}
    for key in sorted(set(keys)):  # always in the same order, to avoid deadlocks
        known = number(connection, key)
        numbers[key] = _add(connection, key) if known is None else known
    return numbers


def is_key(key: ContainerKey) -> sa.ColumnElement[bool]:
    """Return the condition for one container."""
    return sa.and_(*(col == part for col, part in zip(CONTAINER_COLUMNS, key, strict=True)))


def _add(connection: sa.Connection, key: ContainerKey) -> int:
    values = dict(zip((col.name for col in CONTAINER_COLUMNS), key, strict=True))
    connection.execute(engines.insert(connection, _TABLE).values(values).on_conflict_do_nothing())
    made = number(connection, key)
    if made is None:
        raise RuntimeError(f"{key}: cannot be read after it was added")
    return made
