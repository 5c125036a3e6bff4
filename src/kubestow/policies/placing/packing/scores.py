"""Scores of nodes for one item: the building blocks of every best-fit heuristic.

A score is a function of two vectors: ``left``, the free share of a node's capacity per resource
before placement, and ``share``, the item's demand as a share of the same capacity. Formulas and
numbers: Schubert 2023 (1.7)-(1.10) for the Kubernetes scores, section 5.1.1 for Permutation-Pack
and Vector-Dot. A resource the node does not have counts as full (``left = 0``).

Every function adds to, or sets, ``values[i]`` for the nodes ``fitting[i]``, so that a heuristic is
a few calls on arrays and the loop around it exists once. Arrays are unpacked from their tuples
before a loop: inside, the compiler would count references for every node.
"""

from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled_inner, inlined
from kubestow.policies.placing.packing.states import Item, PackingNodes

# Rules: how a heuristic scores. Compiled code needs numbers; heuristics.py has the names.
FIRST: Final = 0
BLEND: Final = 1
PERMUTATION: Final = 2
CHOICE: Final = 3
PERMUTATION_BY_MEAN: Final = 4
BLEND_BY_DEMAND: Final = 5


@compiled_inner
def add_mean(
    nodes: PackingNodes,
    fitting: arrays.Ints,
    matches: int,
    item: Item,
    weight: float,
    values: arrays.Floats,
) -> None:
    """Add ``S1_most``: the mean utilisation after placement (1.10)."""
    totals, shapes, demands = nodes.total, nodes.shape, item.total
    d = nodes.left.shape[1]
    for position in range(matches):
        node = fitting[position]
        values[position] += weight * (1.0 - (totals[node] - demands[shapes[node]]) / d)


@compiled_inner
def add_balance(
    nodes: PackingNodes,
    fitting: arrays.Ints,
    matches: int,
    item: Item,
    weight: float,
    values: arrays.Floats,
) -> None:
    """Add ``S2``: one minus the population standard deviation of utilisation (1.8).

    The deviation of what is used equals the deviation of what is left.
    """
    left, totals, shapes = nodes.left, nodes.total, nodes.shape
    share, demands = item.share, item.total
    d = left.shape[1]
    for position in range(matches):
        node = fitting[position]
        shape = shapes[node]
        mean = (totals[node] - demands[shape]) / d
        squares = 0.0
        for j in range(d):
            deviation = left[node, j] - share[shape, j] - mean
            squares += deviation * deviation
        values[position] += weight * (1.0 - np.sqrt(squares / d))


@compiled_inner
def add_direction(
    nodes: PackingNodes,
    fitting: arrays.Ints,
    matches: int,
    item: Item,
    cosine_weight: float,
    angle_weight: float,
    values: arrays.Floats,
) -> None:
    """Add cosine and angle (radians) between free capacity before placement and demand."""
    left, norms, shapes = nodes.left, nodes.norm, nodes.shape
    share, share_norms = item.share, item.norm
    for position in range(matches):
        node = fitting[position]
        shape = shapes[node]
        dot = 0.0
        for j in range(left.shape[1]):
            dot += left[node, j] * share[shape, j]
        length = norms[node] * share_norms[shape]
        # A zero vector has no direction; it counts as a right angle.
        cosine = min(1.0, dot / length) if length > 0.0 else 0.0
        value = cosine_weight * cosine
        if angle_weight != 0.0:
            value += angle_weight * np.arccos(cosine)
        values[position] += value


@inlined
def set_blend(
    nodes: PackingNodes, fitting: arrays.Ints, matches: int, item: Item, values: arrays.Floats
) -> None:
    """Set the weighted sum of mean utilisation, balance, cosine and angle."""
    mean, balance, cosine, angle = item.weights
    values[:matches] = 0.0
    if mean != 0.0:
        add_mean(nodes, fitting, matches, item, mean, values)
    if balance != 0.0:
        add_balance(nodes, fitting, matches, item, balance, values)
    if cosine != 0.0 or angle != 0.0:
        add_direction(nodes, fitting, matches, item, cosine, angle, values)


@compiled_inner
def set_scarce_blend(
    nodes: PackingNodes, fitting: arrays.Ints, matches: int, item: Item, values: arrays.Floats
) -> None:
    """Set mean utilisation and angle, both with resources weighted by scarcity.

    ``item.norm`` must hold norms with the same weights.
    """
    left, shapes = nodes.left, nodes.shape
    share, share_norms, scarcity = item.share, item.norm, item.scarcity
    angle_weight = item.weights[3]
    total_scarcity = scarcity.sum()
    for position in range(matches):
        node = fitting[position]
        shape = shapes[node]
        filled = 0.0
        dot = 0.0
        squares = 0.0
        for j in range(left.shape[1]):
            free = left[node, j] * scarcity[j]
            demand = share[shape, j] * scarcity[j]
            filled += demand - free
            dot += free * demand
            squares += free * free
        length = np.sqrt(squares) * share_norms[shape]
        cosine = min(1.0, dot / length) if length > 0.0 else 0.0
        values[position] = filled / total_scarcity + angle_weight * np.arccos(cosine)


@inlined
def set_permutation(
    nodes: PackingNodes, fitting: arrays.Ints, matches: int, item: Item, values: arrays.Floats
) -> None:
    """Set Permutation-Pack's key: how early a node's order of resources comes in its search.

    The best order has the least used resource where the item demands most, and so on; later orders
    follow lexicographically, small components permuted first. ``nodes.order`` lists the resources
    from least to most used, ``item.rank`` gives the position of each resource in the item's
    descending order; ``item.window`` ranks are read as digits to base ``d``, the best one largest.
    """
    order, rank = nodes.order, item.rank
    d = order.shape[1]
    for position in range(matches):
        node = fitting[position]
        key = 0.0
        for j in range(item.window[0]):
            key = key * d + (d - 1 - rank[order[node, j]])
        values[position] = key


@inlined
def set_choice(
    nodes: PackingNodes, fitting: arrays.Ints, matches: int, item: Item, values: arrays.Floats
) -> None:
    """Set Choose-Pack's key: as for Permutation-Pack, but the order inside the window is free.

    The ranks of a node's least used resources are sorted before they are read as digits, so that
    only the set of resources counts.
    """
    order, rank, ranks = nodes.order, item.rank, item.scratch
    d = order.shape[1]
    for position in range(matches):
        node = fitting[position]
        for j in range(item.window[0]):
            value = rank[order[node, j]]
            slot = j
            while slot > 0 and ranks[slot - 1] > value:
                ranks[slot] = ranks[slot - 1]
                slot -= 1
            ranks[slot] = value
        key = 0.0
        for j in range(item.window[0]):
            key = key * d + (d - 1 - ranks[j])
        values[position] = key


@compiled_inner
def score_nodes(
    rule: int,
    nodes: PackingNodes,
    fitting: arrays.Ints,
    matches: int,
    item: Item,
    values: arrays.Floats,
) -> None:
    """Score the fitting nodes by any rule but first fit; higher is better."""
    if rule == BLEND:
        set_blend(nodes, fitting, matches, item, values)
    elif rule == BLEND_BY_DEMAND:
        set_scarce_blend(nodes, fitting, matches, item, values)
    else:
        if rule == CHOICE:
            set_choice(nodes, fitting, matches, item, values)
        else:
            set_permutation(nodes, fitting, matches, item, values)
        # Keys are integers and utilisation is at most 1: weight 0.5 keeps keys apart.
        add_mean(nodes, fitting, matches, item, 0.5, values)
