"""Ruin and recreate: empty some nodes and pack their items in another way.

After Schrimpf et al. 2000. It ruins the nodes with the most free capacity, which are the easiest
to eliminate, and some at random. A result with equally many nodes is kept too, so that the search
can leave a plateau.
"""

from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing.packing import heuristics, instances, offline

Pattern = offline.Pattern

MOST_RUINED: Final = 12
"""Maximum nodes ruined at a time; with more the subproblem is as hard as the whole."""

RULES: Final = ("first-fit", "k8s-most", "vector-dot", "k8s-vector-dot")
"""Heuristics that recreate packings with several shapes or existing nodes."""


def draw_parameters(rng: np.random.Generator) -> offline.CompletionParameters:
    """Draw parameters of bin completion around the defaults."""
    return offline.CompletionParameters(
        scarcity=float(rng.uniform(0.0, 4.0)),
        power=float(rng.uniform(1.1, 2.5)),
        isolation=float(rng.uniform(0.0, 2.0)),
        isolation_power=float(rng.uniform(1.0, 3.0)),
        mean=float(rng.uniform(0.0, 1.0)),
        effort=20_000,
    )


def ruin_patterns(
    batch: offline.ItemClasses, patterns: list[Pattern], rng: np.random.Generator
) -> list[Pattern]:
    """Return a packing with at most as many nodes, some of them repacked."""
    number = len(patterns)
    ruined = min(number, int(rng.integers(2, MOST_RUINED + 1)))
    # Half of the ruined nodes are drawn with a preference for empty ones, half uniformly.
    emptiness = np.array([room_left(batch, pattern) for pattern in patterns])
    first = np.argsort(-emptiness * rng.random(number))[: ruined // 2]
    rest = rng.permutation(np.setdiff1d(np.arange(number), first))[: ruined - len(first)]
    chosen = set(first.tolist()) | set(rest.tolist())
    counts = np.zeros(len(batch.counts), dtype=np.int64)
    for node in chosen:
        np.add.at(counts, list(patterns[node]), 1)
    repacked = offline.complete(batch, draw_parameters(rng), counts=counts)
    if len(repacked) > len(chosen):
        return patterns
    return [pattern for node, pattern in enumerate(patterns) if node not in chosen] + repacked


def room_left(batch: offline.ItemClasses, pattern: Pattern) -> float:
    """Return the mean share of a node that a pattern leaves free."""
    used = batch.sizes[list(pattern)].sum(axis=0)
    return float(1.0 - np.mean(used / np.maximum(batch.room, np.finfo(np.float64).tiny)))


def ruin_nodes(
    instance: instances.Instance, packing: instances.Packing, rng: np.random.Generator
) -> instances.Packing:
    """Return a packing of at most the same cost, with some opened nodes repacked.

    Supports several shapes, limits, prices and existing nodes.
    """
    if packing.opened == 0:
        return packing
    before = instance.existing_count
    ruined = min(packing.opened, int(rng.integers(1, MOST_RUINED + 1)))
    gone = before + rng.permutation(packing.opened)[:ruined]
    loose = np.flatnonzero(
        np.isin(packing.node_of_item, gone) | (packing.node_of_item == instances.UNPLACED)
    )
    kept = np.setdiff1d(np.arange(len(packing.shape_of_node)), gone)
    part = _rest_of(instance, packing, kept, loose)
    measure = offline.BASIC[int(rng.integers(len(offline.BASIC)))]
    order = offline.decreasing(part, measure)
    rule = heuristics.HEURISTICS.get(RULES[int(rng.integers(len(RULES)))])
    recreated = heuristics.pack(part, rule, order)
    candidate = _join(instance, packing, kept, loose, recreated)
    return candidate if cost(instance, candidate) <= cost(instance, packing) else packing


def cost(instance: instances.Instance, packing: instances.Packing) -> tuple[int, float, int]:
    """Return the objective to minimise: unplaced items, price of opened nodes, their number."""
    shapes = packing.shape_of_node[instance.existing_count :]
    prices = instance.shapes.costs
    price = float(packing.opened if prices is None else np.array(prices)[shapes].sum())
    return len(packing.unplaced), price, packing.opened


def _rest_of(
    instance: instances.Instance,
    packing: instances.Packing,
    kept: arrays.Ints,
    loose: arrays.Ints,
) -> instances.Instance:
    """Return the instance of the loose items, with all kept nodes as existing nodes."""
    capacity = np.empty((len(packing.shape_of_node), instance.dimensions))
    used = np.zeros_like(capacity)
    before = instance.existing_count
    if instance.existing is not None:
        capacity[:before] = instance.existing.capacity
        used[:before] = instance.existing.used
    capacity[before:] = instance.shapes.capacity[packing.shape_of_node[before:]]
    placed = packing.node_of_item != instances.UNPLACED
    np.add.at(used, packing.node_of_item[placed], instance.demands[placed])
    limits = instance.shapes.limits
    if limits is not None:
        opened = packing.shape_of_node[kept[kept >= before]].tolist()
        limits = tuple(
            None if limit is None else limit - opened.count(shape)
            for shape, limit in enumerate(limits)
        )
    return instances.Instance(
        name=instance.name,
        resources=instance.resources,
        demands=np.ascontiguousarray(instance.demands[loose]),
        shapes=instances.NodeTypes(instance.shapes.capacity, limits, instance.shapes.costs),
        existing=instances.Existing(capacity[kept], used[kept]),
        tolerance=instance.tolerance,
    )


def _join(
    instance: instances.Instance,
    packing: instances.Packing,
    kept: arrays.Ints,
    loose: arrays.Ints,
    recreated: instances.Packing,
) -> instances.Packing:
    """Combine the kept nodes with the recreated ones."""
    position = np.full(len(packing.shape_of_node) + 1, instances.UNPLACED, dtype=np.int64)
    position[kept] = np.arange(len(kept))
    # Index -1 of an unplaced item reads the last entry, which stays UNPLACED.
    node_of_item = position[packing.node_of_item]
    node_of_item[loose] = recreated.node_of_item
    shapes = np.concatenate(
        [packing.shape_of_node[kept], recreated.shape_of_node[len(kept) :]]
    ).astype(np.int64)
    return instances.Packing(node_of_item, shapes, len(shapes) - instance.existing_count)
