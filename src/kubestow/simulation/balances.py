"""How evenly and how well nodes are used, at one moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NEAR_EMPTY = 0.1  # share of requests below which a node could be given back


@dataclass(frozen=True, slots=True, eq=False)
class NodeTable:
    """What nodes have, what is requested of them, what is used (cores and bytes)."""

    cores: Floats
    room: Floats
    allocatable_cpu: Floats
    allocatable_memory: Floats
    requested_cpu: Floats
    requested_memory: Floats
    used_cpu: Floats
    used_memory: Floats


def measure(nodes: NodeTable) -> dict[str, float]:
    """Return the measures of one moment.

    ``imbalance_*`` is the standard deviation of utilisation over nodes, ``jain_*`` Jain's index
    (1: all alike, 1/n: one has everything), ``requested_deviation_*`` the standard deviation of
    requests; ``fragmentation`` the share of free capacity that is stranded because the other
    resource of the same node is scarcer; ``near_empty`` the nodes with less than a tenth requested
    in both; ``unused_*`` what is requested and not used.
    """
    if not len(nodes.cores):
        return {}
    cpu, memory = nodes.used_cpu / nodes.cores, nodes.used_memory / nodes.room
    asked_cpu = nodes.requested_cpu / nodes.allocatable_cpu
    asked_memory = nodes.requested_memory / nodes.allocatable_memory
    return {
        "imbalance_cpu": float(cpu.std()),
        "imbalance_memory": float(memory.std()),
        "jain_cpu": jain(cpu),
        "jain_memory": jain(memory),
        "requested_deviation_cpu": float(asked_cpu.std()),
        "requested_deviation_memory": float(asked_memory.std()),
        "utilization_cpu": float(nodes.used_cpu.sum() / nodes.cores.sum()),
        "utilization_memory": float(nodes.used_memory.sum() / nodes.room.sum()),
        "requested_cpu": float(nodes.requested_cpu.sum() / nodes.allocatable_cpu.sum()),
        "requested_memory": float(nodes.requested_memory.sum() / nodes.allocatable_memory.sum()),
        "fragmentation": fragmentation(asked_cpu, asked_memory),
        "near_empty": float(np.count_nonzero(np.maximum(asked_cpu, asked_memory) < NEAR_EMPTY)),
        "unused_cpu": float(np.maximum(nodes.requested_cpu - nodes.used_cpu, 0.0).sum()),
        "unused_memory": float(np.maximum(nodes.requested_memory - nodes.used_memory, 0.0).sum()),
    }


def jain(shares: Floats) -> float:
    """Return Jain's fairness index; 1 where nothing is used at all.

    >>> jain(np.array([1.0, 0.0])), jain(np.array([0.3, 0.3]))
    (0.5, 1.0)
    """
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (len(shares) * squares) if squares > 0.0 else 1.0


def fragmentation(asked_cpu: Floats, asked_memory: Floats) -> float:
    """Return the share of free capacity beyond what the scarcer resource of its node lets use.

    >>> fragmentation(np.array([0.5]), np.array([1.0]))  # half the cores free, no memory
    1.0
    """
    free = np.clip(1.0 - np.stack([asked_cpu, asked_memory]), 0.0, 1.0)
    most, least = free.max(axis=0).sum(), free.min(axis=0).sum()
    return float((most - least) / most) if most > 0.0 else 0.0
