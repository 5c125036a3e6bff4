"""An independent check of packings, with sums recomputed exactly from the items."""

import math

import numpy as np

from kubestow.policies.placing.packing import instances


class PackingError(ValueError):
    """A packing that violates a constraint of its instance."""


def verify(
    instance: instances.Instance, packing: instances.Packing, *, allow_unplaced: bool = False
) -> None:
    """Raise on the first violation: a lost item, an overfull node, a shape over its limit.

    Args:
        instance: The instance.
        packing: Its packing.
        allow_unplaced: Whether items without a node are accepted.
    """
    _check_indices(instance, packing, allow_unplaced)
    _check_shapes(instance, packing)
    _check_capacity(instance, packing)


def _check_indices(
    instance: instances.Instance, packing: instances.Packing, allow_unplaced: bool
) -> None:
    if len(packing.node_of_item) != len(instance.demands):
        raise PackingError(f"{len(packing.node_of_item)} places for {len(instance.demands)} items")
    nodes = len(packing.shape_of_node)
    for item, node in enumerate(packing.node_of_item.tolist()):
        if node == instances.UNPLACED and not allow_unplaced:
            raise PackingError(f"item {item} has no node")
        if node != instances.UNPLACED and not 0 <= node < nodes:
            raise PackingError(f"item {item} is on node {node} of {nodes}")


def _check_shapes(instance: instances.Instance, packing: instances.Packing) -> None:
    existing = instance.existing_count
    if len(packing.shape_of_node) != existing + packing.opened:
        raise PackingError(
            f"{len(packing.shape_of_node)} nodes, but {existing} existed and "
            f"{packing.opened} were opened"
        )
    if np.any(packing.shape_of_node[:existing] != instances.EXISTING):
        raise PackingError("an existing node has the shape of an opened one")
    used = set(packing.node_of_item.tolist())
    opened = packing.shape_of_node[existing:].tolist()
    for node, shape in enumerate(opened, start=existing):
        if not 0 <= shape < len(instance.shapes.capacity):
            raise PackingError(f"node {node} has unknown shape {shape}")
        if node not in used:
            raise PackingError(f"node {node} was opened but holds no item")
    for shape, limit in enumerate(instance.shapes.limits or ()):
        if limit is not None and opened.count(shape) > limit:
            raise PackingError(f"{opened.count(shape)} nodes of shape {shape}, limit {limit}")


def _check_capacity(instance: instances.Instance, packing: instances.Packing) -> None:
    items_of_node: dict[int, list[int]] = {}
    for item, node in enumerate(packing.node_of_item.tolist()):
        items_of_node.setdefault(node, []).append(item)
    items_of_node.pop(instances.UNPLACED, None)
    for node, items in items_of_node.items():
        for j, resource in enumerate(instance.resources):
            terms = instance.demands[items, j].tolist()
            shape = int(packing.shape_of_node[node])
            if shape == instances.EXISTING and instance.existing is not None:
                capacity = float(instance.existing.capacity[node, j])
                terms.append(float(instance.existing.used[node, j]))
            else:
                capacity = float(instance.shapes.capacity[shape, j])
            # An existing node may be overfull beforehand; then it must not receive items.
            if sum_exactly(terms) > capacity * (1.0 + instance.tolerance) and any(
                instance.demands[items, j] > 0.0
            ):
                raise PackingError(
                    f"node {node}: {resource}: {sum_exactly(terms)} of {capacity} used"
                )


def sum_exactly(terms: list[float]) -> int | float:
    """Return the exact sum: in integers when all terms are whole, else rounded once.

    >>> sum_exactly([0.1] * 10)
    1.0
    >>> sum_exactly([2.0**53, 1.0]) - 2**53
    1
    """
    if all(term.is_integer() for term in terms):
        return sum(map(int, terms))
    return math.fsum(terms)
