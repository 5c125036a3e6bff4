"""How many nodes kube-scheduler evaluates (``pkg/scheduler/schedule_one.go``, 1.37).

In clusters of 100 or more nodes it stops once it has enough feasible nodes, and the next pod
starts where it stopped. Upstream filters in parallel, so its set depends on goroutine timing;
here nodes are taken strictly in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kubestow.model import arrays

LEAST_NODES = 100  # minFeasibleNodesToFind
LEAST_PERCENTAGE = 5  # minFeasibleNodesPercentageToFind


@dataclass(frozen=True, slots=True)
class NodeSample:
    """Where to start, and what share of the nodes is enough.

    Attributes:
        start: Row of the first node.
        percentage: Share of all nodes that is enough; 0 derives it from the size of the cluster.
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
    """Return the feasible rows of the sample, and where the next sample starts.

    Args:
        feasible: Rows of all feasible nodes, ascending.
        nodes: Number of nodes.
        sample: Where to start, and what share is enough.
    """
    limit = enough(nodes, sample.percentage)
    start = sample.start % nodes if nodes else 0
    if len(feasible) <= limit:
        return feasible, start  # all nodes were evaluated
    split = int(feasible.searchsorted(start))
    ordered = np.concatenate([feasible[split:], feasible[:split]])
    # Upstream stops at the first feasible node beyond those, and starts there the next time.
    return ordered[:limit], int(ordered[limit])
