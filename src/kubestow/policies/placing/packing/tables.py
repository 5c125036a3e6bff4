"""Conversion of an instance to the arrays of the packing loop.

If several shapes hold an item, the one with the lowest price per capacity is opened (price
divided by the mean share of the largest capacities), on a tie the larger, then the first. Missing
prices are set to capacity, so the largest shape is opened first and a smaller one only when the
limit of the larger is reached.
"""

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing.packing import instances, states

UNLIMITED = 2**62
"""A limit that is never reached."""


def make_table(instance: instances.Instance) -> states.PackingTable:
    """Return the capacities of an instance; shapes that may be opened come first, in order."""
    shapes = instance.shapes.capacity
    rows = [shapes]
    limits = [UNLIMITED] * len(shapes)
    if instance.shapes.limits is not None:
        limits = [UNLIMITED if limit is None else limit for limit in instance.shapes.limits]
    if instance.existing is not None:
        rows.append(distinct_capacities(instance.existing))
    capacity = np.ascontiguousarray(np.concatenate(rows))
    inverse = np.zeros_like(capacity)
    np.divide(1.0, capacity, out=inverse, where=capacity > 0.0)
    slack = capacity * instance.tolerance
    opening = opening_order(instance.shapes)
    return states.PackingTable(
        inverse=inverse,
        room=capacity + slack,
        slack=slack,
        opening=opening,
        limits=np.array(limits + [0] * (len(capacity) - len(shapes)), dtype=np.int64),
        reference=int(opening[0]) if len(opening) else 0,
    )


def table_of_nodes(capacity: arrays.Floats) -> tuple[states.PackingTable, states.PackingNodes]:
    """Return the table and the state of given empty nodes, ``[nodes, resources]``.

    Amounts are integers; every node counts as there already, so none can be opened.
    """
    shapes, row = np.unique(capacity, axis=0, return_inverse=True)
    inverse = np.zeros_like(shapes)
    np.divide(1.0, shapes, out=inverse, where=shapes > 0.0)
    largest = np.maximum(shapes.max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    table = states.PackingTable(
        inverse=inverse,
        room=shapes,
        slack=np.zeros_like(shapes),
        opening=np.zeros(0, dtype=np.int64),
        limits=np.zeros(len(shapes), dtype=np.int64),
        reference=int(np.argmax((shapes / largest).mean(axis=1))),
    )
    nodes = states.make_nodes(len(capacity), capacity.shape[1])
    for node, shape in enumerate(row.reshape(-1).tolist()):
        states.add_node(nodes, node, shape, table)
        states.refresh_node(nodes, node, table, True)
    return table, nodes


def unit_table(dimensions: int) -> states.PackingTable:
    """Return the table of unlimited identical nodes with capacity 1 and ``REAL_TOLERANCE``."""
    one = np.ones((1, dimensions))
    slack = one * instances.REAL_TOLERANCE
    return states.PackingTable(
        inverse=one,
        room=one + slack,
        slack=slack,
        opening=np.zeros(1, dtype=np.int64),
        limits=np.full(1, UNLIMITED, dtype=np.int64),
        reference=0,
    )


def opening_order(shapes: instances.NodeTypes) -> arrays.Ints:
    """Return the shapes in the order in which to open them."""
    largest = np.maximum(shapes.capacity.max(axis=0, initial=0.0), np.finfo(np.float64).tiny)
    size = (shapes.capacity / largest).mean(axis=1)
    costs = size if shapes.costs is None else np.array(shapes.costs, dtype=np.float64)
    # Rounding makes the prices of proportional shapes equal.
    price = np.round(costs / np.maximum(size, np.finfo(np.float64).tiny), 12)
    return np.lexsort((-size, price)).astype(np.int64)


def distinct_capacities(existing: instances.Existing) -> arrays.Floats:
    """Return the distinct capacity vectors of the existing nodes."""
    return np.unique(existing.capacity, axis=0)


def load_nodes(instance: instances.Instance, table: states.PackingTable) -> states.PackingNodes:
    """Return node state with the existing nodes and capacity for one new node per item."""
    count = instance.existing_count
    nodes = states.make_nodes(count + len(instance.demands) + 1, instance.dimensions)
    if instance.existing is None:
        return nodes
    _, row = np.unique(instance.existing.capacity, axis=0, return_inverse=True)
    for node in range(count):
        states.add_node(nodes, node, len(instance.shapes.capacity) + int(row[node]), table)
        states.put_item(nodes, node, instance.existing.used, node)
        states.refresh_node(nodes, node, table, True)
    return nodes
