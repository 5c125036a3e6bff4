"""PodDisruptionBudgets: how many pods of a workload may be taken away by choice."""

from __future__ import annotations

from kubestow.simulation import scenarios as spec
from kubestow.simulation.world.actors import LivePod, LiveWorkload


def disruptions_allowed(workload: LiveWorkload) -> int | None:
    """Return how many pods may be disrupted now; ``None`` without a budget.

    As the disruption controller counts: healthy pods are ready ones that are not being deleted
    (those on a dead node among them, until that is noticed), and expected ones are the replicas the
    controller wants.
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
    """Tell whether the eviction API would let a pod go.

    A pod that is not ready does not count as healthy; upstream lets it go while the budget itself
    is met (``IfHealthyBudget``).
    """
    budget = pod.workload.spec.disruption
    if budget is None:
        return True
    spare = _healthy(pod.workload) - _wanted(pod.workload, budget)
    return spare >= 0 if pod.ready_s is None else spare > 0
