"""The tables of schema version 1, frozen: existing databases were created from them.

Later additions are in ``current.py``, and the steps of ``migrations.py`` create them. Times are
seconds since the epoch, as given by callers. Samples are not deleted after reading as in Böttcher
2023 (3.6), where concurrent pods of one identity mixed and deleted each other's data (8.2): a
sample belongs to one pod and stays until ``retentions.sweep`` removes it.
"""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

# SQLite assigns row IDs only in a column of type INTEGER.
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _container() -> sa.Column[int]:
    return sa.Column("container_id", _NUMBER, sa.ForeignKey("containers.id"), nullable=False)


schema_version = sa.Table(
    "schema_version",
    metadata,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
)

containers = sa.Table(
    "containers",
    metadata,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("namespace", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("workload", sa.Text, nullable=False),
    sa.Column("container", sa.Text, nullable=False),
    sa.UniqueConstraint("namespace", "kind", "workload", "container", name="containers_identity"),
)

samples = sa.Table(
    "samples",
    metadata,
    _container(),
    sa.Column("pod_uid", sa.Text, nullable=False),
    sa.Column("time_s", sa.Double, nullable=False),
    sa.Column("cpu_m", sa.Double),
    sa.Column("memory_bytes", sa.BigInteger),
    sa.Column("memory_peak_bytes", sa.BigInteger),
    sa.PrimaryKeyConstraint("container_id", "pod_uid", "time_s", name="samples_key"),
    sqlite_with_rowid=False,  # rows are stored in key order, so that a run is read sequentially
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("id", _NUMBER, primary_key=True),
    _container(),
    sa.Column("pod_uid", sa.Text, nullable=False),
    sa.Column("began_s", sa.Double, nullable=False),
    sa.Column("ended_s", sa.Double),
    sa.Column("cpu_mean_m", sa.Double),
    sa.Column("cpu_max_m", sa.Double),
    sa.Column("memory_max_bytes", sa.BigInteger),
    sa.Column("oom", sa.Boolean, nullable=False),
    sa.Column("throttled_share", sa.Double),
    sa.Column("evaluated_at_s", sa.Double),
    # Worker that evaluates the run, end of its lease, and number of claims.
    sa.Column("claimed_by", sa.Text),
    sa.Column("claimed_until_s", sa.Double),
    sa.Column("token", sa.BigInteger, nullable=False, server_default="0"),
    sa.UniqueConstraint("container_id", "pod_uid", name="runs_key"),
)
sa.Index(
    "runs_waiting",
    runs.c.ended_s,
    postgresql_where=runs.c.evaluated_at_s.is_(None),
    sqlite_where=runs.c.evaluated_at_s.is_(None),
)

agents = sa.Table(
    "agents",
    metadata,
    _container(),
    sa.Column("resource", sa.Text, nullable=False),
    sa.Column("state", sa.JSON, nullable=False),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("updated_at_s", sa.Double, nullable=False),
    sa.PrimaryKeyConstraint("container_id", "resource", name="agents_key"),
)

recommendations = sa.Table(
    "recommendations",
    metadata,
    sa.Column("id", _NUMBER, primary_key=True),
    _container(),
    sa.Column("time_s", sa.Double, nullable=False),
    sa.Column("strategy", sa.Text, nullable=False),
    sa.Column("content", sa.JSON, nullable=False),
    sa.Index("recommendations_newest", "container_id", "time_s", "id"),
)

decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("time_s", sa.Double, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("policy", sa.Text, nullable=False),
    sa.Column("record", sa.JSON, nullable=False),
    sa.Index("decisions_newest", "subject", "time_s", "id"),
)
