"""Packing heuristics by name: definition, source, and how to run them.

Names are a stable interface. Definitions: Schubert 2023, section 5.1; the interpretations of
Vector-Dot and Kubernetes-Vector-Dot (angle to the free capacity before placement, in radians) are
those that reproduce the thesis' tables.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from kubestow.model import arrays
from kubestow.policies import registries
from kubestow.policies.placing.packing import instances, kernels, parameters, scores, tables


@dataclasses.dataclass(frozen=True, slots=True)
class Heuristic:
    """A scoring rule with its parameters.

    Attributes:
        name: The name users write.
        abbreviation: Short name, as in the thesis' tables.
        summary: One sentence on what it does.
        rule: A rule of ``scores``.
        parameters: The rule's parameters.
    """

    name: str
    abbreviation: str
    summary: str
    rule: int
    parameters: parameters.Parameters


_ALL = (
    Heuristic(
        "first-fit", "FF", "The first open node that has room.", scores.FIRST, parameters.Blend()
    ),
    Heuristic(
        "k8s-least",
        "KL",
        "Kubernetes default: least used node, balanced; (S1_least + S2) / 2.",
        scores.BLEND,
        parameters.Blend(mean=-0.5, balance=0.5),
    ),
    Heuristic(
        "k8s-most",
        "KM",
        "Kubernetes configured to fill: most used node, balanced; (S1_most + S2) / 2.",
        scores.BLEND,
        parameters.Blend(mean=0.5, balance=0.5),
    ),
    Heuristic(
        "permutation-pack",
        "PP",
        "The node whose order of free resources matches the pod's order of demands.",
        scores.PERMUTATION,
        parameters.Window(),
    ),
    Heuristic(
        "choose-pack",
        "CP",
        "As permutation-pack, but the order inside the window is free.",
        scores.CHOICE,
        parameters.HalfWindow(),
    ),
    Heuristic(
        "adaptive-pack",
        "AP",
        "As permutation-pack, with a window that shrinks as pods get heavier.",
        scores.PERMUTATION_BY_MEAN,
        parameters.AdaptiveWindow(),
    ),
    Heuristic(
        "vector-dot",
        "VD",
        "The node whose free capacity points most in the direction of the demand.",
        scores.BLEND,
        parameters.Blend(cosine=1.0),
    ),
    Heuristic(
        "k8s-reweighted",
        "KR",
        "Kubernetes configured to fill with double weight on balance; S1_most + 2 S2.",
        scores.BLEND,
        parameters.Blend(mean=1.0, balance=2.0),
    ),
    Heuristic(
        "k8s-vector-dot",
        "KVD",
        "Most used node less twice the angle of vector-dot; S1_most - 2 angle.",
        scores.BLEND,
        parameters.Blend(mean=1.0, angle=-2.0),
    ),
    Heuristic(
        "adaptive",
        "AD",
        "Fills when pods are large, balances when they are small, by the demand observed so far.",
        scores.BLEND_BY_DEMAND,
        parameters.AdaptiveParameters(),
    ),
)

HEURISTICS = registries.Registry(
    "heuristic", Heuristic, _ALL, aliases={one.abbreviation: one.name for one in _ALL}
)
"""All heuristics by name."""

SCHUBERT_HEURISTICS = ("first-fit", "k8s-least", "k8s-most", "permutation-pack", "vector-dot")
"""The heuristics of the thesis' first simulation, in the order of its tables."""


def pack(
    instance: instances.Instance,
    heuristic: Heuristic,
    order: npt.NDArray[np.integer] | None = None,
) -> instances.Packing:
    """Pack an instance.

    Args:
        instance: What to pack.
        heuristic: The heuristic.
        order: Permutation of the items in which to place them; ``None`` for the order of arrival.
            See ``offline.item_sizes`` for offline orders.

    Returns:
        The packing; items are numbered as in the instance, regardless of the order.
    """
    table = tables.make_table(instance)
    nodes = tables.load_nodes(instance, table)
    demands = instance.demands if order is None else instance.demands[order]
    placed = np.empty(len(demands), dtype=np.int64)
    existing = instance.existing_count
    count = kernels.pack_list(
        heuristic.rule,
        heuristic.parameters.encode(instance.dimensions),
        np.ascontiguousarray(demands),
        table,
        nodes,
        existing,
        placed,
    )
    node_of_item = placed
    if order is not None:
        node_of_item = np.empty_like(placed)
        node_of_item[order] = placed
    shape_of_node = nodes.shape[:count].copy()
    shape_of_node[:existing] = instances.EXISTING
    return instances.Packing(node_of_item, shape_of_node, count - existing)


def compile_heuristics() -> None:
    """Compile, or load cached code, so that later calls can be timed."""
    count_nodes(np.zeros((1, 1, 1)), HEURISTICS.get("first-fit"))


def count_nodes(lists: arrays.Floats, heuristic: Heuristic) -> arrays.Ints:
    """Count the identical nodes of capacity 1 that each of many lists needs.

    Args:
        lists: Demands as shares of a node, ``[lists, items, resources]``, each at most 1.
        heuristic: How to pack.

    Returns:
        The number of nodes per list.
    """
    counts = np.empty(len(lists), dtype=np.int64)
    kernels.count_lists(
        heuristic.rule,
        heuristic.parameters.encode(lists.shape[2]),
        np.ascontiguousarray(lists),
        tables.unit_table(lists.shape[2]),
        counts,
    )
    return counts
