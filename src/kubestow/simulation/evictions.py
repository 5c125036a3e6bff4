"""Which pods a node under pressure gives up first (``pkg/kubelet/eviction``, 1.37).

First those that use more than they request; among equals the one of lower priority; then the one
furthest above its request. So BestEffort goes before Burstable before Guaranteed, unless priorities
say otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PodUse:
    """A running pod: what it uses and requests of the scarce resource, and its priority."""

    name: str
    used: int
    requested: int
    priority: int = 0

    @property
    def excess(self) -> int:
        """Use above the request; negative below it."""
        return self.used - self.requested


def eviction_order(running: Iterable[PodUse]) -> list[PodUse]:
    """Return pods in the order in which they are evicted; ties keep their order."""
    return sorted(running, key=lambda pod: (pod.excess <= 0, pod.priority, -pod.excess))


def evict(running: Iterable[PodUse], to_free: int) -> list[PodUse]:
    """Return the pods that are evicted until so much of the resource is free again."""
    evicted = []
    for pod in eviction_order(running):
        if to_free <= 0:
            break
        evicted.append(pod)
        to_free -= pod.used
    return evicted
