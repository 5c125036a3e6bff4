"""Arrays of the packing loop: capacities, nodes, and the current item.

All are named tuples of arrays, which compiled code accepts directly. ``free[d, node]`` in raw
units decides exactly whether an item fits; ``left[node, d]`` in shares of capacity is the input of
the scores. Totals, norms and orders of a node are updated only when an item is placed on it.
"""

from typing import NamedTuple

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled_inner, inlined


class PackingTable(NamedTuple):
    """Capacities in the form the loop uses; one row per distinct capacity vector.

    Attributes:
        inverse: Reciprocal of the capacity, 0 where the capacity is 0, ``[s, d]``.
        room: Capacity of an empty node plus tolerance, in raw units, ``[s, d]``.
        slack: The tolerance in raw units, ``[s, d]``.
        opening: Rows that may be opened, in order of preference.
        limits: How many nodes of each row may be opened.
        reference: The row relative to which items are measured before a node is chosen.
    """

    inverse: arrays.Floats
    room: arrays.Floats
    slack: arrays.Floats
    opening: arrays.Ints
    limits: arrays.Ints
    reference: int


class PackingNodes(NamedTuple):
    """State of all nodes; only the first ``count`` entries of each array are used.

    Attributes:
        free: Free capacity plus tolerance in raw units, ``[d, nodes]``.
        left: Free share of capacity, ``[nodes, d]``; 0 where the capacity is 0.
        total: Sum of ``left`` per node.
        norm: Euclidean norm of ``left`` per node.
        order: Resources from least to most used per node, ``[nodes, d]``.
        shape: Row of the table per node.
    """

    free: arrays.Floats
    left: arrays.Floats
    total: arrays.Floats
    norm: arrays.Floats
    order: arrays.Ints
    shape: arrays.Ints


class Item(NamedTuple):
    """The current item and the state of its heuristic.

    Attributes:
        share: Demand as a share of capacity per row of the table, ``[s, d]``.
        total: Sum of ``share`` per row.
        norm: Euclidean norm of ``share`` per row, with resources weighted by ``scarcity``.
        order: Resources from most to least demanded, ``[1, d]``.
        rank: Position of every resource in ``order``.
        weights: Weights of mean utilisation, balance, cosine and angle (radians).
        scarcity: Weight of every resource in the scores of ``adaptive``.
        window: How many resources an order rule compares, ``[1]``.
        scratch: Scratch space for ``d`` integers.
    """

    share: arrays.Floats
    total: arrays.Floats
    norm: arrays.Floats
    order: arrays.Ints
    rank: arrays.Ints
    weights: arrays.Floats
    scarcity: arrays.Floats
    window: arrays.Ints
    scratch: arrays.Ints


@inlined
def make_nodes(most: int, d: int) -> PackingNodes:
    """Return state for up to ``most`` nodes with ``d`` resources."""
    return PackingNodes(
        np.empty((d, most)),
        np.empty((most, d)),
        np.empty(most),
        np.empty(most),
        np.empty((most, d), np.int64),
        np.empty(most, np.int64),
    )


@inlined
def make_item(shapes: int, d: int) -> Item:
    """Return uninitialised state for one item."""
    return Item(
        np.empty((shapes, d)),
        np.empty(shapes),
        np.empty(shapes),
        np.empty((1, d), np.int64),
        np.empty(d, np.int64),
        np.zeros(4),
        np.ones(d),
        np.zeros(1, np.int64),
        np.empty(d, np.int64),
    )


@inlined
def add_node(nodes: PackingNodes, node: int, shape: int, table: PackingTable) -> None:
    """Turn slot ``node`` into an empty node of the given row; ``refresh_node`` must follow."""
    nodes.shape[node] = shape
    for j in range(nodes.left.shape[1]):
        nodes.free[j, node] = table.room[shape, j]


@inlined
def put_item(nodes: PackingNodes, node: int, demands: arrays.Floats, item: int) -> None:
    """Place an item without checking that it fits; ``refresh_node`` must follow."""
    for j in range(nodes.left.shape[1]):
        nodes.free[j, node] -= demands[item, j]


@inlined
def refresh_node(nodes: PackingNodes, node: int, table: PackingTable, ordered: bool) -> None:
    """Update the values derived from a node's free capacity; the order only if ``ordered``."""
    shape = nodes.shape[node]
    total = 0.0
    squares = 0.0
    for j in range(nodes.left.shape[1]):
        raw = nodes.free[j, node] - table.slack[shape, j]
        share = max(0.0, raw) * table.inverse[shape, j]
        nodes.left[node, j] = share
        total += share
        squares += share * share
    nodes.total[node] = total
    nodes.norm[node] = np.sqrt(squares)
    if ordered:
        sort_descending(nodes.left, node, nodes.order)


@inlined
def take_item(item: Item, demands: arrays.Floats, index: int, table: PackingTable) -> int:
    """Load an item: express its demand as shares of every row of the table.

    Returns:
        The resource of its largest share, relative to the table's reference row.
    """
    for shape in range(item.share.shape[0]):
        total = 0.0
        squares = 0.0
        for j in range(item.share.shape[1]):
            value = demands[index, j] * table.inverse[shape, j]
            item.share[shape, j] = value
            total += value
            squares += value * value
        item.total[shape] = total
        item.norm[shape] = np.sqrt(squares)
    largest = 0
    for j in range(1, item.share.shape[1]):
        if item.share[table.reference, j] > item.share[table.reference, largest]:
            largest = j
    return largest


@inlined
def rank_item(item: Item, table: PackingTable) -> None:
    """Order the item's resources by demand, largest first."""
    d = item.share.shape[1]
    for j in range(d):
        value = item.share[table.reference, j]
        place = j
        while place > 0 and item.share[table.reference, item.order[0, place - 1]] < value:
            item.order[0, place] = item.order[0, place - 1]
            place -= 1
        item.order[0, place] = j
    for j in range(d):
        item.rank[item.order[0, j]] = j


@compiled_inner
def sort_descending(values: arrays.Floats, row: int, order: arrays.Ints) -> None:
    """Write the columns of a row, largest value first, into the same row of ``order`` (stable)."""
    for j in range(values.shape[1]):
        value = values[row, j]
        place = j
        while place > 0 and values[row, order[row, place - 1]] < value:
            order[row, place] = order[row, place - 1]
            place -= 1
        order[row, place] = j
