"""Independent answers to compare with: an arc-flow model for one shape, brute force for any kind.

Nothing here uses the code under test. Arc flow after Brandao & Pedroso 2016: paths through the
partial sums of item sizes are patterns; an integer flow of least value that takes every item is an
optimal packing.
"""

import numpy as np
from scipy import optimize, sparse

from kubestow.policies.placing.packing import instances

State = tuple[int, int, tuple[float, ...]]
"""Index of the size at hand, how many of it were taken, and what is used in all."""


def count_by_arcflow(instance: instances.Instance) -> int:
    """Return the least number of nodes of one shape, by a mixed-integer program."""
    sizes, counts = np.unique(instance.demands, axis=0, return_counts=True)
    capacity = instance.shapes.capacity[0]
    start: State = (0, 0, (0.0,) * instance.dimensions)
    sink: State = (len(sizes), 0, ())
    arcs: list[tuple[State, State, int | None]] = []
    reached = {start}
    frontier = [start]
    while frontier:
        level, taken, used = tail = frontier.pop()
        if level == len(sizes):
            continue
        target: State = (level + 1, 0, used) if level + 1 < len(sizes) else sink
        steps: list[tuple[State, int | None]] = [(target, None)]
        filled = np.array(used) + sizes[level]
        if taken < counts[level] and np.all(filled <= capacity):
            steps.append(((level, taken + 1, tuple(filled.tolist())), level))
        for state, size in steps:
            arcs.append((tail, state, size))
            if state not in reached:
                reached.add(state)
                frontier.append(state)
    return _least_flow(arcs, start, sink, reached, counts)


def _least_flow(
    arcs: list[tuple[State, State, int | None]],
    start: State,
    sink: State,
    states: set[State],
    counts: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> int:
    inner = {state: row for row, state in enumerate(sorted(states - {start, sink}))}
    balance = sparse.lil_matrix((max(1, len(inner)), len(arcs)))
    taken = sparse.lil_matrix((len(counts), len(arcs)))
    cost = np.zeros(len(arcs))
    for column, (tail, head, size) in enumerate(arcs):
        if tail in inner:
            balance[inner[tail], column] -= 1
        if head in inner:
            balance[inner[head], column] += 1
        if tail == start:
            cost[column] += 1
        if size is not None:
            taken[size, column] = 1
    answer = optimize.milp(
        cost,
        constraints=[
            optimize.LinearConstraint(balance.tocsr(), 0, 0),
            optimize.LinearConstraint(taken.tocsr(), counts, np.inf),
        ],
        integrality=np.ones(len(arcs), dtype=np.int64),
        bounds=optimize.Bounds(0, int(counts.sum())),
    )
    assert answer.success
    return round(answer.fun)


def count_by_trying(instance: instances.Instance) -> int | None:
    """Return the least number of opened nodes by trying everything; ``None`` if there is none."""
    nodes: list[list[float]] = []
    if instance.existing is not None:
        free = instance.existing.capacity - instance.existing.used
        nodes = [row.tolist() for row in free]
    limits: list[float] = [np.inf] * len(instance.shapes.capacity)
    if instance.shapes.limits is not None:
        limits = [np.inf if limit is None else limit for limit in instance.shapes.limits]
    best = _try(instance, 0, nodes, limits, 0, len(instance.demands) + 1)
    return None if best > len(instance.demands) else best


def _try(
    instance: instances.Instance,
    item: int,
    nodes: list[list[float]],
    limits: list[float],
    opened: int,
    best: int,
) -> int:
    if opened >= best:
        return best
    if item == len(instance.demands):
        return opened
    demand = instance.demands[item].tolist()
    for node, free in enumerate(nodes):
        left = [f - d for f, d in zip(free, demand, strict=True)]
        if all(f >= 0 or d == 0 for f, d in zip(left, demand, strict=True)):
            rest = [*nodes[:node], left, *nodes[node + 1 :]]
            best = _try(instance, item + 1, rest, limits, opened, best)
    for shape, limit in enumerate(limits):
        left = [c - d for c, d in zip(instance.shapes.capacity[shape], demand, strict=True)]
        if limit > 0 and min(left) >= 0:
            fewer = [*limits[:shape], limit - 1, *limits[shape + 1 :]]
            best = _try(instance, item + 1, [*nodes, left], fewer, opened + 1, best)
    return best
