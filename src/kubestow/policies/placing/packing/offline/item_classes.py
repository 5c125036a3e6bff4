"""Identical nodes and items grouped by size, for bin completion and column generation.

Replicas of a workload request the same amounts. Grouping them makes searches smaller by an order
of magnitude, since exchanging two equal items changes nothing.
"""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from kubestow.model import arrays, errors
from kubestow.policies.placing.packing import instances

Pattern = tuple[int, ...]
"""Content of one node: indices of sizes in ascending order, repeated for repeated items."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ItemClasses:
    """Items by size, for any number of identical nodes.

    Attributes:
        sizes: Distinct demand vectors, ``[t, d]``, in units of the instance.
        counts: Number of items of each size.
        room: Capacity of a node, with the instance's tolerance added.
        size_of_item: Index of the size of each item of the instance.
    """

    sizes: arrays.Floats
    counts: arrays.Ints
    room: arrays.Floats
    size_of_item: arrays.Ints


def is_uniform(instance: instances.Instance) -> bool:
    """Return whether there is one shape without limit and no existing node."""
    limits = instance.shapes.limits
    return (
        len(instance.shapes.capacity) == 1
        and instance.existing_count == 0
        and (limits is None or limits[0] is None)
    )


def classify_items(instance: instances.Instance) -> ItemClasses:
    """Group the items of an instance with one shape of node.

    Raises:
        InputError: If there are several shapes, limits on them, or existing nodes; or if an item is
            larger than a node.
    """
    if not is_uniform(instance):
        raise errors.InputError(
            f"{instance.name}: shapes",
            "must be one shape without limit, and no existing nodes, for this method",
        )
    capacity = instance.shapes.capacity[0]
    room = capacity + capacity * instance.tolerance
    refuse_oversized(instance, room)
    sizes, inverse, counts = np.unique(
        instance.demands, axis=0, return_inverse=True, return_counts=True
    )
    return ItemClasses(
        sizes=np.ascontiguousarray(sizes),
        counts=counts.astype(np.int64),
        room=room,
        size_of_item=inverse.reshape(-1).astype(np.int64),
    )


def refuse_oversized(instance: instances.Instance, room: arrays.Floats) -> None:
    """Raise if an item does not fit on an empty node."""
    wrong = np.argwhere(instance.demands > room)
    if len(wrong):
        item, j = (int(index) for index in wrong[0])
        name = instance.items[item] if instance.items else str(item)
        raise errors.InputError(
            f"{instance.name}: item {name}: {instance.resources[j]}",
            f"{instance.demands[item, j]:g}: must be <= {instance.shapes.capacity[0, j]:g}, "
            "the capacity of a node",
        )


def make_packing(batch: ItemClasses, patterns: Iterable[Sequence[int]]) -> instances.Packing:
    """Assign every item to a node, following patterns that cover all items.

    Items covered more than once stay in the first pattern; a pattern that becomes empty opens no
    node.
    """
    waiting: list[list[int]] = [[] for _ in range(len(batch.counts))]
    for item in range(len(batch.size_of_item) - 1, -1, -1):
        waiting[batch.size_of_item[item]].append(item)
    node_of_item = np.full(len(batch.size_of_item), instances.UNPLACED, dtype=np.int64)
    node = 0
    for pattern in patterns:
        opened = False
        for size in pattern:
            if waiting[size]:
                node_of_item[waiting[size].pop()] = node
                opened = True
        node += opened
    return instances.Packing(node_of_item, np.zeros(node, dtype=np.int64), node)


def read_patterns(batch: ItemClasses, packing: instances.Packing) -> list[Pattern]:
    """Return the content of each opened node of a complete packing."""
    held: list[list[int]] = [[] for _ in range(packing.opened)]
    for item, node in enumerate(packing.node_of_item.tolist()):
        held[node].append(int(batch.size_of_item[item]))
    return [tuple(sorted(sizes)) for sizes in held]


def relax(instance: instances.Instance) -> instances.Instance:
    """Return an instance with one shape, at least as large as every node of the given one."""
    if is_uniform(instance):
        return instance
    capacities = [instance.shapes.capacity]
    if instance.existing is not None:
        capacities.append(instance.existing.capacity)
    largest = np.concatenate(capacities).max(axis=0)
    return dataclasses.replace(
        instance, shapes=instances.NodeTypes(largest[None, :]), existing=None
    )
