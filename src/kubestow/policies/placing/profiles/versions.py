"""Differences between releases of kube-scheduler, from their sources.

Each flag gives the first release that has it; no other module compares versions.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubestow.model import releases

OLDEST_VERSION, NEWEST_VERSION = (1, 29), (1, 37)
DEFAULT_VERSION = "1.37"


@dataclass(frozen=True, slots=True)
class SchedulerFeatures:
    """The behaviour of one release.

    Attributes:
        version: The release, e.g. ``1.37``.
        init_images: ImageLocality counts images of init containers (1.30).
        resized_pods: In-place resize: the resources in a pod's status count (1.33).
        sidecar_ports: Host ports of sidecars count (1.33).
        best_effort_unbalanced: BalancedAllocation skips pods without requests (1.33).
        pod_level: Pod-level resources count (1.34).
        anonymous_taints: A rejection no longer names the taint (1.34).
        balance_change: BalancedAllocation scores the change of balance, not the balance (1.36).
        image_volumes: ImageLocality counts image volumes (1.36).
        volume_attachments: NodeVolumeLimits counts VolumeAttachments, and no longer reads limits
            from the allocatable resources of nodes (1.32).
        volume_affinity_text: The rejection speaks of the volume's node affinity (1.33).
        one_pod_text: The rejection because of ReadWriteOncePod no longer speaks of a node (1.34).
        volume_attributes: A volume must have the VolumeAttributesClass of its claim (1.34).
        missing_drivers: NodeVolumeLimits rejects nodes without a driver that must run (1.37).
        capacity_scores: VolumeBinding scores nodes by storage capacity (1.37).
    """

    version: str
    init_images: bool
    resized_pods: bool
    sidecar_ports: bool
    best_effort_unbalanced: bool
    pod_level: bool
    anonymous_taints: bool
    balance_change: bool
    image_volumes: bool
    volume_attachments: bool
    volume_affinity_text: bool
    one_pod_text: bool
    volume_attributes: bool
    missing_drivers: bool
    capacity_scores: bool


def scheduler_features(version: str = DEFAULT_VERSION) -> SchedulerFeatures:
    """Return the behaviour of a release such as ``1.35`` or ``v1.35.4``.

    Raises:
        InputError: If the text is not a version, or the release is not supported.
    """
    release = releases.parse(version, OLDEST_VERSION, NEWEST_VERSION)
    return SchedulerFeatures(
        version=releases.text(release),
        init_images=release >= (1, 30),
        resized_pods=release >= (1, 33),
        sidecar_ports=release >= (1, 33),
        best_effort_unbalanced=release >= (1, 33),
        pod_level=release >= (1, 34),
        anonymous_taints=release >= (1, 34),
        balance_change=release >= (1, 36),
        image_volumes=release >= (1, 36),
        volume_attachments=release >= (1, 32),
        volume_affinity_text=release >= (1, 33),
        one_pod_text=release >= (1, 34),
        volume_attributes=release >= (1, 34),
        missing_drivers=release >= (1, 37),
        capacity_scores=release >= (1, 37),
    )
