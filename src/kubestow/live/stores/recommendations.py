"""Recommendations over time; admission applies the newest one of a container."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import sqlalchemy as sa

from kubestow.live.stores import containers, documents, schema
from kubestow.live.stores.engines import Store
from kubestow.model import decoding, quantities, resources
from kubestow.model.keys import ContainerKey

_TABLE = schema.recommendations_table


VERSION: Final = 1
_RESOURCES: Final = (resources.CPU, resources.MEMORY)


@dataclass(frozen=True, slots=True)
class StoredRecommendation:
    """A recommendation in the store.

    Attributes:
        time_s: When it was made, seconds since the epoch.
        strategy: Name of the recommender.
        requests: Requests for CPU, memory or both; quantities keep their notation.
        limits: Limits, likewise.
        why: The reasons in one line.
        version: Version of the document.
        evidence: Number of whole windows of usage behind it; ``None`` if that is not known, which
            is never enough to act on.
        samples: Number of samples behind it; ``None`` if that is not known.
    """

    time_s: float
    strategy: str
    requests: resources.ResourceList
    limits: resources.ResourceList = field(default_factory=dict)
    why: str = ""
    version: int = VERSION
    evidence: int | None = None
    samples: int | None = None


def encode(made: StoredRecommendation) -> dict[str, Any]:
    """Return the document for the store."""
    document = {
        "version": made.version,
        "requests": {name: str(amount) for name, amount in made.requests.items()},
        "limits": {name: str(amount) for name, amount in made.limits.items()},
        "why": made.why,
    }
    known = {"windows": made.evidence, "samples": made.samples}
    stated = {name: count for name, count in known.items() if count is not None}
    return {**document, "evidence": stated} if stated else document


def decode(
    key: ContainerKey, time_s: float, strategy: str, content: object
) -> StoredRecommendation:
    """Decode a document of the store.

    Args:
        key: The container, for messages.
        time_s: When the recommendation was made, seconds since the epoch.
        strategy: Name of the recommender.
        content: The document.

    Raises:
        InputError: If its version is not known, an amount is not a quantity above 0, or its
            evidence is not a number of windows and samples.
    """
    document = upgrade(decoding.Field(content, f"recommendation for {key}"))
    if document["version"].integer() != VERSION:
        raise document["version"].refuse(f"expected version {VERSION}")
    return StoredRecommendation(
        time_s,
        strategy,
        requests=_amounts(document["requests"]),
        limits=_amounts(document["limits"]),
        why=document["why"].text(""),
        evidence=_count(document["evidence"]["windows"]),
        samples=_count(document["evidence"]["samples"]),
    )


def _count(stated: decoding.Field) -> int | None:
    if stated.missing:
        return None
    count = stated.integer()
    if count < 0:
        raise stated.refuse("must not be negative")
    return count


def upgrade(document: decoding.Field) -> decoding.Field:
    """Return a document of the current version; before version 1, documents had only requests.

    Raises:
        InputError: If a document without a version has no requests.
    """
    if not document["version"].missing:
        return document
    if document["requests"].missing:
        raise document["requests"].refuse("expected a version, or requests as before version 1")
    return decoding.Field({**document.mapping(), "version": 1}, document.place, document.path)


def _amounts(stated: decoding.Field) -> dict[str, quantities.Quantity]:
    """Return CPU and memory of a list; other resources are not recommended."""
    amounts = {name: stated[name].quantity() for name in _RESOURCES if not stated[name].missing}
    for name, amount in amounts.items():
        if not amount.nano:
            raise stated[name].refuse("must be > 0")
    return amounts


def insert(store: Store, container: ContainerKey, made: Iterable[StoredRecommendation]) -> None:
    """Store recommendations for a container."""
    with store.writing() as connection:
        number = containers.container_numbers(connection, [container])[container]
        put_recommendations(connection, number, made)


def put_recommendations(
    connection: sa.Connection, container_id: int, made: Iterable[StoredRecommendation]
) -> None:
    """Store recommendations inside a transaction."""
    for recommendation in made:
        content = encode(recommendation)
        documents.check(f"recommendation of {recommendation.strategy}", content)
        values = {
            "time_s": recommendation.time_s,
            "strategy": recommendation.strategy,
            "content": content,
        }
        connection.execute(_TABLE.insert().values(container_id=container_id, **values))


def newest(
    store: Store, container: ContainerKey, limit: int = 1
) -> tuple[StoredRecommendation, ...]:
    """Return the recommendations for a container, newest first.

    Raises:
        InputError: If one of them is malformed.
    """
    query = (
        sa.select(_TABLE.c.time_s, _TABLE.c.strategy, _TABLE.c.content)
        .select_from(_TABLE.join(schema.containers_table))
        .where(containers.is_key(container))
        .order_by(_TABLE.c.time_s.desc(), _TABLE.c.id.desc())
    )
    with store.reading() as connection:
        rows = connection.execute(query.limit(limit)).all()
    return tuple(decode(container, *row) for row in rows)


def newest_of_all(store: Store) -> dict[ContainerKey, StoredRecommendation]:
    """Return the newest recommendation for each container.

    Raises:
        InputError: If one of them is malformed.
    """
    facts = (_TABLE.c.time_s, _TABLE.c.strategy, _TABLE.c.content)
    query = (
        sa.select(*containers.CONTAINER_COLUMNS, *facts)
        .select_from(_TABLE.join(schema.containers_table))
        .where(is_newest())
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    keyed = ((ContainerKey(*row[:4]), row[4:]) for row in rows)
    return {key: decode(key, *facts) for key, facts in keyed}


def is_newest() -> sa.ColumnElement[bool]:
    """Return the condition that a container has no newer recommendation."""
    other = _TABLE.alias("other")
    later = sa.or_(
        other.c.time_s > _TABLE.c.time_s,
        sa.and_(other.c.time_s == _TABLE.c.time_s, other.c.id > _TABLE.c.id),
    )
    return ~sa.exists().where(other.c.container_id == _TABLE.c.container_id, later)
