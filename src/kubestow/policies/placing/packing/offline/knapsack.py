"""The best content of one node: a multi-dimensional knapsack, by branch and bound.

It completes nodes in ``bin_completion`` and prices columns in ``exact.patterns``. Depth-first over
sizes in order of value per weighted size; each level keeps the sizes that still fit. The bound of
a branch is the fractional knapsack of Dantzig (1957) on one weighted sum of all resources (a
surrogate constraint, Glover 1968); ``weigh_resources`` searches weights that make it tight.

Work is counted in sizes visited, so that limits are the same on every machine.
"""

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled

EPSILON = 1e-9
"""Improvements of value below this are rounding errors."""

MANY_STEPS = 40
"""Steps of ``weigh_resources`` for bounds; more did not make them visibly tighter."""

LARGEST_TABLE = 20_000_000
"""Maximum entries of the table of candidates per level; 160 MB."""

FEW_STEPS = 6
"""Steps of ``weigh_resources`` where only the order of items depends on the weights."""


@compiled
def deepest_pattern(sizes: arrays.Floats, counts: arrays.Ints, room: arrays.Floats) -> int:
    """Return an upper bound on the number of items on one node."""
    total = counts.sum()
    deepest = total
    for j in range(sizes.shape[1]):
        left = room[j]
        held = 0
        for t in np.argsort(sizes[:, j]):
            size = sizes[t, j]
            fits = counts[t]
            if size > 0.0:
                fits = min(fits, np.int64(np.floor(left / size + EPSILON)))
            held += fits
            left -= fits * size
            if fits < counts[t]:
                break
        deepest = min(deepest, held)
    return int(deepest)


@compiled
def sort_by_density(
    sizes: arrays.Floats, counts: arrays.Ints, values: arrays.Floats, weights: arrays.Floats
) -> arrays.Ints:
    """Return the available sizes with a positive value, highest value per weighted size first."""
    weighted = sizes @ weights
    order = np.empty(len(values), dtype=np.int64)
    density = np.empty(len(values))
    number = 0
    for t in range(len(values)):
        if counts[t] > 0 and values[t] > 0.0:
            order[number] = t
            density[number] = -values[t] / max(weighted[t], 1e-300)
            number += 1
    return order[:number][np.argsort(density[:number], kind="mergesort")]


@compiled
def fill_fractionally(
    sizes: arrays.Floats,
    counts: arrays.Ints,
    room: arrays.Floats,
    values: arrays.Floats,
    weights: arrays.Floats,
    used: arrays.Floats,
) -> float:
    """Return the value of Dantzig's fractional solution and write its usage of each resource."""
    weighted = sizes @ weights
    left = (room * weights).sum()
    value = 0.0
    used[:] = 0.0
    for t in sort_by_density(sizes, counts, values, weights):
        amount = float(counts[t])
        if weighted[t] * amount > left:
            amount = left / weighted[t]
        value += values[t] * amount
        left -= weighted[t] * amount
        for j in range(len(used)):
            used[j] += sizes[t, j] * amount
        if amount < counts[t]:
            break
    return value


@compiled
def weigh_resources(
    sizes: arrays.Floats,
    counts: arrays.Ints,
    room: arrays.Floats,
    values: arrays.Floats,
    steps: int,
) -> arrays.Floats:
    """Return weights of resources that make the fractional bound small.

    Multiplicative steps: resources that the fractional solution overuses get larger weights.
    """
    d = sizes.shape[1]
    weights = np.empty(d)
    for j in range(d):
        weights[j] = 1.0 / room[j] if room[j] > 0.0 else 0.0
    used = np.empty(d)
    best = np.inf
    chosen = weights.copy()
    for step in range(steps):
        bound = fill_fractionally(sizes, counts, room, values, weights, used)
        if bound < best - EPSILON:
            best = bound
            chosen[:] = weights
        for j in range(d):
            if room[j] > 0.0:
                excess = min(2.0, used[j] / room[j] - 1.0)
                weights[j] *= np.exp(excess * 1.5 / (1.0 + 0.3 * step))
    return chosen


@compiled
def fits(sizes: arrays.Floats, t: int, left: arrays.Floats, level: int) -> bool:
    """Return whether a size fits into the capacity left at a level."""
    for j in range(sizes.shape[1]):  # noqa: SIM110 - numba does not support generators here
        if sizes[t, j] > left[level, j]:
            return False
    return True


@compiled
def reach(
    listed: arrays.Ints,
    counts: arrays.Ints,
    taken: arrays.Ints,
    values: arrays.Floats,
    weighted: arrays.Floats,
    rest: float,
) -> tuple[float, int]:
    """Return the most value the listed sizes can add, fractionally, and how many were visited."""
    value = 0.0
    for q in range(len(listed)):
        t = listed[q]
        amount = counts[t] - taken[t]
        if weighted[t] * amount > rest:
            return value + values[t] * max(0.0, rest) / weighted[t], q + 1
        rest -= weighted[t] * amount
        value += values[t] * amount
    return value, len(listed)


@compiled
def narrow(
    sizes: arrays.Floats,
    counts: arrays.Ints,
    taken: arrays.Ints,
    left: arrays.Floats,
    level: int,
    listed: arrays.Ints,
    narrowed: arrays.Ints,
) -> int:
    """Write the listed sizes of which one more item fits at a level; return their number."""
    number = 0
    for t in listed:
        if counts[t] > taken[t] and fits(sizes, t, left, level):
            narrowed[number] = t
            number += 1
    return number


@compiled
def best_pattern(
    sizes: arrays.Floats,
    counts: arrays.Ints,
    room: arrays.Floats,
    values: arrays.Floats,
    weights: arrays.Floats,
    order: arrays.Ints,
    depth: int,
    limit: int,
    floor: float,
    picked: arrays.Ints,
) -> tuple[int, float, float]:
    """Find the most valuable set of items that fits into a given capacity.

    Args:
        sizes: Size vectors.
        counts: Number of items of each size.
        room: The capacity.
        values: Value of one item of each size.
        weights: Weights of resources for the bound.
        order: The sizes to choose from, densest first (``sort_by_density``).
        depth: Maximum items in a pattern. The bound holds if no node can hold more
            (``deepest_pattern``).
        limit: Work after which the search ends with the best pattern so far.
        floor: Only patterns with a higher value are considered.
        picked: Filled with the sizes of the pattern; at least ``depth`` long.

    Returns:
        The number of items picked, 0 when none beats the floor; their value or the floor; and an
        upper bound on the value of any pattern.
    """
    number, d = sizes.shape
    weighted = sizes @ weights
    lists = np.empty((depth + 1, len(order)), dtype=np.int64)
    length = np.zeros(depth + 1, dtype=np.int64)
    pointer = np.zeros(depth + 1, dtype=np.int64)
    left = np.empty((depth + 1, d))
    surrogate = np.empty(depth + 1)
    value = np.zeros(depth + 1)
    path = np.empty(depth + 1, dtype=np.int64)
    taken = np.zeros(number, dtype=np.int64)
    left[0] = room
    surrogate[0] = (room * weights).sum()
    length[0] = narrow(sizes, counts, taken, left, 0, order, lists[0])
    length_of_best = 0
    best = floor
    bound = floor
    work = 0
    # With a floor there may be no pattern at all; without one, a first pattern always completes.
    complete = floor > 0.0
    level = 0
    while level >= 0:
        listed = lists[level, pointer[level] : length[level]]
        gain, steps = reach(listed, counts, taken, values, weighted, surrogate[level])
        work += steps
        stopped = complete and work > limit
        if stopped:
            bound = max(bound, value[level] + gain)
        if len(listed) == 0 or value[level] + gain <= best + EPSILON or stopped:
            level -= 1
            if level >= 0:
                taken[path[level]] -= 1
            continue
        t = listed[0]
        pointer[level] += 1
        path[level] = t
        taken[t] += 1
        worth = value[level] + values[t]
        if worth > best:
            best = worth
            length_of_best = level + 1
            picked[:length_of_best] = path[:length_of_best]
        left[level + 1] = left[level] - sizes[t]
        # The same size may be taken again while items of it remain.
        fitting = narrow(sizes, counts, taken, left, level + 1, listed, lists[level + 1])
        work += len(listed)
        if fitting == 0 or level + 1 >= depth:
            complete = True
            taken[t] -= 1
            continue
        level += 1
        length[level] = fitting
        pointer[level] = 0
        surrogate[level] = surrogate[level - 1] - weighted[t]
        value[level] = worth
    return length_of_best, best, max(bound, best)
