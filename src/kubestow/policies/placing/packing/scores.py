"""Scores of one node for one item: the building blocks of every best-fit heuristic.

A score is a function of two vectors: ``left``, the free share of the node's capacity per resource
before placement, and ``share``, the item's demand as a share of the same capacity. Formulas and
numbers: Schubert 2023, (1.7)-(1.10) for the Kubernetes scores, section 5.1.1 for Permutation-Pack
and Vector-Dot. A resource the node does not have counts as full (``left = 0``).

The functions take a matrix and a row rather than the row: a slice in the inner loop costs more
than the arithmetic.
"""

from typing import Final

import numpy as np

from kubestow.policies.placing.packing import instances
from kubestow.policies.placing.packing.compiling import compiled
from kubestow.policies.placing.packing.states import Item, Nodes

FloatArray = instances.FloatArray
IntArray = instances.IntArray

# Rules: how a heuristic scores. Compiled code needs numbers; heuristics.py has the names.
FIRST: Final = 0
BLEND: Final = 1
PERMUTATION: Final = 2
CHOICE: Final = 3
PERMUTATION_BY_MEAN: Final = 4
BLEND_BY_DEMAND: Final = 5


@compiled
def mean_after(nodes: Nodes, node: int, item: Item) -> float:
    """Return ``S1_most``: the mean utilisation after placement (1.10)."""
    demand = item.total[nodes.shape[node]]
    return 1.0 - (nodes.total[node] - demand) / nodes.left.shape[1]


@compiled
def balance_after(nodes: Nodes, node: int, item: Item) -> float:
    """Return ``S2``: one minus the population standard deviation of utilisation (1.8).

    The deviation of what is used equals the deviation of what is left.
    """
    d = nodes.left.shape[1]
    shape = nodes.shape[node]
    mean = (nodes.total[node] - item.total[shape]) / d
    squares = 0.0
    for j in range(d):
        deviation = nodes.left[node, j] - item.share[shape, j] - mean
        squares += deviation * deviation
    return float(1.0 - np.sqrt(squares / d))


@compiled
def cosine_before(nodes: Nodes, node: int, item: Item) -> float:
    """Return the cosine of the angle between free capacity before placement and demand."""
    shape = nodes.shape[node]
    norms = nodes.norm[node] * item.norm[shape]
    if norms <= 0.0:
        return 0.0
    dot = 0.0
    for j in range(nodes.left.shape[1]):
        dot += nodes.left[node, j] * item.share[shape, j]
    return min(1.0, dot / norms)


@compiled
def blend(nodes: Nodes, node: int, item: Item) -> float:
    """Return the weighted sum of mean utilisation, balance, cosine and angle."""
    score = 0.0
    if item.weights[0] != 0.0:
        score += item.weights[0] * mean_after(nodes, node, item)
    if item.weights[1] != 0.0:
        score += item.weights[1] * balance_after(nodes, node, item)
    if item.weights[2] != 0.0 or item.weights[3] != 0.0:
        cosine = cosine_before(nodes, node, item)
        score += item.weights[2] * cosine
        if item.weights[3] != 0.0:
            score += item.weights[3] * np.arccos(cosine)
    return score


@compiled
def scarce_blend(nodes: Nodes, node: int, item: Item) -> float:
    """Return mean utilisation and angle, both with resources weighted by their scarcity.

    ``item.norm`` must hold norms with the same weights.
    """
    shape = nodes.shape[node]
    weight = 0.0
    filled = 0.0
    dot = 0.0
    squares = 0.0
    for j in range(nodes.left.shape[1]):
        scarcity = item.scarcity[j]
        left = nodes.left[node, j] * scarcity
        share = item.share[shape, j] * scarcity
        weight += scarcity
        filled += share - left
        dot += left * share
        squares += left * left
    norms = np.sqrt(squares) * item.norm[shape]
    cosine = min(1.0, dot / norms) if norms > 0.0 else 0.0
    return float(item.weights[0] * filled / weight + item.weights[3] * np.arccos(cosine))


@compiled
def permutation_key(order: IntArray, node: int, rank: IntArray, window: int) -> float:
    """Return how early the node's order of resources comes in Permutation-Pack's search.

    The best order has the least used resource where the item demands most, and so on; later orders
    follow lexicographically, small components permuted first. ``order[node]`` lists the resources
    from least to most used, ``rank`` gives every resource its place in the item's descending order.

    Returns:
        A whole number: the ``window`` ranks read as digits to base ``d``, the best one largest.
    """
    d = order.shape[1]
    key = 0.0
    for j in range(window):
        key = key * d + (d - 1 - rank[order[node, j]])
    return key


@compiled
def choice_key(order: IntArray, node: int, rank: IntArray, window: int, seen: IntArray) -> float:
    """Return Choose-Pack's key: as ``permutation_key``, but the order inside the window is free.

    The ranks of the node's ``window`` least used resources are sorted before they are read as
    digits, so that only the set of resources counts.

    Args:
        order: Resources from least to most used, per node.
        node: Row of ``order``.
        rank: Place of every resource in the item's descending order.
        window: How many resources are compared.
        seen: Room for ``d`` integers.
    """
    d = order.shape[1]
    for j in range(window):
        value = rank[order[node, j]]
        place = j
        while place > 0 and seen[place - 1] > value:
            seen[place] = seen[place - 1]
            place -= 1
        seen[place] = value
    key = 0.0
    for j in range(window):
        key = key * d + (d - 1 - seen[j])
    return key


@compiled
def score_node(rule: int, nodes: Nodes, node: int, item: Item) -> float:
    """Return the score of a node by any rule but first fit; higher is better."""
    if rule == BLEND:
        return blend(nodes, node, item)
    if rule == BLEND_BY_DEMAND:
        return scarce_blend(nodes, node, item)
    if rule == CHOICE:
        key = choice_key(nodes.order, node, item.rank, item.window[0], item.seen)
    else:
        key = permutation_key(nodes.order, node, item.rank, item.window[0])
    # Keys are whole and utilisation is at most one: a half keeps keys apart.
    return key + 0.5 * mean_after(nodes, node, item)
