"""Retention of rows, and the sweep that removes older ones.

Each batch is its own transaction, so that no one waits long for a sweep, and an interrupted sweep
keeps its progress. Several replicas may sweep at once.
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
    """Retention of rows in seconds; ``None`` keeps them forever.

    Attributes:
        samples: Age of samples. Those of runs waiting for evaluation are kept. The default is the
            history that a VerticalPodAutoscaler reads (``--history-length``, 8 days).
        runs: Time since the end of runs. Those waiting for evaluation are kept. Should be longer
            than finished pods stay listed in the cluster; if shorter, such pods are not evaluated
            again.
        recommendations: Age of recommendations. The newest of each container is kept.
        decisions: Age of decisions.
    """

    samples: float | None = 8 * _DAY_S
    runs: float | None = 90 * _DAY_S
    recommendations: float | None = 90 * _DAY_S
    decisions: float | None = 30 * _DAY_S

    def __post_init__(self) -> None:
        """Refuse negative times and NaN."""
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and not value >= 0.0:
                raise errors.InputError(f"retention.{each.name}", f"{value}: must be >= 0")


@dataclass(frozen=True, slots=True)
class Swept:
    """Number of rows that a sweep removed from each table."""

    samples: int = 0
    runs: int = 0
    recommendations: int = 0
    decisions: int = 0


def sweep(store: Store, now_s: float, keep: Retention, batch: int = 5_000) -> Swept:
    """Remove rows past their retention.

    Args:
        store: The store.
        now_s: Current time, seconds since the epoch.
        keep: How long each table keeps its rows.
        batch: Maximum number of rows removed by one transaction.
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
    """Move the mark before removing runs that ended earlier (``runs.record`` checks it)."""
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
