"""The volume plugins: VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone.

Claims and volumes are in ``model.volumes``, their users and bindings in ``model.volume_tables``.
"""

from kubestow.policies.placing.scheduler.volumes.assumptions import assume_volumes
from kubestow.policies.placing.scheduler.volumes.binding import (
    bindable,
    capacity_score,
    check_claims,
)
from kubestow.policies.placing.scheduler.volumes.limits import within_limits
from kubestow.policies.placing.scheduler.volumes.restrictions import check_modes, free_disks
from kubestow.policies.placing.scheduler.volumes.zones import check_zones, in_zone

__all__ = [
    "assume_volumes",
    "bindable",
    "capacity_score",
    "check_claims",
    "check_modes",
    "check_zones",
    "free_disks",
    "in_zone",
    "within_limits",
]
