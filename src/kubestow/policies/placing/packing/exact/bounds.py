"""Lower bounds on the number of nodes to open; the stronger ones are slower.

- ``volume``: the demand for one resource relative to the largest capacities.
- ``threshold``: the same after rounding with dual feasible functions: items above ``1 - e`` count
  as full nodes and those below ``e`` as nothing (Martello & Toth 1990, Fekete & Schepers 2001).
- ``clique``: items of which no two fit together.
- ``columns``: the linear program over patterns (``patterns``).

Several shapes, limits and existing nodes are relaxed to one shape with the largest capacity of
each resource; an existing node counts as an empty one of that shape.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled
from kubestow.policies.placing.packing import instances, offline
from kubestow.policies.placing.packing.exact import patterns

MOST_PAIRED: Final = 2500
"""Maximum number of distinct sizes for which all pairs are examined."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bound:
    """A proven lower bound on the number of opened nodes.

    Attributes:
        value: Minimum number of nodes to open.
        method: Method that gave the bound: ``volume``, ``threshold``, ``clique`` or ``columns``.
    """

    value: int
    method: str


def lower_bound(
    instance: instances.Instance,
    budget: patterns.Budget,
    *,
    target: int | None = None,
    rounds: int = 10_000,
) -> Bound:
    """Return the best lower bound that the budget allows.

    Args:
        instance: What to pack; every item must fit on some node.
        budget: Remaining seconds; 0 still gives the quick bounds.
        target: Number of nodes of a known packing; stop when the bound reaches it.
        rounds: Maximum rounds of column generation.
    """
    best = quick_bound(instance)
    if len(instance.demands) == 0 or (target is not None and best.value >= target):
        return best
    relaxed = offline.relax(instance)
    batch = offline.classify_items(relaxed)
    if budget() <= 0.0 or not patterns.is_tractable(batch):
        return best
    master = patterns.Master(batch.counts)
    master.add(offline.complete(batch))
    stop = math.inf if target is None else target + instance.existing_count - 1 + patterns.ROUNDING
    generation = patterns.generate(
        batch, master, budget, rounds=rounds, target=stop + patterns.ROUNDING
    )
    nodes = patterns.round_up(generation.bound) - instance.existing_count
    return max(best, Bound(nodes, "columns"), key=lambda bound: bound.value)


def quick_bound(instance: instances.Instance) -> Bound:
    """Return the best bound that needs no linear program."""
    if len(instance.demands) == 0:
        return Bound(0, "volume")
    bounds = [Bound(volume_bound(instance), "volume")]
    batch = offline.classify_items(offline.relax(instance))
    before = instance.existing_count
    bounds.append(Bound(threshold_bound(batch) - before, "threshold"))
    if len(batch.counts) <= MOST_PAIRED:
        bounds.append(Bound(clique_bound(batch) - before, "clique"))
    return max(bounds, key=lambda bound: bound.value)


def add_relief(instance: instances.Instance, relief: Sequence[float]) -> instances.Instance:
    """Return the instance with capacities increased by the negative sizes that were read as 0.

    A node of the file holds at most its capacity plus all negative sizes in the file, so a lower
    bound of the result holds for the file; one of the instance as read need not.
    """
    shapes = instance.shapes
    raised = instances.NodeTypes(shapes.capacity + np.array(relief), shapes.limits, shapes.costs)
    return dataclasses.replace(instance, shapes=raised)


def volume_bound(instance: instances.Instance) -> int:
    """Return how many of the largest nodes the demand for any one resource fills."""
    widened = 1.0 + instance.tolerance
    needed = 0
    for j in range(instance.dimensions):
        rest = math.fsum(instance.demands[:, j].tolist())
        if instance.existing is not None:
            free = instance.existing.capacity[:, j] * widened - instance.existing.used[:, j]
            rest -= math.fsum(np.maximum(free, 0.0).tolist())
        needed = max(needed, _count_nodes(instance.shapes, j, rest, widened))
    return needed


def _count_nodes(shapes: instances.NodeTypes, j: int, rest: float, widened: float) -> int:
    """Return how many nodes hold an amount of one resource, largest nodes first."""
    count = 0
    for shape in np.argsort(-shapes.capacity[:, j], kind="stable").tolist():
        capacity = float(shapes.capacity[shape, j]) * widened
        if rest <= 0.0 or capacity <= 0.0:
            return count
        limit = shapes.limits[shape] if shapes.limits is not None else None
        needed = patterns.round_up(rest / capacity)
        opened = needed if limit is None else min(limit, needed)
        count += opened
        rest -= opened * capacity
        if opened == needed:
            return count
    return count


def threshold_bound(batch: offline.ItemClasses) -> int:
    """Return the best bound by rounding sizes of one resource at a threshold."""
    best = 0.0
    for j in range(len(batch.room)):
        if batch.room[j] > 0.0:
            best = max(best, float(_best_threshold(batch.sizes[:, j], batch.counts, batch.room[j])))
    return patterns.round_up(best)


def _best_threshold(sizes: arrays.Floats, counts: arrays.Ints, room: float) -> float:
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order]
    items = np.concatenate([[0], np.cumsum(counts[order])])
    volume = np.concatenate([[0.0], np.cumsum(counts[order] * ordered)])
    # The threshold of half a node counts the items above it, of which no two share a node.
    thresholds = np.append(ordered[ordered <= room / 2.0], room / 2.0)
    first = np.searchsorted(ordered, thresholds, side="left")
    full = np.searchsorted(ordered, room - thresholds, side="right")
    return float((items[-1] - items[full] + (volume[full] - volume[first]) / room).max())


def clique_bound(batch: offline.ItemClasses) -> int:
    """Return the size of a greedily chosen set of items of which no two fit together."""
    return int(_greedy_clique(batch.sizes, batch.counts, batch.room))


@compiled
def _greedy_clique(sizes: arrays.Floats, counts: arrays.Ints, room: arrays.Floats) -> int:
    number = len(sizes)
    partners, _ = offline.count_partners(sizes, counts, room, 1)
    chosen = np.empty(number, dtype=np.int64)
    size = 0
    items = 0
    for t in np.argsort(partners):
        fits = False
        for q in range(size):
            if offline.fit_together(sizes, t, chosen[q], room):
                fits = True
                break
        if not fits:
            chosen[size] = t
            size += 1
            items += 1 if offline.fit_together(sizes, t, t, room) else counts[t]
    return items
