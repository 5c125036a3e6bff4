"""The current tables: those of version 1 and the additions of later versions.

A change is made in three places: here, as a step in ``migrations.py``, and in ``VERSION``. A test
compares a migrated database with these tables.
"""

from __future__ import annotations

import sqlalchemy as sa

from kubestow.live.stores.schema import version_1 as base

VERSION = 2

metadata = sa.MetaData()
for _table in base.metadata.sorted_tables:
    _table.to_metadata(metadata)

schema_version = metadata.tables["schema_version"]
containers_table = metadata.tables["containers"]
samples_table = metadata.tables["samples"]
runs_table = metadata.tables["runs"]
agents_table = metadata.tables["agents"]
recommendations_table = metadata.tables["recommendations"]
decisions_table = metadata.tables["decisions"]

# Version 2. The image's fingerprint distinguishes runs of new code from old ones
# (``model.identities``); the mark is the time up to which runs were removed, so that none of them
# is recorded again as new; the indexes serve the retention sweeps.
runs_table.append_column(sa.Column("image", sa.Text, nullable=False, server_default=""))
retention_marks_table = sa.Table(
    "retention_marks",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("until_s", sa.Double, nullable=False),
)
SWEEP_INDEXES = (
    sa.Index("samples_by_time", samples_table.c.time_s),
    sa.Index("recommendations_by_time", recommendations_table.c.time_s),
    sa.Index("decisions_by_time", decisions_table.c.time_s),
)
