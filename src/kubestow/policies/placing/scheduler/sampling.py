"""How many nodes kube-scheduler looks at (``pkg/scheduler/schedule_one.go``, 1.37).

In clusters of 100 nodes and more it stops when enough feasible nodes are found, and the next pod
begins where it stopped. Upstream filters in parallel, so that the set it stops with depends on
goroutines; here nodes are taken strictly in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kubestow.model import arrays

LEAST_NODES = 100  # minFeasibleNodesToFind
LEAST_PERCENTAGE = 5  # minFeasibleNodesPercentageToFind


@dataclass(frozen=True, slots=True)
class NodeSample:
    """Where to begin, and what share of the nodes to look for.

    Attributes:
        start: Row of the first node.
        percentage: Share of all nodes that is enough; 0 lets the size of the cluster decide.
    """

    start: int = 0
    percentage: int = 0


def enough(nodes: int, percentage: int = 0) -> int:
    """Return how many feasible nodes are enough.

    >>> enough(99), enough(1000), enough(5000), enough(20000)
    (99, 420, 500, 1000)
    """
    if nodes < LEAST_NODES:
        return nodes
    if percentage == 0:
        percentage = max(50 - nodes // 125, LEAST_PERCENTAGE)
    return max(nodes * percentage // 100, LEAST_NODES)


def take(feasible: arrays.Ints, nodes: int, sample: NodeSample) -> tuple[arrays.Ints, int]:
    """Return the feasible rows that are looked at, and where the next look begins.

    Args:
        feasible: Rows of all feasible nodes, rising.
        nodes: How many nodes there are.
        sample: Where to begin, and how many are enough.
    """
    wanted = enough(nodes, sample.percentage)
    start = sample.start % nodes if nodes else 0
    if len(feasible) <= wanted:
        return feasible, start  # all nodes were looked at
    split = int(feasible.searchsorted(start))
    ordered = np.concatenate([feasible[split:], feasible[:split]])
    # Upstream stops at the first feasible node beyond those, and begins there the next time.
    return ordered[:wanted], int(ordered[wanted])
