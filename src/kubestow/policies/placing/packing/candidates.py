"""Scores of given nodes for one item: what the best-fit loop works out before it chooses."""

import numpy as np

from kubestow.policies.compiling import compiled
from kubestow.policies.placing.packing import instances, states
from kubestow.policies.placing.packing.adaptive import observe_item, weigh_item
from kubestow.policies.placing.packing.scores import BLEND, BLEND_BY_DEMAND, score_nodes

FloatArray = instances.FloatArray


@compiled
def score_candidates(
    rule: int,
    parameters: FloatArray,
    demand: FloatArray,
    capacity: FloatArray,
    used: FloatArray,
    reference: int,
    statistics: FloatArray,
    values: FloatArray,
) -> None:
    """Score nodes for an item by a blend, fixed or by demand; whether it fits is not asked.

    Args:
        rule: ``BLEND`` or ``BLEND_BY_DEMAND`` of ``scores``.
        parameters: The rule's parameters as ``parameters.encode`` writes them.
        demand: Demand of the item per resource, raw units, ``[1, d]``.
        capacity: Capacity per node, ``[n, d]``; rows behind the candidates only serve as reference.
        used: What is in use on the candidates, ``[candidates, d]``.
        reference: The row of ``capacity`` by which items are measured.
        statistics: Items seen so far, as ``adaptive.observe_item`` keeps them; this one is added.
        values: Filled with the score of every candidate, higher is better.
    """
    count, d = used.shape
    inverse = np.zeros_like(capacity)
    for row in range(len(capacity)):
        for j in range(d):
            if capacity[row, j] > 0.0:
                inverse[row, j] = 1.0 / capacity[row, j]
    nothing = np.zeros_like(capacity)
    none = np.zeros(1, np.int64)
    table = states.Table(inverse, capacity, nothing, none, none, reference)
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
