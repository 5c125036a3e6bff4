"""The assignment model for CP-SAT: every item to one node, for small instances of any kind.

Used where nodes differ. Demands that are not integers are scaled and rounded so that every
solution fits; optimality of the rounded model proves nothing and is not used as a proof.
"""

from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing.packing import instances
from kubestow.policies.placing.packing.exact import patterns

MOST: Final = 40_000
"""Maximum number of pairs of items and nodes for which the model is built."""

SCALE: Final = 10**6
"""Real-valued demands are expressed in millionths of the largest capacity."""


def assign(
    instance: instances.Instance,
    packing: instances.Packing,
    seconds: float,
    *,
    workers: int = 1,
    work: float = 1e9,
) -> tuple[instances.Packing, bool]:
    """Search for the cheapest packing, starting from a complete one.

    Args:
        instance: What to pack.
        packing: A packing without unplaced items.
        seconds: Time limit.
        workers: Threads of the solver.
        work: Work limit, in the solver's deterministic units.

    Returns:
        The best packing and whether it is proven that none is cheaper.
    """
    from ortools.sat.python import cp_model

    shape_of_node = candidate_nodes(instance, packing)
    if len(instance.demands) * len(shape_of_node) > MOST:
        return packing, False
    model = cp_model.CpModel()
    before = instance.existing_count
    demands, free, exact = whole_numbers(instance, shape_of_node)
    on = [
        [model.new_bool_var("") for _ in range(len(shape_of_node))]
        for _ in range(len(instance.demands))
    ]
    opened = [model.new_bool_var("") for _ in range(len(shape_of_node) - before)]
    for item in range(len(instance.demands)):
        model.add_exactly_one(on[item])
    for node in range(len(shape_of_node)):
        for j in range(instance.dimensions):
            used = sum(int(demands[i, j]) * on[i][node] for i in range(len(demands)))
            room = int(free[node, j])
            model.add(used <= (room if node < before else room * opened[node - before]))
        if node >= before:
            for item in range(len(instance.demands)):
                model.add_implication(on[item][node], opened[node - before])
    for node in range(before, len(shape_of_node) - 1):
        if shape_of_node[node] == shape_of_node[node + 1]:
            model.add_implication(opened[node + 1 - before], opened[node - before])
    prices = whole_prices(instance, shape_of_node[before:])
    model.minimize(sum(p * o for p, o in zip(prices, opened, strict=True)))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = min(max(seconds, 0.01), patterns.LONGEST)
    solver.parameters.max_deterministic_time = work
    solver.parameters.num_workers = workers
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return packing, False
    chosen = np.array(
        [next(n for n, x in enumerate(row) if solver.boolean_value(x)) for row in on],
        dtype=np.int64,
    )
    whole = all(float(price).is_integer() for price in instance.shapes.costs or ())
    return (
        compact(instance, chosen, shape_of_node),
        status == cp_model.OPTIMAL and exact and whole,
    )


def candidate_nodes(instance: instances.Instance, packing: instances.Packing) -> arrays.Ints:
    """Return the existing nodes and as many new nodes of each shape as could be useful."""
    opened = packing.opened
    if instance.shapes.costs is not None:
        # Many cheap nodes may cost less than few expensive ones, but there are never more than
        # items.
        opened = len(instance.demands)
    shapes = [instances.EXISTING] * instance.existing_count
    for shape in range(len(instance.shapes.capacity)):
        limit = None if instance.shapes.limits is None else instance.shapes.limits[shape]
        shapes += [shape] * (opened if limit is None else min(limit, opened))
    return np.array(shapes, dtype=np.int64)


def whole_numbers(
    instance: instances.Instance, shape_of_node: arrays.Ints
) -> tuple[arrays.Floats, arrays.Floats, bool]:
    """Return demands and free capacity as integers, and whether they are exact."""
    capacity = np.empty((len(shape_of_node), instance.dimensions))
    before = instance.existing_count
    capacity[before:] = instance.shapes.capacity[shape_of_node[before:]]
    if instance.existing is not None:
        capacity[:before] = np.maximum(instance.existing.capacity - instance.existing.used, 0.0)
    if instance.tolerance == 0.0:
        return instance.demands, capacity, True
    largest = np.maximum(capacity.max(axis=0), np.finfo(np.float64).tiny)
    # Subtract a little before rounding up, or 0.5 would become 500001 millionths.
    scaled = np.ceil(instance.demands / largest * SCALE - 1e-6)
    return scaled, np.floor(capacity / largest * SCALE + 1e-6), False


def whole_prices(instance: instances.Instance, shapes: arrays.Ints) -> list[int]:
    """Return the integer price of each node that may be opened, 1 without prices."""
    if instance.shapes.costs is None:
        return [1] * len(shapes)
    prices = np.array(instance.shapes.costs)
    if not np.all(prices == np.floor(prices)):
        prices = np.round(prices / prices.max() * SCALE)
    return [int(price) for price in prices[shapes]]


def compact(
    instance: instances.Instance, node_of_item: arrays.Ints, shapes: arrays.Ints
) -> instances.Packing:
    """Renumber the nodes, dropping new ones that hold no item."""
    before = instance.existing_count
    used = np.unique(node_of_item[node_of_item >= before])
    kept = np.concatenate([np.arange(before), used]).astype(np.int64)
    position = np.full(len(shapes), instances.UNPLACED, dtype=np.int64)
    position[kept] = np.arange(len(kept))
    return instances.Packing(position[node_of_item], shapes[kept], len(used))
