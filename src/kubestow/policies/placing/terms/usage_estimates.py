"""What a pod will use that no metric shows yet.

Its request, or what was recommended for it where that is known. A container that states nothing
(best effort) would otherwise weigh nothing: Trimaran takes its limit, and one core where it has
none (``DefaultRequestsMilliCores`` of scheduler-plugins, ``apis/config/v1/defaults.go``); memory is
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
    """Return what a pod is expected to use, in the scheduler's integers by resource.

    Args:
        pod: The pod.
        recommended: Amounts that count instead of the request, in the same integers.
    """
    if requests.sets_pod_level_requests(pod.spec):
        wanted = {**_ASSUMED, **requests.pod_requests(pod)}
    else:
        wanted = requests.aggregate(pod.spec, _stated, _ASSUMED)
        if pod.spec.overhead:
            wanted = resources.add([wanted, pod.spec.overhead])
    return {**resources.amounts(wanted), **(recommended or {})}


def _stated(container: pods.Container) -> resources.ResourceList:
    """Return requests, completed by limits as the API server does for new pods."""
    return {**container.limits, **container.requests}
