"""Inserts that may meet a row that is there already; each database has its own kind."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

Insert = postgresql.Insert | sqlite.Insert


def insert(connection: sa.Connection, table: sa.Table) -> Insert:
    """Return an insert that knows ``on_conflict_do_nothing`` and ``on_conflict_do_update``."""
    if connection.dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)
