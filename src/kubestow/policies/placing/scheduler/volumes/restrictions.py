"""Disks and claims that only one pod may use (plugin VolumeRestrictions)."""

from __future__ import annotations

import numpy as np

from kubestow.model import volumes
from kubestow.policies.placing.scheduler.cycle import Cycle, FilterVerdict
from kubestow.policies.placing.scheduler.volumes import lookups

_OLD_TEXT = (
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
)
_TEXT = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)


def check_modes(cycle: Cycle) -> None:
    """Refuse a pod whose claims do not exist, because their access modes are needed.

    Raises:
        Conflict: If a claim does not exist.
    """
    for _ in lookups.named_claims(cycle):
        pass


def free_disks(cycle: Cycle) -> FilterVerdict | None:
    """Filter out nodes with a conflicting disk, and all if another pod uses an exclusive claim."""
    if not cycle.pod.volumes:
        return None
    state = cycle.state
    exclusive = any(
        volumes.ONE_POD in claim.spec.access_modes and state.volumes.references[claim.key] > 0
        for claim in lookups.named_claims(cycle)
    )
    disks = [volume.disk for volume in cycle.pod.volumes if volume.disk is not None]
    if not exclusive and not disks:
        return None
    taken = np.zeros(len(state), dtype=np.bool_)
    for disk in disks:
        taken[state.volumes.conflicting(disk)] = True

    def explain(row: int) -> str:
        if taken[row]:
            return "node(s) had no available disk"
        return _TEXT if cycle.features.one_pod_text else _OLD_TEXT

    return FilterVerdict(np.zeros_like(taken) if exclusive else ~taken, explain)
