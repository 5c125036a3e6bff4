"""The best-fit loop, compiled once for all heuristics.

A heuristic is data: a rule of ``scores`` and its parameters. The loop is that of Schubert 2023,
Fig. 5.1: every item goes to the fitting node with the highest score, the first one on a tie; a node
is opened only when the item fits on none. The loop knows neither the items to come nor their
number. Offline variants sort the items first.
"""

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled, compiled_inner
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
    item = states.make_item(len(table.inverse), d)
    fitting = np.empty(count + n + 1, np.int64)
    values = np.empty(count + n + 1)
    limits = table.limits.copy()
    statistics = np.zeros(ADAPTIVE_COLUMNS + d)
    ordered = rule in (PERMUTATION, CHOICE, PERMUTATION_BY_MEAN)
    if rule == BLEND:
        item.weights[:] = parameters[:4]
    elif ordered:
        item.window[0] = int(parameters[0])
    for index in range(n):
        largest = states.take_item(item, demands, index, table)
        if rule >= PERMUTATION_BY_MEAN:
            observe_item(item, table.reference, statistics)
        matches = find_fitting(nodes, count, demands, index, largest, fitting)
        if matches == 0:
            shape = find_opening(table, limits, demands, index)
            if shape < 0:
                node_of_item[index] = -1
                continue
            limits[shape] -= 1
            node = count
            states.add_node(nodes, node, shape, table)
            count += 1
        elif matches == 1 or rule == FIRST:
            node = fitting[0]
        else:
            if rule == BLEND_BY_DEMAND:
                weigh_item(item, table.reference, statistics, parameters)
            elif ordered:
                states.rank_item(item, table)
                if rule == PERMUTATION_BY_MEAN:
                    adapt_window(item, statistics, parameters)
            node = choose_best(rule, nodes, fitting, matches, item, values)
        node_of_item[index] = node
        states.put_item(nodes, node, demands, index)
        if rule != FIRST:
            states.refresh_node(nodes, node, table, ordered)
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
