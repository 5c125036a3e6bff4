"""Records of decisions, found again by what was decided upon."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
import sqlalchemy as sa

from kubestow.live.stores import documents, schemas
from kubestow.live.stores.engines import Store
from kubestow.model.decisions import DecisionRecord

_TABLE = schemas.decisions


def insert(store: Store, records: Iterable[DecisionRecord], now_s: float) -> None:
    """Keep records.

    Args:
        store: Where to.
        records: What was decided. Numbers that are not finite are read back as NaN.
        now_s: The time of records that have none, seconds since the epoch.
    """
    with store.writing() as connection:
        put(connection, records, now_s)


def put(connection: sa.Connection, records: Iterable[DecisionRecord], now_s: float) -> None:
    """Keep records inside a transaction, as ``insert`` does."""
    rows = [_values(record, now_s) for record in records]
    if rows:
        connection.execute(_TABLE.insert(), rows)


def newest(
    store: Store, subject: str, limit: int = 20, kind: str | None = None
) -> tuple[DecisionRecord, ...]:
    """Return the decisions on a subject, newest first.

    Args:
        store: Where they are.
        subject: What was decided upon, e.g. ``pod/shop/web-0``.
        limit: How many at most.
        kind: Only those of one kind, e.g. ``sizing``.
    """
    return _newest(store, _TABLE.c.subject == subject, limit, kind)


def newest_below(
    store: Store, prefix: str, limit: int = 20, kind: str | None = None
) -> tuple[DecisionRecord, ...]:
    """Return the decisions on subjects that begin with a text, newest first, as ``newest`` does."""
    return _newest(store, _TABLE.c.subject.startswith(prefix, autoescape=True), limit, kind)


def _newest(
    store: Store, chosen: sa.ColumnElement[bool], limit: int, kind: str | None
) -> tuple[DecisionRecord, ...]:
    wanted = sa.select(_TABLE.c.record).where(chosen)
    if kind is not None:
        wanted = wanted.where(_TABLE.c.kind == kind)
    wanted = wanted.order_by(_TABLE.c.time_s.desc(), _TABLE.c.id.desc()).limit(limit)
    with store.reading() as connection:
        return tuple(_read(found) for found in connection.scalars(wanted))


def _values(record: DecisionRecord, now_s: float) -> dict[str, object]:
    timed = record if record.time is not None else replace(record, time=now_s)
    return {
        "time_s": timed.time,
        "kind": timed.kind,
        "subject": timed.subject,
        "policy": timed.policy,
        "record": timed,  # written as it is; plain values would be made only to be written
    }


def _read(found: dict[str, Any]) -> DecisionRecord:
    candidates = [c | {"terms": documents.numbers(c["terms"])} for c in found["candidates"]]
    measured = {name: documents.numbers(found[name]) for name in ("numbers", "backtest")}
    return msgspec.convert(found | measured | {"candidates": candidates}, DecisionRecord)
