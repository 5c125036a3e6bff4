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
    )
