"""Claims on finished runs, so that exactly one of many workers evaluates each run.

A claim is a lease: a worker that dies holds a run no longer than that. Each claim of a run has a
higher token than the previous one, and ``evaluations.complete`` only accepts the newest. So a
worker that was presumed dead does no harm, and neither does a wrong clock: it can pass a run on too
early, but not make it count twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from kubestow.live.stores import containers, faults, runs, schema
from kubestow.live.stores.engines import Store

_TABLE = schema.runs_table


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to evaluate a run.

    Attributes:
        run: The run.
        worker: Worker that holds it.
        until_s: End of the lease, seconds since the epoch.
        token: Number of claims of the run, including this one.
        run_id: ID of the run in the store.
        container_id: ID of the container in the store.
    """

    run: runs.StoredRun
    worker: str
    until_s: float
    token: int
    run_id: int
    container_id: int


def claim(
    store: Store, key: runs.RunKey, worker: str, now_s: float, lease_s: float
) -> Claim | None:
    """Claim a run.

    Args:
        store: The store.
        key: The run.
        worker: Name of the worker; unique per process.
        now_s: Current time, seconds since the epoch.
        lease_s: Duration of the lease, seconds.

    Returns:
        The claim; ``None`` if the run is unknown, unfinished, evaluated, or claimed by another.
    """
    same = (containers.is_key(key.container), _TABLE.c.pod_uid == key.pod_uid)
    query = sa.select(_TABLE.c.id).select_from(_TABLE.join(schema.containers_table)).where(*same)
    with store.writing() as connection:
        number = connection.scalar(query)
        return None if number is None else _take(connection, number, worker, now_s, lease_s)


def claim_next(store: Store, worker: str, now_s: float, lease_s: float) -> Claim | None:
    """Claim the run that ended first, as ``claim`` does; ``None`` if none is waiting."""
    query = sa.select(_TABLE.c.id).where(_is_free(now_s)).order_by(_TABLE.c.ended_s, _TABLE.c.id)
    with store.writing() as connection:
        # PostgreSQL skips runs that others are claiming; SQLite allows one writer at a time.
        number = connection.scalar(query.limit(1).with_for_update(skip_locked=True))
        return None if number is None else _take(connection, number, worker, now_s, lease_s)


def renew(store: Store, held: Claim, now_s: float, lease_s: float) -> Claim:
    """Extend a claim.

    Raises:
        ClaimLostError: If another worker holds the run.
    """
    with store.writing() as connection:
        change(connection, held, {"claimed_until_s": now_s + lease_s})
        return _read(connection, held.run_id)


def release(store: Store, held: Claim) -> None:
    """Release a run at once, for others to evaluate.

    Raises:
        ClaimLostError: If another worker holds the run.
    """
    with store.writing() as connection:
        change(connection, held, {"claimed_by": None, "claimed_until_s": None})


def change(connection: sa.Connection, held: Claim, values: dict[str, float | None]) -> None:
    """Update a run under a claim; raises unless the claim still holds."""
    same_claim = (_TABLE.c.id == held.run_id, _TABLE.c.token == held.token)
    holds = (_TABLE.c.claimed_by == held.worker, _TABLE.c.evaluated_at_s.is_(None))
    if connection.execute(_TABLE.update().where(*same_claim, *holds).values(values)).rowcount != 1:
        pod = held.run.key.pod_uid
        raise faults.ClaimLostError(f"run of pod {pod}: {held.worker} no longer holds it")


def _is_free(now_s: float) -> sa.ColumnElement[bool]:
    until_s = _TABLE.c.claimed_until_s
    waiting = sa.and_(_TABLE.c.ended_s.is_not(None), _TABLE.c.evaluated_at_s.is_(None))
    return sa.and_(waiting, sa.or_(until_s.is_(None), until_s <= now_s))


def _take(
    connection: sa.Connection, number: int, worker: str, now_s: float, lease_s: float
) -> Claim | None:
    # A transaction that waits here for another's update sees its result: the run is not free.
    taken = connection.execute(
        _TABLE.update()
        .where(_TABLE.c.id == number, _is_free(now_s))
        .values(claimed_by=worker, claimed_until_s=now_s + lease_s, token=_TABLE.c.token + 1)
    )
    return _read(connection, number) if taken.rowcount == 1 else None


def _read(connection: sa.Connection, number: int) -> Claim:
    row = connection.execute(runs.select().where(_TABLE.c.id == number)).mappings().one()
    return Claim(
        run=runs.from_row(row),
        worker=row[_TABLE.c.claimed_by],
        until_s=row[_TABLE.c.claimed_until_s],
        token=row[_TABLE.c.token],
        run_id=number,
        container_id=row[_TABLE.c.container_id],
    )
