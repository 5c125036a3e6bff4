"""How long things are kept, and the sweep that removes what is older.

Each batch is a transaction of its own, so that nobody waits long for a sweep, and one that is
interrupted has done its part. Several replicas may sweep at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import sqlalchemy as sa

from kubestow.live.stores import recommendations, schema
from kubestow.live.stores.engines import Store
from kubestow.model import errors

_DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many seconds rows are kept; ``None`` keeps them for good.

    Attributes:
        samples: By their time. Those of runs that wait for evaluation stay. The default is the
            history that a VerticalPodAutoscaler reads (``--history-length``, 8 days).
        runs: By their end. Those that wait for evaluation stay. Longer than finished pods stay
            listed in the cluster makes sense; if shorter, such pods are not evaluated again.
        recommendations: By their time. The newest of each container stays.
        decisions: By their time.
    """

    samples: float | None = 8 * _DAY_S
    runs: float | None = 90 * _DAY_S
    recommendations: float | None = 90 * _DAY_S
    decisions: float | None = 30 * _DAY_S

    def __post_init__(self) -> None:
        """Refuse times that are negative or no numbers."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not value >= 0.0:
                raise errors.InputError(f"retention.{each.name}", f"{value}: must be >= 0")


@dataclass(frozen=True, slots=True)
class Swept:
    """How many rows a sweep removed from each table."""

    samples: int = 0
    runs: int = 0
    recommendations: int = 0
    decisions: int = 0


def sweep(store: Store, now_s: float, keep: Retention, batch: int = 5_000) -> Swept:
    """Remove what is older than it is kept.

    Args:
        store: Where from.
        now_s: Now, seconds since the epoch.
        keep: How long each table keeps its rows.
        batch: How many rows one transaction removes at most.
    """
    if batch < 1:
        raise errors.InputError("batch", f"{batch}: must be >= 1")
    if keep.runs is not None:
        _mark(store, now_s - keep.runs)
    conditions = {
        schema.samples_table: _old_samples(_limit(now_s, keep.samples)),
        schema.runs_table: _old_runs(_limit(now_s, keep.runs)),
        schema.recommendations_table: _old_recommendations(_limit(now_s, keep.recommendations)),
        schema.decisions_table: schema.decisions_table.c.time_s < _limit(now_s, keep.decisions),
    }
    return Swept(**{t.name: _remove(store, t, old, batch) for t, old in conditions.items()})


def _limit(now_s: float, keep_s: float | None) -> float:
    return -math.inf if keep_s is None else now_s - keep_s


def _mark(store: Store, until_s: float) -> None:
    """Say that runs which ended before are gone, before they go (``runs.record``)."""
    marks = schema.retention_marks_table
    later = (marks.c.name == "runs", marks.c.until_s < until_s)
    with store.writing() as connection:
        connection.execute(marks.update().where(*later).values(until_s=until_s))


def _old_samples(limit_s: float) -> sa.ColumnElement[bool]:
    samples, runs = schema.samples_table, schema.runs_table
    waits = sa.exists().where(
        runs.c.container_id == samples.c.container_id,
        runs.c.pod_uid == samples.c.pod_uid,
        runs.c.evaluated_at_s.is_(None),
    )
    return sa.and_(samples.c.time_s < limit_s, ~waits)


def _old_runs(limit_s: float) -> sa.ColumnElement[bool]:
    runs = schema.runs_table
    return sa.and_(runs.c.ended_s < limit_s, runs.c.evaluated_at_s.is_not(None))


def _old_recommendations(limit_s: float) -> sa.ColumnElement[bool]:
    return sa.and_(schema.recommendations_table.c.time_s < limit_s, ~recommendations.is_newest())


def _remove(store: Store, table: sa.Table, old: sa.ColumnElement[bool], batch: int) -> int:
    key = sa.tuple_(*table.primary_key.columns)
    some = sa.select(*table.primary_key.columns).where(old).limit(batch).correlate(None)
    removed = 0
    while True:
        with store.writing() as connection:
            count = connection.execute(table.delete().where(key.in_(some))).rowcount
        removed += count
        if count < batch:
            return removed
