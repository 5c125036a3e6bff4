"""Which volumes pods on nodes use, what claims are bound to by now, and which volumes are free."""

from kubestow.model.volume_tables.indexes import ClassIndex
from kubestow.model.volume_tables.tables import VolumeTable, from_storage

__all__ = ["ClassIndex", "VolumeTable", "from_storage"]
