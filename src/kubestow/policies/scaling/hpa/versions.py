"""Differences between releases of the HorizontalPodAutoscaler, read from their sources.

``pkg/controller/podautoscaler`` and ``pkg/features/kube_features.go`` of 1.29 to 1.37, feature
gates at their defaults. Only this table depends on versions.
"""

from __future__ import annotations

from dataclasses import dataclass

from kubestow.model import releases

OLDEST, NEWEST = (1, 29), (1, 37)
DEFAULT_VERSION = "1.37"


@dataclass(frozen=True, slots=True)
class HpaFeatures:
    """The behaviour of one release.

    Attributes:
        version: The release, e.g. ``1.37``.
        tolerance_bounds: The tolerance is tested as two bounds of the ratio, not as the distance
            of the ratio from 1, which rounds differently (1.33).
        partial_containers: A pod whose metrics lack the container has no sample; before, the
            whole read failed (1.33).
        pod_level: Pod-level requests replace those of the containers (1.34).
        capped_average: Replicas and sums of external metrics per pod stop at the largest number
            instead of overflowing (1.34).
        configurable_tolerance: ``behavior.*.tolerance`` counts (1.35; alpha and off from 1.33).
        capped_value: The same for values of objects and external metrics (1.35).
        container_required: A pod without the container is an error, not a request of 0 (1.35).
        zero_condition: Only what the controller itself has scaled to zero is scaled up again
            (1.36).
        scale_to_zero: ``minReplicas: 0`` is allowed (1.37; alpha and off before).
        object_last: Errors of object metrics name the object before the cause (1.37).
    """

    version: str
    tolerance_bounds: bool
    partial_containers: bool
    pod_level: bool
    capped_average: bool
    configurable_tolerance: bool
    capped_value: bool
    container_required: bool
    zero_condition: bool
    scale_to_zero: bool
    object_last: bool


def hpa_features(version: str = DEFAULT_VERSION) -> HpaFeatures:
    """Return the behaviour of a release such as ``1.35`` or ``v1.35.4``.

    Raises:
        InputError: If the text is not a version, or its rules are not known.
    """
    release = releases.parse(version, OLDEST, NEWEST)
    return HpaFeatures(
        version=releases.text(release),
        tolerance_bounds=release >= (1, 33),
        partial_containers=release >= (1, 33),
        pod_level=release >= (1, 34),
        capped_average=release >= (1, 34),
        configurable_tolerance=release >= (1, 35),
        capped_value=release >= (1, 35),
        container_required=release >= (1, 35),
        zero_condition=release >= (1, 36),
        scale_to_zero=release >= (1, 37),
        object_last=release >= (1, 37),
    )
