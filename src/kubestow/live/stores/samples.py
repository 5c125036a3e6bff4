"""Usage samples, each of one container in one pod at one time.

They are stored by pod and are not deleted after reading: Böttcher 2023 stored them by identity and
deleted them, and concurrent pods of one identity mixed and deleted each other's data (8.2).
``retentions`` removes them.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from kubestow.live.stores import containers, engines, schema
from kubestow.live.stores.engines import Store
from kubestow.model import errors
from kubestow.model.keys import ContainerKey

_TABLE = schema.samples_table
_MEASURES = ("cpu_m", "memory_bytes", "memory_peak_bytes")
_BATCH = 5_000  # rows per statement


@dataclass(frozen=True, slots=True)
class StoredSample:
    """Usage at one time; values that were not measured are ``None``.

    Attributes:
        container: The container.
        pod_uid: The pod, by ``metadata.uid``.
        time_s: Time, seconds since the epoch.
        cpu_m: CPU usage, millicores.
        memory_bytes: Working set, bytes.
        memory_peak_bytes: Maximum memory so far, bytes.
    """

    container: ContainerKey
    pod_uid: str
    time_s: float
    cpu_m: float | None = None
    memory_bytes: int | None = None
    memory_peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class StoredUsage:
    """Summary of the samples of one run; ``None`` where no sample has a value.

    Attributes:
        count: Number of samples.
        cpu_mean_m: Mean CPU usage of the samples that have one, millicores.
        cpu_max_m: Maximum CPU usage, millicores.
        memory_max_bytes: Maximum working set or peak, bytes.
    """

    count: int
    cpu_mean_m: float | None
    cpu_max_m: float | None
    memory_max_bytes: int | None


def insert(store: Store, samples: Iterable[StoredSample]) -> None:
    """Store samples. Existing values are kept; missing ones are filled in."""
    given = list(samples)
    for sample in given:
        _check(sample)
    with store.writing() as connection:
        numbers = containers.container_numbers(connection, {sample.container for sample in given})
        rows = [_values(sample, numbers) for sample in given]
        # Always in the same order, to avoid deadlocks between writers of the same samples.
        rows.sort(key=operator.itemgetter("container_id", "pod_uid", "time_s"))
        statement = _statement(connection)
        for start in range(0, len(rows), _BATCH):
            connection.execute(statement, rows[start : start + _BATCH])


def read(store: Store, container: ContainerKey, pod_uid: str) -> tuple[StoredSample, ...]:
    """Return the samples of one run, oldest first."""
    columns = (_TABLE.c.time_s, *(_TABLE.c[name] for name in _MEASURES))
    with store.reading() as connection:
        query = _of_run(sa.select(*columns), container, pod_uid).order_by(_TABLE.c.time_s)
        return tuple(StoredSample(container, pod_uid, *row) for row in connection.execute(query))


def summarise(store: Store, container: ContainerKey, pod_uid: str) -> StoredUsage:
    """Return the summary of the samples of one run."""
    query = sa.select(
        sa.func.count(),
        sa.func.avg(_TABLE.c.cpu_m),
        sa.func.max(_TABLE.c.cpu_m),
        sa.func.max(_TABLE.c.memory_bytes),
        sa.func.max(_TABLE.c.memory_peak_bytes),
    )
    with store.reading() as connection:
        count, mean, most, *memory = connection.execute(_of_run(query, container, pod_uid)).one()
    return StoredUsage(count, mean, most, max((m for m in memory if m is not None), default=None))


def _of_run(
    query: sa.Select[tuple[Any, ...]], container: ContainerKey, pod_uid: str
) -> sa.Select[tuple[Any, ...]]:
    return query.select_from(_TABLE.join(schema.containers_table)).where(
        containers.is_key(container), _TABLE.c.pod_uid == pod_uid
    )


def _statement(connection: sa.Connection) -> engines.Insert:
    statement = engines.insert(connection, _TABLE)
    new = statement.excluded
    gaps = (sa.and_(_TABLE.c[name].is_(None), new[name].is_not(None)) for name in _MEASURES)
    return statement.on_conflict_do_update(
        index_elements=[_TABLE.c.container_id, _TABLE.c.pod_uid, _TABLE.c.time_s],
        set_={name: sa.func.coalesce(_TABLE.c[name], new[name]) for name in _MEASURES},
        where=sa.or_(*gaps),  # write only if there is a new value
    )


def _values(row: StoredSample, numbers: dict[ContainerKey, int]) -> dict[str, Any]:
    return {
        "container_id": numbers[row.container],
        "pod_uid": row.pod_uid,
        "time_s": row.time_s,
        "cpu_m": row.cpu_m,
        "memory_bytes": row.memory_bytes,
        "memory_peak_bytes": row.memory_peak_bytes,
    }


def _check(row: StoredSample) -> None:
    values: Sequence[float | None] = (
        row.time_s,
        row.cpu_m,
        row.memory_bytes,
        row.memory_peak_bytes,
    )
    for name, value in zip(("time_s", *_MEASURES), values, strict=True):
        if value is not None and not math.isfinite(value):
            place = f"sample of {row.pod_uid}: {name}"
            raise errors.InputError(place, f"{value}: expected a finite number")
