"""Bin completion: node by node, the hardest item and the best items to go with it.

Every step takes the item with the highest value, then fills its node with the most valuable items
that fit in addition (``knapsack``). Value measures how hard an item will be to place later:

- its size, a mix of the weighted mean and the weighted maximum over resources, where a resource
  weighs more, the more of it the remaining items request; raised to a power above 1, so that one
  large item is worth more than several small ones of the same sum;
- its isolation, the share of remaining items that do not fit together with it on an empty node.
  Items with few possible partners go first, as in the matching heuristic of Karp & Sipser (1981).

The idea of completing nodes one by one: Gupta & Ho 1999 (minimum bin slack), Korf 2002 (bin
completion). Measured against published heuristics in docs/evidence/vector-packing.
"""

import dataclasses
from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled
from kubestow.policies.placing.packing.offline import item_classes, knapsack

SAMPLE: Final = 2000
"""Number of sizes beyond which work is sampled, to keep long lists fast: about this many, evenly
spaced, are used to measure isolation and are candidates for a node, and values are updated less
often.
"""

MANY: Final = 12
"""Items per node beyond which the search covers little more than its first choice, so that
first-fit decreasing may do better and is tried too."""

TOTAL_EFFORT: Final = 200_000_000
"""Work per list, in sizes visited, as far as ``LEAST_EFFORT`` allows: a second or two."""

LEAST_EFFORT: Final = 10 * SAMPLE
"""Minimum work per node, even in long lists."""

ALONE: Final = 100.0
"""Extra value of an item that fits with no other: it needs its own node, so it goes first."""

TINY: Final = 1e-12


@dataclasses.dataclass(frozen=True, slots=True)
class CompletionParameters:
    """How items are valued; defaults from a sweep over half of the public instances.

    Attributes:
        scarcity: Power of the remaining demand for a resource in its weight.
        power: Power of size in value.
        isolation: Weight of isolation in value.
        isolation_power: Power of isolation.
        mean: Share of the weighted mean in size; the rest is the weighted maximum.
        effort: Work per node, in sizes visited.
    """

    scarcity: float = 3.0
    power: float = 1.5
    isolation: float = 1.0
    isolation_power: float = 2.0
    mean: float = 0.5
    effort: int = 100_000

    def encode(self) -> arrays.Floats:
        """Return the parameters of the value function as an array."""
        return np.array(
            [self.scarcity, self.power, self.isolation, self.isolation_power, self.mean]
        )


DEFAULT_COMPLETION: Final = CompletionParameters()


@compiled
def fit_together(sizes: arrays.Floats, first: int, second: int, room: arrays.Floats) -> bool:
    """Return whether two sizes fit on an empty node together."""
    for j in range(sizes.shape[1]):  # noqa: SIM110 - numba does not support generators here
        if sizes[first, j] + sizes[second, j] > room[j]:
            return False
    return True


@compiled
def count_partners(
    sizes: arrays.Floats, counts: arrays.Ints, room: arrays.Floats, stride: int
) -> tuple[arrays.Ints, int]:
    """Count the items that fit together with each size, among every ``stride``-th size.

    Returns:
        The number of partners per size and the number of items sampled.
    """
    partners = np.zeros(len(sizes), dtype=np.int64)
    sampled = 0
    for k in range(0, len(sizes), stride):
        sampled += counts[k]
        for t in range(len(sizes)):
            if fit_together(sizes, t, k, room):
                partners[t] += counts[k] - (1 if t == k else 0)
    return partners, sampled


@compiled
def drop_partner(
    sizes: arrays.Floats, room: arrays.Floats, gone: int, counts: arrays.Ints, partners: arrays.Ints
) -> None:
    """Remove one item from the counts of partners."""
    for t in range(len(sizes)):
        if counts[t] > 0 and fit_together(sizes, t, gone, room):
            partners[t] -= 1


@compiled
def value_sizes(
    shares: arrays.Floats,
    counts: arrays.Ints,
    weights: arrays.Floats,
    partners: arrays.Ints,
    sampled: int,
    parameters: arrays.Floats,
    values: arrays.Floats,
) -> None:
    """Write the value of every size with items left."""
    power, isolation, exponent = parameters[1], parameters[2], parameters[3]
    mean = parameters[4]
    d = shares.shape[1]
    for t in range(len(counts)):
        if counts[t] == 0:
            continue
        total = 0.0
        largest = 0.0
        for j in range(d):
            share = shares[t, j] * weights[j]
            total += share
            largest = max(largest, share)
        size = mean * total + (1.0 - mean) * largest
        partnerless = 1.0 - partners[t] / max(1, sampled - 1)
        values[t] = size**power + isolation * max(0.0, partnerless) ** exponent + TINY
        if partners[t] == 0 and sampled > 1:
            values[t] += ALONE


@compiled
def weigh_demand(shares: arrays.Floats, counts: arrays.Ints, scarcity: float) -> arrays.Floats:
    """Return a weight per resource from the demand of the remaining items, 1 for the scarcest."""
    demand = np.zeros(shares.shape[1])
    for t in range(len(counts)):
        for j in range(shares.shape[1]):
            demand[j] += counts[t] * shares[t, j]
    largest = max(TINY, demand.max())
    for j in range(len(demand)):
        demand[j] = max(TINY, (demand[j] / largest) ** scarcity)
    return demand


@compiled
def complete_nodes(
    sizes: arrays.Floats,
    available: arrays.Ints,
    room: arrays.Floats,
    parameters: arrays.Floats,
    fixed: arrays.Floats,
    effort: int,
    ends: arrays.Ints,
    held: arrays.Ints,
) -> int:
    """Pack all items, one node after the other.

    Args:
        sizes: Size vectors.
        available: Number of items of each size.
        room: Capacity of a node.
        parameters: As ``CompletionParameters.encode`` returns them.
        fixed: Values to use instead of the computed ones, per size; empty for none.
        effort: Work per node.
        ends: Filled with the position in ``held`` at which each node ends.
        held: Filled with the sizes on each node, one node after the other.

    Returns:
        The number of nodes.
    """
    number, d = sizes.shape
    counts = available.copy()
    shares = np.zeros((number, d))
    inverse = np.zeros(d)
    for j in range(d):
        if room[j] > 0.0:
            inverse[j] = 1.0 / room[j]
            shares[:, j] = sizes[:, j] * inverse[j]
    depth = knapsack.deepest_pattern(sizes, counts, room)
    # Candidates are at most twice the sample; they are thinned out below.
    depth = min(depth, knapsack.LARGEST_TABLE // max(1, min(number, 2 * SAMPLE)))
    picked = np.empty(depth + 1, dtype=np.int64)
    stride = max(1, number // SAMPLE)
    values = np.full(number, TINY)
    partners = np.zeros(number, dtype=np.int64)
    sampled = 0
    measured = len(fixed) == 0
    if measured:
        partners, sampled = count_partners(sizes, counts, room, stride)
    else:
        values += fixed
    left = counts.sum()
    nodes = 0
    position = 0
    weights = np.empty(d)
    order = np.empty(0, dtype=np.int64)
    while left > 0:
        if nodes % (1 + number // SAMPLE) == 0:
            weights = weigh_demand(shares, counts, parameters[0])
            if measured:
                value_sizes(shares, counts, weights, partners, sampled, parameters, values)
            order = knapsack.sort_by_density(shares, counts, values, weights)
            every = max(1, len(order) // SAMPLE)
            order = order[nodes % every :: every].copy()
        seed = most_valuable(counts, values)
        counts[seed] -= 1
        added, _, _ = knapsack.best_pattern(
            sizes,
            counts,
            room - sizes[seed],
            values,
            weights * inverse,
            order,
            depth,
            effort,
            0.0,
            picked,
        )
        picked[added] = seed
        for q in range(added + 1):
            t = picked[q]
            counts[t] -= 1 if q < added else 0
            held[position + q] = t
            if measured and t % stride == 0:
                sampled -= 1
                drop_partner(sizes, room, t, counts, partners)
        left -= added + 1
        position += added + 1
        ends[nodes] = position
        nodes += 1
    return nodes


@compiled
def most_valuable(counts: arrays.Ints, values: arrays.Floats) -> int:
    """Return the size with the highest value and items left, the first one on a tie."""
    best = -1
    for t in range(len(counts)):
        if counts[t] > 0 and (best < 0 or values[t] > values[best]):
            best = t
    return best


def complete(
    batch: item_classes.ItemClasses,
    parameters: CompletionParameters = DEFAULT_COMPLETION,
    *,
    counts: arrays.Ints | None = None,
    values: arrays.Floats | None = None,
) -> list[item_classes.Pattern]:
    """Pack a batch node by node.

    Args:
        batch: What to pack.
        parameters: How items are valued.
        counts: Items of each size; ``None`` for all of the batch.
        values: Value per size to use instead of the computed one.

    Returns:
        The content of every node.
    """
    chosen = batch.counts if counts is None else counts
    present = np.flatnonzero(chosen)
    total = int(chosen.sum())
    ends = np.empty(total, dtype=np.int64)
    held = np.empty(total, dtype=np.int64)
    nodes = complete_nodes(
        np.ascontiguousarray(batch.sizes[present]),
        chosen[present],
        batch.room,
        parameters.encode(),
        np.empty(0) if values is None else values[present],
        min(parameters.effort, max(LEAST_EFFORT, TOTAL_EFFORT // max(1, total))),
        ends,
        held,
    )
    parts = np.split(present[held], ends[: max(0, nodes - 1)])
    return [tuple(sorted(part.tolist())) for part in parts[:nodes]]
