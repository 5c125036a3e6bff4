"""Inputs of the guards around any recommender.

A recommendation passes the guards in a fixed order; each may change it and adds a reason. First
come guards that raise requests (heaps, kills), then those that keep them (small changes,
autoscalers on the same resource), last the hard bounds (LimitRange, largest node, quota). A
recommender knows only the usage of one container. Only the guards know that a pod has to fit a node
as a whole, that a HorizontalPodAutoscaler divides by the request (krr PR 80, autoscaler#8493), and
at which limit a container was OOM-killed before.
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
    """Parameters of the guards.

    Attributes:
        cpu_floor_m: Smallest CPU request, in millicores (krr's floor).
        memory_floor_bytes: Smallest memory request; with less, container runtimes themselves fail.
        memory_headroom: Memory requests are at least the largest usage plus this share of it; 0 for
            none.
        min_change: Changes of a request below this share are not made (VPA's updater: 10 %).
        memory_limit: Memory limit: equal to the request (Böttcher 2023, 3.11), none, or where there
            is one: in proportion as before, or unchanged.
        cpu_limit: CPU limit; none lets containers use idle CPU.
        cpu_step_m: CPU requests are rounded up to multiples of this.
        memory_step_bytes: Memory requests are rounded up to multiples of this.
        oom_ratio: Growth beyond a memory limit at which a container was OOM-killed (VPA's 1.2).
        oom_least_bytes: Smallest such growth (VPA's 100 MiB).
        node_share: Share of the largest node that one pod may request.
    """

    cpu_floor_m: Annotated[int, decoding.ValueBounds(least=0)] = 10
    memory_floor_bytes: Annotated[int, decoding.ValueBounds(least=0)] = 32 * MIB
    memory_headroom: Share = 0.0
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
    """Facts about a workload other than its usage; amounts in millicores and bytes.

    Attributes:
        current: Current requests and limits by container.
        replicas: Number of its pods.
        oom_killed_bytes: Largest memory limit (or request) at which a container was OOM-killed.
        peak_bytes: Largest memory usage by container, where it is known.
        node: Allocatable of the largest schedulable node; ``None`` does not cap pods.
        ranges: LimitRanges of the namespace.
        quota: Unused part of the namespace's quota, by ``requests.cpu`` and so on.
        autoscaled: Target utilisation in percent, by resource, of a HorizontalPodAutoscaler.
        heaps: Java heaps by container.
        quality: Quality-of-service class of the pods.
    """

    current: Mapping[str, ContainerResources] = field(default_factory=dict)
    replicas: int = 1
    oom_killed_bytes: Mapping[str, int] = field(default_factory=dict)
    peak_bytes: Mapping[str, float] = field(default_factory=dict)
    node: Amounts | None = None
    ranges: limit_ranges.LimitRanges = field(default_factory=limit_ranges.LimitRanges)
    quota: Amounts = field(default_factory=dict)
    autoscaled: Mapping[str, int] = field(default_factory=dict)
    heaps: Mapping[str, heaps.JavaHeap] = field(default_factory=dict)
    quality: requests.QosClass = requests.QosClass.BURSTABLE

    def request(self, container: str, resource: str) -> int:
        """Return a container's current request; 0 if there is none."""
        return _amount(self.current.get(container), resource, limit=False)

    def limit(self, container: str, resource: str) -> int:
        """Return a container's current limit; 0 if there is none."""
        return _amount(self.current.get(container), resource, limit=True)


GuardedPod = tuple[Recommendation, ...]


def _amount(container: ContainerResources | None, resource: str, *, limit: bool) -> int:
    if container is None:
        return 0
    stated = container.limits if limit else container.requests
    return int(resources.amount(resource, stated[resource])) if resource in stated else 0
