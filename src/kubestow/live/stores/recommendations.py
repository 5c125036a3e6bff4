"""Recommendations over time; the newest one of a container is what admission applies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from kubestow.live.stores import containers, documents, schema
from kubestow.live.stores.engines import Store
from kubestow.model.keys import ContainerKey

_TABLE = schema.recommendations_table


@dataclass(frozen=True, slots=True)
class StoredRecommendation:
    """A recommendation as the store keeps it.

    Attributes:
        time_s: When it was made, seconds since the epoch.
        strategy: Who made it.
        content: Plain values, as JSON has them.
    """

    time_s: float
    strategy: str
    content: Any


def insert(store: Store, container: ContainerKey, made: Iterable[StoredRecommendation]) -> None:
    """Keep recommendations for a container."""
    with store.writing() as connection:
        number = containers.container_numbers(connection, [container])[container]
        put_recommendations(connection, number, made)


def put_recommendations(
    connection: sa.Connection, container_id: int, made: Iterable[StoredRecommendation]
) -> None:
    """Keep recommendations inside a transaction."""
    for one in made:
        documents.check(f"recommendation of {one.strategy}", one.content)
        values = {"time_s": one.time_s, "strategy": one.strategy, "content": one.content}
        connection.execute(_TABLE.insert().values(container_id=container_id, **values))


def newest(
    store: Store, container: ContainerKey, limit: int = 1
) -> tuple[StoredRecommendation, ...]:
    """Return the recommendations for a container, newest first."""
    wanted = (
        sa.select(_TABLE.c.time_s, _TABLE.c.strategy, _TABLE.c.content)
        .select_from(_TABLE.join(schema.containers_table))
        .where(containers.is_key(container))
        .order_by(_TABLE.c.time_s.desc(), _TABLE.c.id.desc())
    )
    with store.reading() as connection:
        return tuple(StoredRecommendation(*row) for row in connection.execute(wanted.limit(limit)))


def newest_of_all(store: Store) -> dict[ContainerKey, StoredRecommendation]:
    """Return the newest recommendation for each container."""
    facts = (_TABLE.c.time_s, _TABLE.c.strategy, _TABLE.c.content)
    wanted = (
        sa.select(*containers.CONTAINER_COLUMNS, *facts)
        .select_from(_TABLE.join(schema.containers_table))
        .where(is_newest())
    )
    with store.reading() as connection:
        rows = connection.execute(wanted).all()
    return {ContainerKey(*row[:4]): StoredRecommendation(*row[4:]) for row in rows}


def is_newest() -> sa.ColumnElement[bool]:
    """Return the condition that a container has no newer recommendation."""
    other = _TABLE.alias("other")
    later = sa.or_(
        other.c.time_s > _TABLE.c.time_s,
        sa.and_(other.c.time_s == _TABLE.c.time_s, other.c.id > _TABLE.c.id),
    )
    return ~sa.exists().where(other.c.container_id == _TABLE.c.container_id, later)
