"""The arithmetic of ``clbp``: pod types and balance, on arrays of resources by nodes.

Shi 2023, (4.2)-(4.11). For a resource with load shares ``P`` of ``N`` nodes and a pod that takes
the share ``p`` of node ``j``, the sum of squared deviations from the mean grows by

    growth_j = 2 p_j (P_j - Avg) + p_j^2 (1 - 1/N),

so that the standard deviation (4.9) is ``D_j = sqrt((squares + growth_j) / N)`` without a loop.
Nodes are the second axis, for there are many of them: numpy is quick along the last one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kubestow.policies.placing import clbp_parameters
from kubestow.policies.placing.terms import MAX_SCORE, Floats, Ints, Mask

# Standard deviations that differ by less are equal: roots of sums that cancel are not exact.
_ROUNDING = 1e-9
# CPU, disk I/O and network, in the order that decides where shares are equal.
_DECIDING = (0, 3, 2)
_KINDS = np.array(
    [clbp_parameters.COMPUTE, clbp_parameters.DISK_BOUND, clbp_parameters.NETWORK_BOUND]
)


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Nodes and the pod in shares of what nodes offer, all ``[resources, nodes]``.

    Attributes:
        load: What is in use; 0 where nothing is offered.
        pod: What the pod takes; 0 where nothing is offered.
        offered: Whether the node offers the resource.
    """

    load: Floats
    pod: Floats
    offered: Mask

    def take(self, rows: Ints) -> Shares:
        """Return some of the nodes."""
        # Indexing would leave nodes on the first axis in memory.
        return Shares(
            self.load.take(rows, axis=1),
            self.pod.take(rows, axis=1),
            self.offered.take(rows, axis=1),
        )


def make_shares(load: Floats, demand: Floats, capacity: Floats) -> Shares:
    """Return amounts as shares of the capacity; resources a node has not are left out."""
    offered = capacity > 0.0
    found = np.zeros_like(capacity)
    taken = np.zeros_like(capacity)
    # Quotients, not products with the inverse: 600 of 4000 is to be 0.15 to the last digit.
    np.divide(load, capacity, out=found, where=offered)
    np.divide(demand[:, None], capacity, out=taken, where=offered)
    return Shares(found, taken, offered)


def classify(shares: Shares, intensive: float) -> Ints:
    """Return the type of the pod on every node (table 4.2).

    The largest of the shares of free CPU, disk I/O and network that reach the threshold decides, in
    this order where they are equal; that covers every row of the table and the case of all three.
    """
    kinds = np.full(shares.load.shape[1], clbp_parameters.ORDINARY, dtype=np.int64)
    largest = np.zeros(len(kinds))
    for resource, kind in zip(_DECIDING, _KINDS, strict=True):
        free, wanted = 1.0 - shares.load[resource], shares.pod[resource]
        taken = np.where(wanted > 0.0, np.inf, 0.0)
        np.divide(wanted, free, out=taken, where=free > 0.0)
        decides = (taken >= intensive) & (taken > largest)
        kinds[decides] = kind
        largest[decides] = taken[decides]
    return kinds


def growth(candidates: Shares, among: Shares) -> tuple[Floats, Floats, Floats]:
    """Return by how much the pod makes squared deviations grow on each candidate.

    Args:
        candidates: Where the pod could go.
        among: The nodes whose loads are to be alike, the candidates among them.

    Returns:
        Growth ``[resources, candidates]``; the sum of squared deviations before and the number of
        nodes per resource.
    """
    count = among.offered.sum(axis=1).astype(np.float64)
    some = np.maximum(count, 1.0)
    mean = (among.load.sum(axis=1) / some)[:, None]
    squares = ((among.load - mean) ** 2 * among.offered).sum(axis=1)
    rest = (1.0 - 1.0 / some)[:, None]
    grown = candidates.pod * (2.0 * (candidates.load - mean) + candidates.pod * rest)
    return grown, squares, count


def printed_scores(candidates: Shares) -> Floats:
    """Return the scores of every resource as printed, 0 to 10 (4.10): each is stretched by itself.

    Where all candidates are equal (or there is one) all have 10, which the thesis leaves open.
    """
    grown, squares, count = growth(candidates, candidates)
    inside = np.maximum(squares[:, None] + grown, 0.0) / np.maximum(count, 1.0)[:, None]
    deviation = np.sqrt(inside)
    low = np.where(candidates.offered, deviation, np.inf).min(axis=1)
    high = np.where(candidates.offered, deviation, -np.inf).max(axis=1)
    wide = high - low > _ROUNDING
    scale = np.where(wide, high - low, 1.0)[:, None]
    low = np.where(wide, low, 0.0)[:, None]
    scores = MAX_SCORE * np.where(wide[:, None], 1.0 - (deviation - low) / scale, 1.0)
    return np.where(candidates.offered, scores, 0.0)


def reductions(candidates: Shares, among: Shares) -> Floats:
    """Return how much less squared deviation each candidate means than the worst of them."""
    grown, _, _ = growth(candidates, among)
    worst = np.where(candidates.offered, grown, -np.inf).max(axis=1)
    return np.where(candidates.offered, worst[:, None] - grown, 0.0)
