"""Scores of given nodes for one item, as the best-fit loop computes them."""

from typing import NamedTuple

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled, inlined
from kubestow.policies.placing.packing import states
from kubestow.policies.placing.packing.adaptive import observe_item, weigh_item
from kubestow.policies.placing.packing.scores import BLEND, BLEND_BY_DEMAND, score_nodes


class CandidateNodes(NamedTuple):
    """The nodes of a cluster and the resources to pack.

    Attributes:
        offered: Allocatable amounts of the nodes, raw units, ``[nodes, resources]``.
        used: Used amounts, in the same layout.
        rows: The candidates.
        columns: The resources to pack, ``d`` of them.
        reference: Capacity that items are measured relative to, ``[d]``.
    """

    offered: arrays.Ints
    used: arrays.Ints
    rows: arrays.Ints
    columns: arrays.Ints
    reference: arrays.Floats


@inlined
def occurs(table: arrays.Ints, column: int) -> bool:
    """Return whether a column has a nonzero entry."""
    row = 0
    while row < len(table) and table[row, column] == 0:
        row += 1
    return row < len(table)


@compiled
def asked_columns(
    demand: arrays.Ints, offered: arrays.Ints, used: arrays.Ints, slots: int
) -> arrays.Ints:
    """Return the resources that this item or placed items request and that some node offers.

    Args:
        demand: Demand of the item.
        offered: Allocatable amounts of the nodes, ``[nodes, resources]``.
        used: Used amounts, in the same layout.
        slots: The column of pod slots, which are not packed.
    """
    columns = np.empty(len(demand), np.int64)
    count = 0
    for j in range(len(demand)):
        if j != slots and (demand[j] > 0 or occurs(used, j)) and occurs(offered, j):
            columns[count] = j
            count += 1
    return columns[:count]


@compiled
def score_candidates(
    rule: int,
    parameters: arrays.Floats,
    amounts: arrays.Ints,
    cluster: CandidateNodes,
    statistics: arrays.Floats,
    values: arrays.Floats,
) -> None:
    """Score nodes for an item by a blend, fixed or by demand, without checking that it fits.

    Args:
        rule: ``BLEND`` or ``BLEND_BY_DEMAND`` of ``scores``.
        parameters: The rule's parameters as ``parameters.encode`` writes them.
        amounts: Demand of the item, raw units, ``[resources]``.
        cluster: The nodes.
        statistics: Items observed so far, as ``adaptive.observe_item`` keeps them; this one is
            added.
        values: Filled with the score of every candidate, higher is better.
    """
    count, d = len(cluster.rows), len(cluster.columns)
    reference = count  # the row after the candidates
    capacity, used = np.empty((count + 1, d)), np.empty((count, d))
    demand = np.empty((1, d))
    for j in range(d):
        column = cluster.columns[j]
        demand[0, j] = amounts[column]
        capacity[reference, j] = cluster.reference[j]
        for node in range(count):
            capacity[node, j] = cluster.offered[cluster.rows[node], column]
            used[node, j] = cluster.used[cluster.rows[node], column]
    inverse = np.zeros_like(capacity)
    for row in range(len(capacity)):
        for j in range(d):
            if capacity[row, j] > 0.0:
                inverse[row, j] = 1.0 / capacity[row, j]
    nothing = np.zeros_like(capacity)
    none = np.zeros(1, np.int64)
    table = states.PackingTable(inverse, capacity, nothing, none, none, reference)
    nodes = states.make_nodes(count, d)
    fitting = np.arange(count)
    for node in range(count):
        states.add_node(nodes, node, node, table)
        states.put_item(nodes, node, used, node)
        states.refresh_node(nodes, node, table, False)
    item = states.make_item(len(capacity), d)
    states.take_item(item, demand, 0, table)
    if rule == BLEND:
        item.weights[:] = parameters[:4]
    elif rule == BLEND_BY_DEMAND:
        observe_item(item, reference, statistics)
        weigh_item(item, reference, statistics, parameters)
    score_nodes(rule, nodes, fitting, count, item, values)
