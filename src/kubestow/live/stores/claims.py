"""Claims on finished runs, so that of many workers exactly one evaluates each.

A claim is a lease: a worker that dies holds a run no longer than that. Each claim of a run has a
higher token than the one before, and ``evaluations.complete`` accepts only the newest one. So a
worker that was thought dead does no harm, and neither does a wrong clock: it can make a run change
hands too early, but not count twice.
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
        worker: Who has it.
        until_s: Until when nobody else can have it, seconds since the epoch.
        token: How often the run was claimed, this time included.
        run_id: The run's number in the store.
        container_id: The container's number in the store.
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
        store: Where the run is.
        key: Which run.
        worker: Who asks; different for each process.
        now_s: Now, seconds since the epoch.
        lease_s: For how long.

    Returns:
        The claim; ``None`` if the run is unknown, unfinished, evaluated, or claimed by another.
    """
    same = (containers.is_key(key.container), _TABLE.c.pod_uid == key.pod_uid)
    wanted = sa.select(_TABLE.c.id).select_from(_TABLE.join(schema.containers_table)).where(*same)
    with store.writing() as connection:
        number = connection.scalar(wanted)
        return None if number is None else _take(connection, number, worker, now_s, lease_s)


def claim_next(store: Store, worker: str, now_s: float, lease_s: float) -> Claim | None:
    """Claim the run that has waited longest, as ``claim`` does; ``None`` if none waits."""
    wanted = sa.select(_TABLE.c.id).where(_is_free(now_s)).order_by(_TABLE.c.ended_s, _TABLE.c.id)
    with store.writing() as connection:
        # PostgreSQL passes over runs that others are taking; SQLite lets one writer in at a time.
        number = connection.scalar(wanted.limit(1).with_for_update(skip_locked=True))
        return None if number is None else _take(connection, number, worker, now_s, lease_s)


def renew(store: Store, held: Claim, now_s: float, lease_s: float) -> Claim:
    """Hold a claim for longer.

    Raises:
        ClaimLostError: Another one has it.
    """
    with store.writing() as connection:
        change(connection, held, {"claimed_until_s": now_s + lease_s})
        return _read(connection, held.run_id)


def release(store: Store, held: Claim) -> None:
    """Give a run back at once, for others to evaluate.

    Raises:
        ClaimLostError: Another one has it.
    """
    with store.writing() as connection:
        change(connection, held, {"claimed_by": None, "claimed_until_s": None})


def change(connection: sa.Connection, held: Claim, values: dict[str, float | None]) -> None:
    """Change a run under a claim, and refuse that to all but its holder."""
    mine = (_TABLE.c.id == held.run_id, _TABLE.c.token == held.token)
    holds = (_TABLE.c.claimed_by == held.worker, _TABLE.c.evaluated_at_s.is_(None))
    if connection.execute(_TABLE.update().where(*mine, *holds).values(values)).rowcount != 1:
        pod = held.run.key.pod_uid
        raise faults.ClaimLostError(f"run of pod {pod}: {held.worker} does not hold it any more")


def _is_free(now_s: float) -> sa.ColumnElement[bool]:
    until_s = _TABLE.c.claimed_until_s
    waiting = sa.and_(_TABLE.c.ended_s.is_not(None), _TABLE.c.evaluated_at_s.is_(None))
    return sa.and_(waiting, sa.or_(until_s.is_(None), until_s <= now_s))


def _take(
    connection: sa.Connection, number: int, worker: str, now_s: float, lease_s: float
) -> Claim | None:
    # Whoever waits here for another's update sees its result, and then the run is not free.
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
