"""Migrations of a database to the current schema.

All missing steps run in one transaction under a lock, so that several replicas may start at once:
one migrates, the others wait. Both databases roll back changes of tables, so a failed step leaves
the old version intact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from kubestow.live.stores.schema import current, version_1
from kubestow.model import errors

Step = Callable[[sa.Connection], None]

# Any number that nothing else in the database uses as a lock: "kubestow" in hex.
_LOCK = 0x6B756265_73746F77


def _make_base(connection: sa.Connection) -> None:
    version_1.metadata.create_all(connection)


def _add_marks_and_images(connection: sa.Connection) -> None:
    connection.execute(sa.text("ALTER TABLE runs ADD COLUMN image TEXT NOT NULL DEFAULT ''"))
    current.retention_marks_table.create(connection)
    for index in current.SWEEP_INDEXES:
        index.create(connection)


STEPS: tuple[Step, ...] = (_make_base, _add_marks_and_images)
"""Step n migrates to schema version n + 1; a released step is never changed."""


def migrate(connection: sa.Connection, place: str, steps: Sequence[Step] = STEPS) -> int:
    """Migrate a database to the newest schema.

    Args:
        connection: In a write transaction; on SQLite it holds the only write lock.
        place: URL of the database, for messages.
        steps: The migration steps.

    Returns:
        The version before the migration; 0 for an empty database.
    """
    if connection.dialect.name == "postgresql":  # until the transaction ends
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    current.schema_version.create(connection, checkfirst=True)
    present = connection.scalar(sa.select(sa.func.max(current.schema_version.c.version))) or 0
    if present > len(steps):
        raise errors.InputError(
            place,
            f"schema version {present} is newer than this program; "
            f"expected at most {len(steps)}: install a newer kubestow",
        )
    for version, step in enumerate(steps[present:], start=present + 1):
        step(connection)
        connection.execute(current.schema_version.insert().values(version=version))
    if len(steps) == current.VERSION:
        _complete(connection)
    return int(present)


def _complete(connection: sa.Connection) -> None:
    """Create tables that were dropped, and the retention mark of runs."""
    if set(current.metadata.tables) - set(sa.inspect(connection).get_table_names()):
        current.metadata.create_all(connection)
    marks = current.retention_marks_table
    if connection.scalar(sa.select(marks.c.name).where(marks.c.name == "runs")) is None:
        connection.execute(marks.insert().values(name="runs", until_s=-math.inf))
