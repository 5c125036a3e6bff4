"""PodDisruptionBudgets: how many pods of a workload may be taken away by choice."""

from __future__ import annotations

from kubestow.simulation.actors import LivePod, LiveWorkload, Phase


def allowed(workload: LiveWorkload) -> int | None:
    """Return how many pods may be disrupted now; ``None`` without a budget.

    As the disruption controller counts: healthy pods are ready ones that are not being deleted, and
    expected ones are the replicas the controller wants.
    """
    budget = workload.spec.disruption
    if budget is None:
        return None
    healthy = sum(pod.phase is Phase.READY for pod in workload.pods.values())
    if budget.min_available is not None:
        wanted = budget.min_available
    else:
        wanted = workload.replicas - (budget.max_unavailable or 0)
    return max(healthy - max(wanted, 0), 0)


def may_evict(pod: LivePod) -> bool:
    """Tell whether the eviction API would let a pod go.

    A pod that is not ready does not count as healthy; upstream lets it go while the budget itself
    is met (``IfHealthyBudget``).
    """
    allowance = allowed(pod.workload)
    if allowance is None or allowance > 0:
        return True
    if pod.phase is Phase.READY:
        return False
    budget = pod.workload.spec.disruption
    healthy = sum(other.phase is Phase.READY for other in pod.workload.pods.values())
    if budget is None:
        return True
    if budget.min_available is not None:
        return healthy >= budget.min_available
    return healthy >= pod.workload.replicas - (budget.max_unavailable or 0)
