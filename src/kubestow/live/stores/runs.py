"""Runs: one container in one pod, from its start to its end.

A pod counts once, however often it is recorded: the key is its uid, not a flag on its identity as
in Böttcher 2023 (8.1.5), so that two pods of one identity are two runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from kubestow.live.stores import containers, engines, schema
from kubestow.live.stores.engines import Store
from kubestow.model.keys import ContainerKey

_TABLE = schema.runs_table
_FACTS = (
    "began_s",
    "ended_s",
    "cpu_mean_m",
    "cpu_max_m",
    "memory_max_bytes",
    "oom",
    "throttled_share",
    "image",
)


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """Key of a run: a container of a workload, and the pod's ``metadata.uid``."""

    container: ContainerKey
    pod_uid: str


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run.

    Attributes:
        key: Its key.
        began_s: When the container started, seconds since the epoch.
        ended_s: When it ended; ``None`` while it runs. Only finished runs are evaluated.
        cpu_mean_m: Mean CPU usage, millicores.
        cpu_max_m: Maximum CPU usage, millicores.
        memory_max_bytes: Maximum memory usage, bytes.
        oom: Whether it was OOM-killed.
        throttled_share: Fraction of its time that it was throttled.
        image: Fingerprint of its image, as in ``model.identities.Identity``.
        evaluated_at_s: When it was evaluated; ``None`` if not yet.
    """

    key: RunKey
    began_s: float
    ended_s: float | None = None
    cpu_mean_m: float | None = None
    cpu_max_m: float | None = None
    memory_max_bytes: int | None = None
    oom: bool = False
    throttled_share: float | None = None
    image: str = ""
    evaluated_at_s: float | None = None


def record(store: Store, run: StoredRun) -> bool:
    """Store a run. A stored run that has ended is not changed.

    A run may be recorded when it starts and again when it ends; its samples are kept until it is
    evaluated. Pods that run forever should not be recorded at their start.

    Returns:
        Whether the run is in the store. It is not if it ended before the mark of ``retentions``:
        then it was evaluated and removed, and must not be evaluated again.
    """
    with store.writing() as connection:
        number = containers.container_numbers(connection, [run.key.container])[run.key.container]
        if _was_removed(connection, number, run):
            return False
        values = {name: getattr(run, name) for name in _FACTS}
        statement = engines.insert(connection, _TABLE).values(
            container_id=number, pod_uid=run.key.pod_uid, **values
        )
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=[_TABLE.c.container_id, _TABLE.c.pod_uid],
                set_={name: statement.excluded[name] for name in _FACTS},
                where=_TABLE.c.ended_s.is_(None),
            )
        )
    return True


def read(
    store: Store, container: ContainerKey, *, newest: int | None = None
) -> tuple[StoredRun, ...]:
    """Return the runs of a container, oldest first.

    Args:
        store: The store.
        container: The container.
        newest: Return only this many of the newest runs; ``None`` for all.
    """
    query = select().where(containers.is_key(container)).order_by(_TABLE.c.began_s.desc())
    with store.reading() as connection:
        rows = connection.execute(query.limit(newest)).mappings().all()
    return tuple(from_row(row) for row in reversed(rows))


def select() -> sa.Select[tuple[Any, ...]]:
    """Return a query for whole rows of runs with the keys of their containers."""
    return sa.select(_TABLE, *containers.CONTAINER_COLUMNS).select_from(
        _TABLE.join(schema.containers_table)
    )


def from_row(row: sa.RowMapping) -> StoredRun:
    """Return a run from a row of ``select``."""
    container = ContainerKey(*(row[column] for column in containers.CONTAINER_COLUMNS))
    facts = {name: row[_TABLE.c[name]] for name in (*_FACTS, "evaluated_at_s")}
    return StoredRun(RunKey(container, row[_TABLE.c.pod_uid]), **facts)


def _was_removed(connection: sa.Connection, container_id: int, run: StoredRun) -> bool:
    """Return whether a run was removed by a sweep; locks the mark against concurrent changes."""
    marks = schema.retention_marks_table
    mark = sa.select(marks.c.until_s).where(marks.c.name == "runs").with_for_update(read=True)
    until_s = connection.scalar(mark)
    if until_s is None or run.ended_s is None or run.ended_s >= until_s:
        return False
    same = (_TABLE.c.container_id == container_id, _TABLE.c.pod_uid == run.key.pod_uid)
    return connection.scalar(sa.select(_TABLE.c.id).where(*same)) is None
