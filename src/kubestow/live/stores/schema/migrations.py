"""Steps that bring a database to the schema this program knows.

All missing steps run in one transaction under a lock, so that several replicas may start at once:
one does the work, the others wait and find it done. Both databases roll back changes of tables, so
that a failed step leaves the old version intact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from kubestow.live.stores.schema import current, version_1
from kubestow.model import errors

Step = Callable[[sa.Connection], None]

# Any number will do as long as nothing else in the database locks the same one: "kubestow" in hex.
_LOCK = 0x6B756265_73746F77


def _make_base(connection: sa.Connection) -> None:
    version_1.metadata.create_all(connection)


def _add_marks_and_images(connection: sa.Connection) -> None:
    connection.execute(sa.text("ALTER TABLE runs ADD COLUMN image TEXT NOT NULL DEFAULT ''"))
    current.retention_marks_table.create(connection)
    for index in current.SWEEP_INDEXES:
        index.create(connection)


STEPS: tuple[Step, ...] = (_make_base, _add_marks_and_images)
"""Step number n leads to schema version n + 1; a step that was released is never changed."""


def migrate(connection: sa.Connection, place: str, steps: Sequence[Step] = STEPS) -> int:
    """Bring a database to the newest schema.

    Args:
        connection: In a transaction that may write; on SQLite it holds the only write lock.
        place: The database's address, for messages.
        steps: What leads from one version to the next.

    Returns:
        The version that was found; 0 for an empty database.
    """
    if connection.dialect.name == "postgresql":  # until the transaction ends
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    current.schema_version.create(connection, checkfirst=True)
    found = connection.scalar(sa.select(sa.func.max(current.schema_version.c.version))) or 0
    if found > len(steps):
        raise errors.InputError(
            place,
            f"schema version {found} is newer than this program; "
            f"expected at most {len(steps)}: install a newer kubestow",
        )
    for version, step in enumerate(steps[found:], start=found + 1):
        step(connection)
        connection.execute(current.schema_version.insert().values(version=version))
    if len(steps) == current.VERSION:
        _complete(connection)
    return int(found)


def _complete(connection: sa.Connection) -> None:
    """Make tables that somebody dropped, and the mark that runs are recorded against."""
    if set(current.metadata.tables) - set(sa.inspect(connection).get_table_names()):
        current.metadata.create_all(connection)
    marks = current.retention_marks_table
    if connection.scalar(sa.select(marks.c.name).where(marks.c.name == "runs")) is None:
        connection.execute(marks.insert().values(name="runs", until_s=-math.inf))
