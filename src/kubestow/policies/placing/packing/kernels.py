"""The best-fit loop, compiled once for all heuristics.

A heuristic is data: a rule of ``scores`` and its parameters. The loop is that of Schubert 2023,
Fig. 5.1: every item goes to the fitting node with the highest score, the first one on a tie; a node
is opened only when the item fits on none. The loop knows neither the items to come nor their
number. Offline variants sort the items first.
"""

from typing import NamedTuple

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled, compiled_inner, inlined
from kubestow.policies.placing.packing import states
from kubestow.policies.placing.packing.adaptive import (
    ADAPTIVE_COLUMNS,
    adapt_window,
    observe_item,
    weigh_item,
)
from kubestow.policies.placing.packing.scores import (
    BLEND,
    BLEND_BY_DEMAND,
    CHOICE,
    FIRST,
    PERMUTATION,
    PERMUTATION_BY_MEAN,
    score_nodes,
)


@compiled_inner
def find_fitting(
    nodes: states.PackingNodes,
    count: int,
    demands: arrays.Floats,
    index: int,
    first: int,
    fitting: arrays.Ints,
) -> int:
    """List the nodes that an item fits on, in order of creation.

    Args:
        nodes: State of the nodes.
        count: Number of nodes.
        demands: Demand per item and resource, raw units.
        index: Row of ``demands``.
        first: The resource to check first; that of the item's largest share leaves the fewest
            nodes.
        fitting: Filled with node indices; its length must be at least ``count + 1``.

    Returns:
        The number of fitting nodes.
    """
    matches = 0
    demand = demands[index, first]
    row = nodes.free[first]
    for node in range(count):
        # Branch-free: a conditional jump would be mispredicted every few nodes.
        fitting[matches] = node
        matches += int(demand <= row[node])
    for j in range(demands.shape[1]):
        if matches == 0:
            break
        if j == first:
            continue
        demand = demands[index, j]
        row = nodes.free[j]
        kept = 0
        for position in range(matches):
            node = fitting[position]
            fitting[kept] = node
            kept += int(demand <= row[node])
        matches = kept
    return matches


@compiled
def find_opening(
    table: states.PackingTable, limits: arrays.Ints, demands: arrays.Floats, index: int
) -> int:
    """Return the most preferred row that holds the item and is below its limit, or -1."""
    for shape in table.opening:
        if limits[shape] <= 0:
            continue
        fits = True
        for j in range(demands.shape[1]):
            fits = fits and demands[index, j] <= table.room[shape, j]
        if fits:
            return int(shape)
    return -1


@compiled_inner
def choose_best(
    rule: int,
    nodes: states.PackingNodes,
    fitting: arrays.Ints,
    matches: int,
    item: states.Item,
    values: arrays.Floats,
) -> int:
    """Return the fitting node with the highest score, the first one on a tie."""
    score_nodes(rule, nodes, fitting, matches, item, values)
    best = 0
    for position in range(1, matches):
        if values[position] > values[best]:
            best = position
    return int(fitting[best])


class Chooser(NamedTuple):
    """Working memory of the choice of a node.

    Attributes:
        item: The current item.
        statistics: Items observed so far, for rules that adapt.
    """

    item: states.Item
    statistics: arrays.Floats


@inlined
def make_chooser(rule: int, parameters: arrays.Floats, shapes: int, d: int) -> Chooser:
    """Return the memory of a rule before the first item."""
    item = states.make_item(shapes, d)
    if rule == BLEND:
        item.weights[:] = parameters[:4]
    elif is_ordered(rule):
        item.window[0] = int(parameters[0])
    return Chooser(item, np.zeros(ADAPTIVE_COLUMNS + d))


@inlined
def is_ordered(rule: int) -> bool:
    """Return whether a rule compares the order of resources."""
    return rule in (PERMUTATION, CHOICE, PERMUTATION_BY_MEAN)


@inlined
def load_item(
    rule: int, chooser: Chooser, demands: arrays.Floats, index: int, table: states.PackingTable
) -> int:
    """Load an item and observe it; return the resource of its largest share."""
    largest = states.take_item(chooser.item, demands, index, table)
    if rule >= PERMUTATION_BY_MEAN:
        observe_item(chooser.item, table.reference, chooser.statistics)
    return largest


@inlined
def choose_node(
    rule: int,
    parameters: arrays.Floats,
    chooser: Chooser,
    table: states.PackingTable,
    nodes: states.PackingNodes,
    fitting: arrays.Ints,
    matches: int,
    values: arrays.Floats,
) -> int:
    """Return the node for the loaded item among those that it fits on, -1 if there are none."""
    if matches == 0:
        return -1
    if matches == 1 or rule == FIRST:
        return int(fitting[0])
    item = chooser.item
    if rule == BLEND_BY_DEMAND:
        weigh_item(item, table.reference, chooser.statistics, parameters)
    elif is_ordered(rule):
        states.rank_item(item, table)
        if rule == PERMUTATION_BY_MEAN:
            adapt_window(item, chooser.statistics, parameters)
    return choose_best(rule, nodes, fitting, matches, item, values)


@inlined
def put_on_node(
    rule: int,
    nodes: states.PackingNodes,
    node: int,
    demands: arrays.Floats,
    index: int,
    table: states.PackingTable,
) -> None:
    """Place an item on a node and update what the rule scores."""
    states.put_item(nodes, node, demands, index)
    if rule != FIRST:
        states.refresh_node(nodes, node, table, is_ordered(rule))


@compiled
def pack_list(
    rule: int,
    parameters: arrays.Floats,
    demands: arrays.Floats,
    table: states.PackingTable,
    nodes: states.PackingNodes,
    count: int,
    node_of_item: arrays.Ints,
) -> int:
    """Place the items of one list in order: the best-fit loop.

    Args:
        rule: One of the rules of ``scores``.
        parameters: The rule's parameters as ``heuristics.encode`` writes them.
        demands: Demand per item and resource in raw units, ``[n, d]``.
        table: Capacities.
        nodes: State with capacity for ``count + n`` nodes, the first ``count`` of them initialised.
        count: Number of existing nodes.
        node_of_item: Filled with the node of every item, -1 for an item that fits on none.

    Returns:
        The number of nodes afterwards.
    """
    n, d = demands.shape
    chooser = make_chooser(rule, parameters, len(table.inverse), d)
    fitting = np.empty(count + n + 1, np.int64)
    values = np.empty(count + n + 1)
    limits = table.limits.copy()
    for index in range(n):
        largest = load_item(rule, chooser, demands, index, table)
        matches = find_fitting(nodes, count, demands, index, largest, fitting)
        node = choose_node(rule, parameters, chooser, table, nodes, fitting, matches, values)
        if node < 0:
            shape = find_opening(table, limits, demands, index)
            if shape < 0:
                node_of_item[index] = -1
                continue
            limits[shape] -= 1
            node = count
            states.add_node(nodes, node, shape, table)
            count += 1
        node_of_item[index] = node
        put_on_node(rule, nodes, node, demands, index, table)
    return count


@compiled
def count_lists(
    rule: int,
    parameters: arrays.Floats,
    lists: arrays.Floats,
    table: states.PackingTable,
    counts: arrays.Ints,
) -> None:
    """Pack many lists of equal length, each onto an empty cluster, and count the nodes.

    Args:
        rule: As for ``pack_list``.
        parameters: As for ``pack_list``.
        lists: Demands, ``[lists, n, d]``.
        table: Capacities.
        counts: Filled with the number of nodes per list.
    """
    amount, n, d = lists.shape
    nodes = states.make_nodes(n + 1, d)
    node_of_item = np.empty(n, np.int64)
    for index in range(amount):
        counts[index] = pack_list(rule, parameters, lists[index], table, nodes, 0, node_of_item)
