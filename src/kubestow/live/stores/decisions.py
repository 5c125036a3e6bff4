"""Decision records, indexed by subject."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from kubestow.live.stores import documents, schema
from kubestow.live.stores.engines import Store
from kubestow.model.decisions import DecisionRecord

_TABLE = schema.decisions_table
_NAMES: Final = ("time_s", "kind", "subject", "policy", "record")
_PARAMETER: Final = "rows"


def insert(store: Store, records: Iterable[DecisionRecord], now_s: float) -> None:
    """Store records.

    Args:
        store: The store.
        records: The records. Numbers that are not finite are read back as NaN.
        now_s: The time of records that have none, seconds since the epoch.
    """
    with store.writing() as connection:
        put_decisions(connection, records, now_s)


def put_decisions(
    connection: sa.Connection, records: Iterable[DecisionRecord], now_s: float
) -> None:
    """Store records inside a transaction, as ``insert`` does.

    They are sent as one JSON text that the database splits into rows: binding the values of every
    row takes longer in this process, and delays its responses.
    """
    rows = [_values(record, now_s) for record in records]
    if rows:
        source = _ROWS[connection.dialect.name]
        statement = _TABLE.insert().from_select(_NAMES, source)
        connection.execute(statement, {_PARAMETER: documents.encode(rows)})


def _rows_of_postgresql() -> sa.Select[Any]:
    types = [sa.column(name, _TABLE.c[name].type) for name in _NAMES]
    text = sa.cast(sa.bindparam(_PARAMETER, type_=sa.Text), sa.JSON)
    rows = sa.func.json_to_recordset(text).table_valued(*types).render_derived(with_types=True)
    return sa.select(*(rows.c[name] for name in _NAMES))


def _rows_of_sqlite() -> sa.Select[Any]:
    text = sa.bindparam(_PARAMETER, type_=sa.Text)
    rows = sa.func.json_each(text).table_valued("value")
    return sa.select(*(sa.func.json_extract(rows.c.value, f"$.{name}") for name in _NAMES))


def newest_decisions(
    store: Store, subject: str, limit: int = 20, kind: str | None = None
) -> tuple[DecisionRecord, ...]:
    """Return the decisions on a subject, newest first.

    Args:
        store: The store.
        subject: The subject, e.g. ``pod/shop/web-0``.
        limit: Maximum number of records.
        kind: Only those of one kind, e.g. ``sizing``.
    """
    return _newest(store, _TABLE.c.subject == subject, limit, kind)


def newest_decisions_below(
    store: Store, prefix: str, limit: int = 20, kind: str | None = None
) -> tuple[DecisionRecord, ...]:
    """Return the decisions on subjects with a prefix, newest first."""
    return _newest(store, _TABLE.c.subject.startswith(prefix, autoescape=True), limit, kind)


def subjects(store: Store, limit: int = 10_000) -> tuple[str, ...]:
    """Return the subjects of all decisions, in the order of their names."""
    query = sa.select(_TABLE.c.subject).distinct().order_by(_TABLE.c.subject).limit(limit)
    with store.reading() as connection:
        return tuple(connection.scalars(query))


def _newest(
    store: Store, chosen: sa.ColumnElement[bool], limit: int, kind: str | None
) -> tuple[DecisionRecord, ...]:
    query = sa.select(_TABLE.c.record).where(chosen)
    if kind is not None:
        query = query.where(_TABLE.c.kind == kind)
    query = query.order_by(_TABLE.c.time_s.desc(), _TABLE.c.id.desc()).limit(limit)
    with store.reading() as connection:
        return tuple(_read(document) for document in connection.scalars(query))


def _values(record: DecisionRecord, now_s: float) -> dict[str, object]:
    timed = record if record.time is not None else replace(record, time=now_s)
    return {
        "time_s": timed.time,
        "kind": timed.kind,
        "subject": timed.subject,
        "policy": timed.policy,
        "record": timed,
    }


def _read(document: dict[str, Any]) -> DecisionRecord:
    candidates = [c | {"terms": documents.numbers(c["terms"])} for c in document["candidates"]]
    measured = {name: documents.numbers(document[name]) for name in ("numbers", "backtest")}
    return msgspec.convert(document | measured | {"candidates": candidates}, DecisionRecord)


_ROWS: Final = {"postgresql": _rows_of_postgresql(), "sqlite": _rows_of_sqlite()}
"""Query that splits the JSON text into rows, by database."""
