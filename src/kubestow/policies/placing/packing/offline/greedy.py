"""Greedy packing by a score of item and node, item by item or node by node.

Item by item: items in a fixed order, each to the open node with the best score. Node by node: one
node at a time is filled with the items of the best score until none fits. Scores:

- ``DOT``: weighted dot product of the item's shares and the node's free shares, maximised;
- ``NORM``: weighted squared distance between the two, minimised.

Panigrahy et al. 2011. Shares are relative to the current node, so shapes may differ.
"""

from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled
from kubestow.policies.placing.packing import instances, tables
from kubestow.policies.placing.packing.offline import item_sizes

BoolArray = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

DOT: Final = 0
NORM: Final = 1

NONE: Final = -1


@compiled
def score(
    rule: int,
    demands: arrays.Floats,
    item: int,
    left: arrays.Floats,
    room: arrays.Floats,
    w: arrays.Floats,
) -> float:
    """Return the score of an item on a node, or minus infinity if it does not fit."""
    value = 0.0
    for j in range(len(left)):
        if demands[item, j] > left[j]:
            return -np.inf
        if room[j] > 0.0:
            share = demands[item, j] / room[j]
            free = left[j] / room[j]
            value += w[j] * (share * free if rule == DOT else -((free - share) ** 2))
    return value


@compiled
def best_item(
    rule: int,
    demands: arrays.Floats,
    waiting: BoolArray,
    left: arrays.Floats,
    room: arrays.Floats,
    weights: arrays.Floats,
) -> int:
    """Return the waiting item with the best score on a node, the first one on a tie."""
    best = NONE
    highest = -np.inf
    for item in range(len(demands)):
        if waiting[item]:
            value = score(rule, demands, item, left, room, weights)
            if value > highest:
                highest = value
                best = item
    return best


@compiled
def best_node(
    rule: int,
    demands: arrays.Floats,
    item: int,
    left: arrays.Floats,
    room: arrays.Floats,
    count: int,
    weights: arrays.Floats,
) -> int:
    """Return the open node with the best score for an item, the first one on a tie."""
    best = NONE
    highest = -np.inf
    for node in range(count):
        value = score(rule, demands, item, left[node], room[node], weights)
        if value > highest:
            highest = value
            best = node
    return best


class OpenNodes:
    """Nodes during packing: which are open, and which shape to open next.

    Attributes:
        left: Free capacity per node; rows beyond ``count`` are unused.
        room: Capacity per node.
        count: Number of nodes so far.
        node_of_item: Node per item.
    """

    def __init__(self, instance: instances.Instance) -> None:
        before = instance.existing_count
        rows = before + len(instance.demands)
        self._instance = instance
        self._shapes = np.full(rows, instances.EXISTING, dtype=np.int64)
        self._opened = [0] * len(instance.shapes.capacity)
        self._order = tables.opening_order(instance.shapes).tolist()
        self.left = np.zeros((rows, instance.dimensions))
        self.room = np.zeros((rows, instance.dimensions))
        self.count = before
        self.node_of_item = np.full(len(instance.demands), instances.UNPLACED, dtype=np.int64)
        if instance.existing is not None:
            self.room[:before] = instance.existing.capacity * (1.0 + instance.tolerance)
            self.left[:before] = self.room[:before] - instance.existing.used

    def open_for(self, items: arrays.Ints) -> int:
        """Open a node of the first shape that holds one of the items; ``NONE`` if none does."""
        limits = self._instance.shapes.limits
        for shape in self._order:
            limit = None if limits is None else limits[shape]
            room = self._instance.shapes.capacity[shape] * (1.0 + self._instance.tolerance)
            allowed = limit is None or self._opened[shape] < limit
            if allowed and np.any(np.all(self._instance.demands[items] <= room, axis=1)):
                node = self.count
                self._opened[shape] += 1
                self._shapes[node] = shape
                self.room[node] = self.left[node] = room
                self.count += 1
                return node
        return NONE

    def put(self, item: int, node: int) -> None:
        """Place an item."""
        self.node_of_item[item] = node
        self.left[node] -= self._instance.demands[item]

    def finish(self) -> instances.Packing:
        """Return the packing."""
        opened = self.count - self._instance.existing_count
        return instances.Packing(self.node_of_item, self._shapes[: self.count].copy(), opened)


def pack_items(
    instance: instances.Instance, rule: int, measure: item_sizes.ItemSize
) -> instances.Packing:
    """Place items from large to small, each on the open node with the best score."""
    nodes = OpenNodes(instance)
    weights = item_sizes.WEIGHTS[measure.weights](item_sizes.shares(instance))
    for item in item_sizes.decreasing(instance, measure).tolist():
        node = best_node(rule, instance.demands, item, nodes.left, nodes.room, nodes.count, weights)
        if node == NONE:
            node = nodes.open_for(np.array([item]))
        if node != NONE:
            nodes.put(item, node)
    return nodes.finish()


def pack_nodes(
    instance: instances.Instance, rule: int, weights_name: str, *, dynamic: bool
) -> instances.Packing:
    """Fill one node after the other, always with the item with the best score.

    Args:
        instance: What to pack.
        rule: ``DOT`` or ``NORM``.
        weights_name: Weights of resources, a name in ``item_sizes.WEIGHTS``.
        dynamic: Whether to recompute weights for each node from the items that still wait.
    """
    nodes = OpenNodes(instance)
    shares = item_sizes.shares(instance)
    waiting = np.ones(len(instance.demands), dtype=np.bool_)
    weights = item_sizes.WEIGHTS[weights_name](shares)
    node = 0
    while waiting.any():
        if node == nodes.count and nodes.open_for(np.flatnonzero(waiting)) == NONE:
            break
        if dynamic:
            weights = item_sizes.WEIGHTS[weights_name](shares[waiting])
        while True:
            item = best_item(
                rule, instance.demands, waiting, nodes.left[node], nodes.room[node], weights
            )
            if item == NONE:
                break
            waiting[item] = False
            nodes.put(item, node)
        node += 1
    return nodes.finish()
