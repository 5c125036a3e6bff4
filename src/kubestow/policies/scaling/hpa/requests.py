"""A pod's request as the autoscaler counts it: ``calculateRequests``, by version.

It differs from the scheduler's sum: init containers that end do not count, and a container without
a request makes the whole pod's request unknown.
"""

from __future__ import annotations

from kubestow.model import pods
from kubestow.model import requests as model_requests
from kubestow.policies.scaling import observations
from kubestow.policies.scaling.hpa import go_arithmetic, versions


def request_milli(
    pod: pods.Pod, resource: str, container: str, features: versions.HpaFeatures
) -> int:
    """Return the request of a pod, or of one container, in thousandths.

    Args:
        pod: The pod.
        resource: Name of the resource.
        container: Name of the container; empty for the whole pod.
        features: The behaviour of the release.

    Returns:
        The request; ``NO_REQUEST`` or ``NO_CONTAINER`` where there is none.
    """
    spec = pod.spec
    if features.pod_level and not container and model_requests.sets_pod_level_requests(spec):
        whole = model_requests.pod_requests(pod).get(resource)
        return observations.NO_REQUEST if whole is None else go_arithmetic.milli(whole)
    lasting = (*spec.containers, *(c for c in spec.init_containers if c.sidecar))
    counted = [c for c in lasting if container in ("", c.name)]
    if container and not counted:
        return observations.NO_CONTAINER
    if any(resource not in c.requests for c in counted):
        return observations.NO_REQUEST
    return sum(go_arithmetic.milli(c.requests[resource]) for c in counted)
