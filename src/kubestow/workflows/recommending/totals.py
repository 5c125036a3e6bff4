"""Totals of recommendations: cores and memory freed, nodes saved, severities."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kubestow.model import resources, usage
from kubestow.model.keys import WorkloadKey
from kubestow.policies.placing.packing import HEURISTICS, make_instance, pack
from kubestow.policies.sizing.recommendations import Recommendation

CPU, MEMORY = resources.CPU, resources.MEMORY
_HEURISTIC: Final = "adaptive"
_MIB: Final = 2**20
# Smallest change per pod of each severity: millicores and bytes (the steps of krr).
_STEPS: Final = (
    ("high", 500, 500 * _MIB),
    ("medium", 250, 250 * _MIB),
    ("low", 100, 100 * _MIB),
)


class Severity(enum.StrEnum):
    """Severity of a recommendation."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    NONE = "none"


ORDER: Final = tuple(Severity)
"""From the most to the least urgent."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of all recommendations.

    Attributes:
        containers: Number of containers with a recommendation.
        suitable: Number of suitable ones among them.
        cpu_freed_m: Millicores freed; negative if more are needed.
        memory_freed_bytes: Bytes freed; negative if more are needed.
        cpu_now_m: Millicores requested now.
        memory_now_bytes: Bytes requested now.
        nodes_now: Nodes that the pods need now, packed; ``None`` if no node is known.
        nodes_then: Nodes that they would need.
        cpu_bare_m: 95th percentiles of CPU usage, summed over all pods.
        memory_bare_bytes: Peaks of memory usage, summed over all pods.
        cpu_safety_m: Millicores requested beyond ``cpu_bare_m``: margins, headroom and floors.
        memory_safety_bytes: Bytes requested beyond ``memory_bare_bytes``.
        unknown: Containers without a CPU request or recommendation, which do not count above.
    """

    containers: int
    suitable: int
    cpu_freed_m: int
    memory_freed_bytes: int
    cpu_now_m: int
    memory_now_bytes: int
    nodes_now: int | None
    nodes_then: int | None
    unknown: int
    cpu_bare_m: int = 0
    memory_bare_bytes: int = 0
    cpu_safety_m: int = 0
    memory_safety_bytes: int = 0


def severity(one: Recommendation) -> Severity:
    """Return the severity of a recommendation.

    Critical is what fails now: a container that was OOM-killed, or whose memory request is below
    its peak usage and grows. Otherwise the larger of both changes decides.
    """
    now, recommended = one.current_amount(MEMORY), one.requests.get(MEMORY)
    grows = now is not None and recommended is not None and recommended > now
    if one.usage.oom_kills or (grows and now is not None and now < one.usage.peak_bytes):
        return Severity.CRITICAL
    changes = {}
    for name in (CPU, MEMORY):
        before, after = one.current_amount(name) or 0, one.requests.get(name)
        changes[name] = abs(after - before) if after is not None else 0
    for word, cpu_m, size in _STEPS:
        if changes[CPU] >= cpu_m or changes[MEMORY] >= size:
            return Severity(word)
    return Severity.NONE


def is_urgent(one: Recommendation, least: Severity) -> bool:
    """Return whether a recommendation has this severity or a higher one."""
    return ORDER.index(severity(one)) <= ORDER.index(least)


def add_up(
    recommendations: Sequence[Recommendation],
    inventory: usage.Inventory,
    others: Sequence[Recommendation] = (),
) -> Totals:
    """Add up recommendations, and pack the pods before and after.

    Args:
        recommendations: Recommendations to apply.
        inventory: Nodes and replicas.
        others: Recommendations that are not applied: their containers keep their requests.
    """
    counted = [
        one for one in recommendations if one.current_amount(CPU) is not None and one.requests
    ]
    nodes_now = nodes_then = None
    if inventory.nodes and counted:
        kept = [(one, False) for one in others]
        nodes_now = _pack([*((one, False) for one in recommendations), *kept], inventory)
        nodes_then = _pack([*((one, True) for one in recommendations), *kept], inventory)
    return Totals(
        containers=len(recommendations),
        suitable=sum(one.suitable for one in recommendations),
        cpu_freed_m=sum(one.freed(CPU) for one in recommendations),
        memory_freed_bytes=sum(one.freed(MEMORY) for one in recommendations),
        cpu_now_m=sum((one.current_amount(CPU) or 0) * one.replicas for one in recommendations),
        memory_now_bytes=sum(
            (one.current_amount(MEMORY) or 0) * one.replicas for one in recommendations
        ),
        nodes_now=nodes_now,
        nodes_then=nodes_then,
        unknown=len(recommendations) - len(counted),
        cpu_bare_m=sum(one.bare(CPU) * one.replicas for one in recommendations),
        memory_bare_bytes=sum(one.bare(MEMORY) * one.replicas for one in recommendations),
        cpu_safety_m=sum(one.safety(CPU) for one in recommendations),
        memory_safety_bytes=sum(one.safety(MEMORY) for one in recommendations),
    )


def _pack(
    recommendations: Sequence[tuple[Recommendation, bool]], inventory: usage.Inventory
) -> int:
    """Return how many nodes of the most common size the pods need, largest pods first.

    Args:
        recommendations: Recommendations, each with whether it is applied.
        inventory: Nodes and replicas.
    """
    pods: dict[WorkloadKey, list[float]] = {}
    replicas: dict[WorkloadKey, int] = {}
    for one, after in recommendations:
        sums = pods.setdefault(one.key.of, [0.0, 0.0])
        replicas[one.key.of] = max(replicas.get(one.key.of, 0), one.replicas)
        for place, name in enumerate((CPU, MEMORY)):
            now = one.current_amount(name) or 0
            sums[place] += one.requests.get(name, now) if after else now
    demands = np.repeat(np.array(list(pods.values())), [replicas[key] for key in pods], axis=0)
    capacity = _usual_node(inventory)
    demands = demands[np.argsort(-(demands / capacity).max(axis=1), kind="stable")]
    # Pods are the third resource: the number per node is limited.
    whole = np.column_stack([demands, np.ones(len(demands))])
    most_pods = np.array([[*capacity, _pods_per_node(inventory)]])
    instance = make_instance(
        whole, most_pods, name="recommended", resources=(CPU, MEMORY, resources.PODS)
    )
    packing = pack(instance, HEURISTICS.get(_HEURISTIC))
    # A pod that fits no node counts as a node.
    return packing.opened + len(packing.unplaced)


def _usual_node(inventory: usage.Inventory) -> NDArray[np.float64]:
    shapes = [
        tuple(float(resources.amount(name, stated[name])) for name in (CPU, MEMORY))
        for stated in inventory.nodes.values()
    ]
    return np.array(max(sorted(set(shapes)), key=shapes.count))


def _pods_per_node(inventory: usage.Inventory) -> float:
    stated = [
        float(resources.amount(resources.PODS, one[resources.PODS]))
        for one in inventory.nodes.values()
        if resources.PODS in one
    ]
    return max(stated, default=110.0)  # the default of the kubelet
