"""Expected usage of a pod that metrics do not cover yet.

It is the recommendation where known, else the request. A container without requests (best effort)
would otherwise count 0: as in Trimaran it counts its limit, or one core without a limit
(``DefaultRequestsMilliCores`` of scheduler-plugins, ``apis/config/v1/defaults.go``); memory is
what kube-scheduler assumes in its scores, 200 MiB.
"""

from __future__ import annotations

from collections.abc import Mapping

from kubestow.model import pods, quantities, requests, resources

BEST_EFFORT_CPU_M = 1000
BEST_EFFORT_MEMORY_BYTES = requests.DEFAULT_MEMORY_BYTES
_ASSUMED: resources.ResourceList = {
    resources.CPU: quantities.millis(BEST_EFFORT_CPU_M),
    resources.MEMORY: quantities.units(BEST_EFFORT_MEMORY_BYTES),
}


def estimate_usage(pod: pods.Pod, recommended: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the expected usage of a pod by resource, in the scheduler's integers.

    Args:
        pod: The pod.
        recommended: Amounts that replace the request, in the same integers.
    """
    if requests.sets_pod_level_requests(pod.spec):
        expected = {**_ASSUMED, **requests.pod_requests(pod)}
    else:
        expected = requests.aggregate(pod.spec, _stated, _ASSUMED)
        if pod.spec.overhead:
            expected = resources.add([expected, pod.spec.overhead])
    return {**resources.amounts(expected), **(recommended or {})}


def _stated(container: pods.Container) -> resources.ResourceList:
    """Return requests, defaulted from limits as the API server does for new pods."""
    return {**container.limits, **container.requests}
