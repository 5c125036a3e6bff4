"""Tables of the store, by schema version, and the migrations between versions."""

from kubestow.live.stores.schema.current import (
    agents_table,
    containers_table,
    decisions_table,
    recommendations_table,
    retention_marks_table,
    runs_table,
    samples_table,
)
from kubestow.live.stores.schema.migrations import migrate

__all__ = [
    "agents_table",
    "containers_table",
    "decisions_table",
    "migrate",
    "recommendations_table",
    "retention_marks_table",
    "runs_table",
    "samples_table",
]
