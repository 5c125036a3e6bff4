"""Lower bounds on the number of nodes that hold an item, with constraints.

The bounds of ``packing`` hold with constraints, too, since these only forbid. More follow from
them: classes that never share a node (``conflict``), classes confined to separate sets of nodes
(``separate``), and hard spread constraints (``spread``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing import packing
from kubestow.policies.placing.repacking.constraints import Constraints
from kubestow.policies.placing.repacking.problems import Repacking

Budget = Callable[[], float]

MOST_COMPARED = 400
"""Most classes for which all pairs are compared."""

MOST_SETS = 60
"""Most sets of nodes that get a bound of their own."""


def lower_bound(
    problem: Repacking, constraints: Constraints, budget: Budget, target: int
) -> packing.Bound:
    """Return the best lower bound that the budget allows.

    Args:
        problem: What to pack.
        constraints: Its conditions between items.
        budget: Remaining seconds; 0 still gives the quick bounds.
        target: Number of nodes of a known packing; stop when the bound reaches it.
    """
    best = packing.Bound(0, "none")
    for bound in _bounds(problem, constraints, budget, target):
        best = max(best, bound, key=lambda b: b.value)
        if best.value >= target:
            break
    return best


def _bounds(
    problem: Repacking, constraints: Constraints, budget: Budget, target: int
) -> Iterator[packing.Bound]:
    yield packing.lower_bound(problem.instance(), lambda: 0.0, target=target)
    yield packing.Bound(spread_bound(problem, constraints), "spread")
    if len(problem.row_of_class) <= MOST_COMPARED:
        yield packing.Bound(conflict_bound(problem, constraints), "conflict")
    yield packing.Bound(separate_bound(problem), "separate")
    yield packing.lower_bound(problem.instance(), budget, target=target)


def spread_bound(problem: Repacking, constraints: Constraints) -> int:
    """Return how many domains hold the items of the widest hard spread constraint.

    As long as a domain is empty, none holds more than the skew.
    """
    needed = 0
    counts = problem.counts
    for spread in constraints.spread:
        items = int(counts[spread.classes].sum())
        domains = math.ceil(items / spread.skew)
        needed = max(needed, domains if spread.from_zero else min(spread.domain_count, domains))
    return needed


def conflict_bound(problem: Repacking, constraints: Constraints) -> int:
    """Return the nodes of classes of which no two share one, chosen greedily."""
    never = conflicts(problem, constraints)
    weights = np.array([_nodes_of_class(problem, never, c) for c in range(len(never))])
    best = 0
    for first in np.argsort(-weights, kind="stable")[:MOST_SETS].tolist():
        chosen, total = never[first].copy(), int(weights[first])
        for c in np.argsort(-weights * (1 + never.sum(axis=1)), kind="stable").tolist():
            if chosen[c] and c != first:
                total += int(weights[c])
                chosen &= never[c]
        best = max(best, total)
    return best


def conflicts(problem: Repacking, constraints: Constraints) -> arrays.Bools:
    """Return which pairs of classes cannot share any node, ``[classes, classes]``."""
    count = len(problem.row_of_class)
    never = np.zeros((count, count), dtype=np.bool_)
    for c in range(count):
        shared = problem.admitted & problem.admitted[c]
        together = problem.demands + problem.demands[c]
        fits = (together[:, None, :] <= problem.capacity[None, :, :]).all(axis=2)
        never[c] = ~(shared & fits).any(axis=1)
    for c, apart in constraints.apart:
        if (apart.domains[problem.usable] >= 0).all():
            never[c, apart.classes] = never[apart.classes, c] = True
    return never


def _nodes_of_class(problem: Repacking, never: arrays.Bools, c: int) -> int:
    """Return how many nodes the items of one class need at least."""
    count = int(problem.counts[c])
    if never[c, c]:
        return count
    held = problem.capacity[problem.admitted[c]].max(axis=0)
    asked = problem.demands[c]
    used = asked > 0
    each = np.floor(held[used] / asked[used]).min(initial=count)
    return math.ceil(count / max(1.0, float(each)))


def separate_bound(problem: Repacking) -> int:
    """Return the sum of the bounds of classes that are confined to disjoint sets of nodes."""
    sets = np.unique(problem.admitted, axis=0)
    if len(sets) == 1 or len(sets) > MOST_SETS:
        return 0
    bounded = []
    for nodes in sets:
        inside = ~(problem.admitted & ~nodes).any(axis=1)
        bound = packing.lower_bound(_restricted(problem, inside, nodes), lambda: 0.0)
        bounded.append((bound.value, nodes))
    bounded.sort(key=lambda pair: -pair[0])
    best = 0
    for first in range(len(bounded)):
        total, taken = bounded[first][0], bounded[first][1].copy()
        for value, nodes in bounded:
            if not (nodes & taken).any():
                total += value
                taken |= nodes
        best = max(best, total)
    return best


def _restricted(problem: Repacking, classes: arrays.Bools, nodes: arrays.Bools) -> packing.Instance:
    """Return the instance of some classes on some nodes, without constraints."""
    capacity, limits = np.unique(problem.capacity[nodes], axis=0, return_counts=True)
    kept = problem.class_of_item[classes[problem.class_of_item]]
    return packing.make_instance(
        problem.demands[kept],
        capacity,
        name=problem.name,
        resources=problem.resources,
        limits=limits.tolist(),
    )
