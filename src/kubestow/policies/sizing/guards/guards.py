"""Guards around any recommender: what a cluster, a namespace and common sense allow.

A recommendation goes through the guards in a fixed order; each may change it and adds a reason.
First what speaks for more (heaps, kills), then what keeps things as they are (small changes,
autoscalers on the same resource), at last what nobody can exceed (LimitRange, largest node, quota).
A recommender knows usage of one container; that a pod has to fit a node as a whole, that a
HorizontalPodAutoscaler divides by the request (krr PR 80, autoscaler#8493), that a value was
killed before, only the guards know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from kubestow.model import decoding, limit_ranges, requests, resources
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing.guards import heaps
from kubestow.policies.sizing.recommendations import Amounts, Recommendation

CPU, MEMORY = resources.CPU, resources.MEMORY
MIB: Final = 2**20
LimitRule = Literal["none", "request", "ratio", "keep"]
Share = Annotated[float, decoding.ValueBounds(least=0.0)]


@dataclass(frozen=True, slots=True)
class GuardParameters:
    """What the guards go by.

    Attributes:
        cpu_floor_m: Least CPU request, in millicores (krr's floor).
        memory_floor_bytes: Least memory request; below, container runtimes themselves starve.
        min_change: Changes of a request below this share are not made (VPA's updater: 10 %).
        memory_limit: Memory limit: that of the request (Böttcher 2023, 3.11), none, in proportion
            as before, or as it is.
        cpu_limit: CPU limit; none lets containers use what is idle.
        cpu_step_m: CPU requests are rounded up to this.
        memory_step_bytes: Memory requests are rounded up to this.
        oom_ratio: Growth beyond a memory limit a container was killed at (VPA's 1.2).
        oom_least_bytes: Least such growth (VPA's 100 MiB).
        node_share: Share of the largest node one pod may take.
    """

    cpu_floor_m: Annotated[int, decoding.ValueBounds(least=0)] = 10
    memory_floor_bytes: Annotated[int, decoding.ValueBounds(least=0)] = 32 * MIB
    min_change: Share = 0.1
    memory_limit: LimitRule = "request"
    cpu_limit: LimitRule = "none"
    cpu_step_m: Annotated[int, decoding.ValueBounds(least=1)] = 1
    memory_step_bytes: Annotated[int, decoding.ValueBounds(least=1)] = MIB
    oom_ratio: Annotated[float, decoding.ValueBounds(least=1.0)] = 1.2
    oom_least_bytes: Annotated[int, decoding.ValueBounds(least=0)] = 100 * MIB
    node_share: Annotated[float, decoding.ValueBounds(above=0.0, most=1.0)] = 1.0


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What is known of a workload beside its usage; amounts in millicores and bytes.

    Attributes:
        current: Requests and limits of its containers.
        replicas: How many pods it has.
        oom_killed_bytes: Largest memory limit (or request) a container was OOM-killed at.
        node: What the largest schedulable node can give to a pod; without it pods are not capped.
        ranges: LimitRanges of the namespace.
        quota: What is left of the namespace's quota, by ``requests.cpu`` and so on.
        autoscaled: Target utilisation in percent, by resource, of a HorizontalPodAutoscaler.
        heaps: Java heaps by container.
        quality: Class of the pods.
    """

    current: Mapping[str, ContainerResources] = field(default_factory=dict)
    replicas: int = 1
    oom_killed_bytes: Mapping[str, int] = field(default_factory=dict)
    node: Amounts | None = None
    ranges: limit_ranges.LimitRanges = field(default_factory=limit_ranges.LimitRanges)
    quota: Amounts = field(default_factory=dict)
    autoscaled: Mapping[str, int] = field(default_factory=dict)
    heaps: Mapping[str, heaps.JavaHeap] = field(default_factory=dict)
    quality: requests.QosClass = requests.QosClass.BURSTABLE

    def request(self, container: str, resource: str) -> int:
        """Return what a container requests now; 0 if it does not."""
        return _amount(self.current.get(container), resource, limit=False)

    def limit(self, container: str, resource: str) -> int:
        """Return what a container is limited to now; 0 if it is not."""
        return _amount(self.current.get(container), resource, limit=True)


GuardedPod = tuple[Recommendation, ...]


def _amount(found: ContainerResources | None, resource: str, *, limit: bool) -> int:
    if found is None:
        return 0
    stated = found.limits if limit else found.requests
    return int(resources.amount(resource, stated[resource])) if resource in stated else 0
