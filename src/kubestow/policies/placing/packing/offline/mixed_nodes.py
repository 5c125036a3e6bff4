"""Bin completion on different nodes: existing nodes first, then shapes in their order.

The values are those of ``bin_completion``, relative to a node with the largest capacity of each
resource. An existing node gets the most valuable items that fit; a new one is opened for the most
valuable remaining item, with the first shape that holds it.
"""

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing.packing import instances
from kubestow.policies.placing.packing.offline import bin_completion, greedy, item_classes, knapsack


def complete_mixture(
    instance: instances.Instance,
    parameters: bin_completion.CompletionParameters = bin_completion.DEFAULT_COMPLETION,
) -> instances.Packing:
    """Pack any instance node by node; items that fit on no node stay unplaced."""
    nodes = greedy.OpenNodes(instance)
    largest = item_classes.relax(instance).shapes.capacity[0]
    sizes, inverse, number = np.unique(
        instance.demands, axis=0, return_inverse=True, return_counts=True
    )
    room = largest * (1.0 + instance.tolerance)
    sizes = np.ascontiguousarray(sizes)
    counts = number.astype(np.int64)
    waiting = [np.flatnonzero(inverse.reshape(-1) == t).tolist() for t in range(len(counts))]
    node = 0
    while counts.any():
        values = _values(item_classes.ItemClasses(sizes, counts, room, inverse), parameters)
        if node == nodes.count and not _open(nodes, values, counts, waiting):
            break
        depth = knapsack.deepest_pattern(sizes, counts, np.maximum(nodes.left[node], 0.0))
        depth = min(depth, knapsack.LARGEST_TABLE // len(counts))
        picked = np.empty(depth + 1, dtype=np.int64)
        weights = knapsack.weigh_resources(
            sizes, counts, np.maximum(nodes.left[node], 0.0), values, knapsack.FEW_STEPS
        )
        length, _, _ = knapsack.best_pattern(
            sizes,
            counts,
            nodes.left[node].copy(),
            values,
            weights,
            knapsack.sort_by_density(sizes, counts, values, weights),
            depth,
            parameters.effort,
            0.0,
            picked,
        )
        for t in picked[:length].tolist():
            counts[t] -= 1
            nodes.put(waiting[t].pop(), node)
        node += 1
    return nodes.finish()


def _values(
    batch: item_classes.ItemClasses, parameters: bin_completion.CompletionParameters
) -> arrays.Floats:
    """Return the value of every size with items left."""
    shares = batch.sizes / np.maximum(batch.room, np.finfo(np.float64).tiny)
    encoded = parameters.encode()
    stride = max(1, len(batch.counts) // bin_completion.SAMPLE)
    partners, sampled = bin_completion.count_partners(batch.sizes, batch.counts, batch.room, stride)
    values = np.full(len(batch.counts), bin_completion.TINY)
    weights = bin_completion.weigh_demand(shares, batch.counts, parameters.scarcity)
    bin_completion.value_sizes(shares, batch.counts, weights, partners, sampled, encoded, values)
    return values


def _open(
    nodes: greedy.OpenNodes,
    values: arrays.Floats,
    counts: arrays.Ints,
    waiting: list[list[int]],
) -> bool:
    """Open a node for the most valuable item that some shape holds and place it there."""
    for t in np.argsort(-values, kind="stable").tolist():
        if counts[t] == 0:
            continue
        node = nodes.open_for(np.array([waiting[t][-1]]))
        if node != greedy.NONE:
            counts[t] -= 1
            nodes.put(waiting[t].pop(), node)
            return True
    return False
