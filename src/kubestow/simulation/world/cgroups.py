"""cgroup v2 settings of containers and pods, from their requests and limits.

Formulas (1.11) to (1.18) of Schubert 2023, section 1.4.1, completed by the rules of the kubelet for
pods that are not Guaranteed (``pkg/kubelet/cm``, memory QoS: KEP 2570).
"""

from __future__ import annotations

from dataclasses import dataclass

from kubestow.model import pods, quantities, requests, resources

PERIOD_US = 100_000  # CFS period, fixed in Kubernetes
_LEAST_QUOTA_US = 1_000  # smallest quota that the kernel accepts
_LEAST_SHARES, _MOST_SHARES = 2, 262_144  # range of the old cpu.shares
_PAGE_BYTES = 4096
_THROTTLING_FACTOR = 0.9  # kubelet's memoryThrottlingFactor

_ZERO = quantities.Quantity(0)


@dataclass(frozen=True, slots=True)
class CgroupSettings:
    """Values that the kubelet writes; ``None`` means ``max``, no limit.

    Attributes:
        memory_min_bytes: Memory that is never reclaimed.
        memory_high_bytes: Memory above which reclaim slows processes down.
        memory_max_bytes: Memory above which the OOM killer acts.
        cpu_weight: Share of CPU under contention, 1 to 10000.
        cpu_quota_us: CPU time per period.
        cpu_period_us: Length of the period.
    """

    memory_min_bytes: int
    memory_high_bytes: int | None
    memory_max_bytes: int | None
    cpu_weight: int
    cpu_quota_us: int | None
    cpu_period_us: int = PERIOD_US


def cpu_weight(cpu_m: int) -> int:
    """Convert a CPU request to a weight, through CPU shares as container runtimes do.

    >>> cpu_weight(0), cpu_weight(1000), cpu_weight(500)
    (1, 39, 20)
    """
    shares = min(max(cpu_m * 1024 // 1000, _LEAST_SHARES), _MOST_SHARES)
    return 1 + (shares - _LEAST_SHARES) * 9999 // (_MOST_SHARES - _LEAST_SHARES)


def cpu_share(cpu_m: int, all_cpu_m: int) -> float:
    """Return the share of a busy node's CPU time that a request guarantees, (1.13) and (1.17).

    >>> cpu_share(500, 2000)
    0.25
    """
    return cpu_m / all_cpu_m if all_cpu_m else 0.0


def container_settings(
    container: pods.Container,
    spec: pods.PodSpec,
    *,
    memory_qos: bool = False,
    node_memory_bytes: int | None = None,
) -> CgroupSettings:
    """Return the settings of a container.

    Args:
        container: The container.
        spec: The pod it belongs to; its QoS class decides on ``memory.high``.
        memory_qos: Whether the MemoryQoS feature is on.
        node_memory_bytes: Used instead of a missing memory limit in ``memory.high``.
    """
    requested = container.requests.get(resources.MEMORY, _ZERO).value()
    limit = _memory_limit(container.limits)
    high = None
    if memory_qos and requests.qos_class(spec) is not requests.QosClass.GUARANTEED:
        ceiling = limit if limit is not None else node_memory_bytes
        high = None if ceiling is None else memory_high(requested, ceiling)
    return CgroupSettings(
        memory_min_bytes=requested if memory_qos else 0,
        memory_high_bytes=high,
        memory_max_bytes=limit,
        cpu_weight=cpu_weight(container.requests.get(resources.CPU, _ZERO).milli()),
        cpu_quota_us=_quota(container.limits),
    )


def pod_settings(pod: pods.Pod, *, memory_qos: bool = False) -> CgroupSettings:
    """Return the settings of a pod: sums over its containers.

    A limit of the pod exists only if every container has one.
    """
    requested = requests.pod_requests(pod)
    limits = requests.pod_limits(pod)
    bounded = {
        name: quantity
        for name, quantity in limits.items()
        if name in (pod.spec.pod_limits or {})
        or all(name in container.limits for container in pod.spec.containers)
    }
    return CgroupSettings(
        memory_min_bytes=requested.get(resources.MEMORY, _ZERO).value() if memory_qos else 0,
        memory_high_bytes=None,
        memory_max_bytes=_memory_limit(bounded),
        cpu_weight=cpu_weight(requested.get(resources.CPU, _ZERO).milli()),
        cpu_quota_us=_quota(bounded),
    )


def memory_high(requested_bytes: int, ceiling_bytes: int) -> int:
    """Return the threshold at which reclaim slows processes down, in whole pages.

    >>> memory_high(0, 10 * 4096), memory_high(4096, 3 * 4096)
    (36864, 8192)
    """
    high = requested_bytes + _THROTTLING_FACTOR * (ceiling_bytes - requested_bytes)
    return int(high // _PAGE_BYTES) * _PAGE_BYTES


def _memory_limit(limits: resources.ResourceList) -> int | None:
    return limits[resources.MEMORY].value() if resources.MEMORY in limits else None


def _quota(limits: resources.ResourceList) -> int | None:
    """Return the quota of a CPU limit: a tenth of a millisecond per millicore and period."""
    if resources.CPU not in limits or limits[resources.CPU].nano == 0:
        return None
    return max(limits[resources.CPU].milli() * PERIOD_US // 1000, _LEAST_QUOTA_US)
