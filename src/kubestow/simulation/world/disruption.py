"""PodDisruptionBudgets: how many pods of a workload may be disrupted voluntarily."""

from __future__ import annotations

from kubestow.simulation import scenarios as spec
from kubestow.simulation.world.actors import LivePod, LiveWorkload


def disruptions_allowed(workload: LiveWorkload) -> int | None:
    """Return how many pods may be disrupted now; ``None`` without a budget.

    As the disruption controller counts: healthy pods are ready and not being deleted (including
    those on a failed node until the failure is noticed); expected pods are the desired replicas.
    """
    budget = workload.spec.disruption
    if budget is None:
        return None
    return max(_healthy(workload) - _wanted(workload, budget), 0)


def _healthy(workload: LiveWorkload) -> int:
    return sum(pod.ready_s is not None for pod in workload.pods.values())


def _wanted(workload: LiveWorkload, budget: spec.Disruption) -> int:
    if budget.min_available is not None:
        return budget.min_available
    return max(workload.replicas - (budget.max_unavailable or 0), 0)


def may_evict(pod: LivePod) -> bool:
    """Return whether the eviction API would allow the eviction of a pod.

    A pod that is not ready does not count as healthy; upstream allows its eviction while the budget
    is met (``IfHealthyBudget``).
    """
    budget = pod.workload.spec.disruption
    if budget is None:
        return True
    spare = _healthy(pod.workload) - _wanted(pod.workload, budget)
    return spare >= 0 if pod.ready_s is None else spare > 0
