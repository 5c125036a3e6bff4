"""Records of decisions, found again by what was decided upon."""

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
    """Keep records.

    Args:
        store: Where to.
        records: What was decided. Numbers that are not finite are read back as NaN.
        now_s: The time of records that have none, seconds since the epoch.
    """
    with store.writing() as connection:
        put_decisions(connection, records, now_s)


def put_decisions(
    connection: sa.Connection, records: Iterable[DecisionRecord], now_s: float
) -> None:
    """Keep records inside a transaction, as ``insert`` does.

    All go to the database as one text, which it takes apart: to bind the values of every row takes
    this process longer, and those who wait for answers of it wait meanwhile.
    """
    rows = [_values(record, now_s) for record in records]
    if rows:
        source = _ROWS[connection.dialect.name]
        wanted = _TABLE.insert().from_select(_NAMES, source)
        connection.execute(wanted, {_PARAMETER: documents.encode(rows)})


def _rows_of_postgresql() -> sa.Select[Any]:
    types = [sa.column(name, _TABLE.c[name].type) for name in _NAMES]
    text = sa.cast(sa.bindparam(_PARAMETER, type_=sa.Text), sa.JSON)
    found = sa.func.json_to_recordset(text).table_valued(*types).render_derived(with_types=True)
    return sa.select(*(found.c[name] for name in _NAMES))


def _rows_of_sqlite() -> sa.Select[Any]:
    text = sa.bindparam(_PARAMETER, type_=sa.Text)
    found = sa.func.json_each(text).table_valued("value")
    return sa.select(*(sa.func.json_extract(found.c.value, f"$.{name}") for name in _NAMES))


def newest_decisions(
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


def newest_decisions_below(
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
        "record": timed,
    }


def _read(found: dict[str, Any]) -> DecisionRecord:
    candidates = [c | {"terms": documents.numbers(c["terms"])} for c in found["candidates"]]
    measured = {name: documents.numbers(found[name]) for name in ("numbers", "backtest")}
    return msgspec.convert(found | measured | {"candidates": candidates}, DecisionRecord)


_ROWS: Final = {"postgresql": _rows_of_postgresql(), "sqlite": _rows_of_sqlite()}
"""Where the rows of a text come from, by database."""
