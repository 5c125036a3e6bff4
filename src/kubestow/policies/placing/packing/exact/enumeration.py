"""All patterns that an improved packing could use, and whether they form one.

With dual prices at which no pattern is worth more than 1, a packing of ``k`` nodes uses only
patterns whose value falls short of 1 by no more than ``k`` minus the value of all items (reduced
cost fixing). If these are few they can all be listed, and a covering program over them decides:
either it gives a packing of ``k`` nodes, or there is none.
"""

import dataclasses
from collections.abc import Sequence
from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled
from kubestow.policies.placing.packing import offline
from kubestow.policies.placing.packing.exact import patterns as exact_patterns

Pattern = offline.Pattern

MOST: Final = 60_000
"""Maximum number of patterns for a covering program; larger ones are not solved in time."""

EFFORT: Final = 100_000_000
"""Work limit of listing patterns, in sizes visited: about a second."""

FREE: Final = 1e-7
"""Added to every price, so that items of price 0 are included; no pattern is lost."""


@compiled
def list_patterns(
    sizes: arrays.Floats,
    counts: arrays.Ints,
    room: arrays.Floats,
    prices: arrays.Floats,
    weights: arrays.Floats,
    depth: int,
    threshold: float,
    effort: int,
    ends: arrays.Ints,
    held: arrays.Ints,
) -> int:
    """Write all maximal patterns whose value reaches a threshold.

    Returns:
        Their number, or -1 if there are too many to write or to list within the effort.
    """
    number, d = sizes.shape
    weighted = sizes @ weights
    lists = np.empty((depth + 1, number), dtype=np.int64)
    length = np.zeros(depth + 1, dtype=np.int64)
    pointer = np.zeros(depth + 1, dtype=np.int64)
    left = np.empty((depth + 1, d))
    surrogate = np.empty(depth + 1)
    value = np.zeros(depth + 1)
    path = np.empty(depth + 1, dtype=np.int64)
    taken = np.zeros(number, dtype=np.int64)
    work = 0
    written = 0
    position = 0
    level = 0
    left[0] = room
    surrogate[0] = (room * weights).sum()
    order = offline.sort_by_density(sizes, counts, prices, weights)
    length[0] = len(order)
    lists[0, : len(order)] = order
    while level >= 0:
        listed = lists[level, pointer[level] : length[level]]
        gain, steps = offline.reach(listed, counts, taken, prices, weighted, surrogate[level])
        work += steps + len(listed)
        if len(listed) == 0 or value[level] + gain < threshold:
            level -= 1
            if level >= 0:
                taken[path[level]] -= 1
            continue
        t = listed[0]
        pointer[level] += 1
        path[level] = t
        taken[t] += 1
        left[level + 1] = left[level] - sizes[t]
        fitting = offline.narrow(sizes, counts, taken, left, level + 1, listed, lists[level + 1])
        if fitting > 0:
            level += 1
            length[level] = fitting
            pointer[level] = 0
            surrogate[level] = surrogate[level - 1] - weighted[t]
            value[level] = value[level - 1] + prices[t]
            continue
        if value[level] + prices[t] >= threshold and is_maximal(
            sizes, counts, taken, left, level + 1
        ):
            if written == len(ends) or position + level + 1 > len(held):
                return -1
            held[position : position + level + 1] = path[: level + 1]
            position += level + 1
            ends[written] = position
            written += 1
        taken[t] -= 1
        if work > effort:
            return -1
    return written


@compiled
def is_maximal(
    sizes: arrays.Floats, counts: arrays.Ints, taken: arrays.Ints, left: arrays.Floats, level: int
) -> bool:
    """Return whether no further item fits into the capacity left."""
    for t in range(len(counts)):
        if counts[t] > taken[t] and offline.fits(sizes, t, left, level):
            return False
    return True


def enumerate_patterns(
    batch: offline.ItemClasses, prices: arrays.Floats, slack: float, most: int = MOST
) -> list[Pattern] | None:
    """Return all maximal patterns worth at least ``1 - slack``; ``None`` when they are too many.

    Args:
        batch: What to pack.
        prices: Prices at which no pattern is worth more than 1.
        slack: How far the value of a pattern may fall short of 1.
        most: Maximum number of patterns.
    """
    raised = prices + FREE
    depth = offline.deepest_pattern(batch.sizes, batch.counts, batch.room)
    capacity = min(most, offline.LARGEST_TABLE // (depth + 1))
    ends = np.empty(capacity, dtype=np.int64)
    held = np.empty(capacity * (depth + 1), dtype=np.int64)
    number = list_patterns(
        batch.sizes,
        batch.counts,
        batch.room,
        raised,
        offline.weigh_resources(batch.sizes, batch.counts, batch.room, raised, offline.MANY_STEPS),
        depth,
        1.0 - slack - 10 * exact_patterns.REDUCED_COST,
        EFFORT,
        ends,
        held,
    )
    if number < 0:
        return None
    parts = np.split(held, ends[:number])[:number]
    return [tuple(sorted(part.tolist())) for part in parts]


@dataclasses.dataclass(frozen=True, slots=True)
class Cover:
    """The result of a covering program.

    Attributes:
        patterns: Patterns that cover all items; ``None`` if the solver has none.
        impossible: Whether it is proven that there is no cover.
    """

    patterns: tuple[Pattern, ...] | None
    impossible: bool


def cover(
    batch: offline.ItemClasses,
    patterns: Sequence[Pattern],
    nodes: int,
    seconds: float,
    *,
    workers: int = 1,
    work: float = 1e9,
) -> Cover:
    """Search for a packing with at most ``nodes`` nodes that uses only given patterns.

    Args:
        batch: What to pack.
        patterns: Possible contents of nodes; subsets of them are allowed too.
        nodes: Maximum number of nodes.
        seconds: Time limit.
        workers: Threads of the solver.
        work: Work limit, in the solver's deterministic units.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    amounts = [
        model.new_int_var(0, max(int(batch.counts[size]) for size in pattern), "")
        for pattern in patterns
    ]
    rows: list[list[tuple[int, int]]] = [[] for _ in batch.counts]
    for column, pattern in enumerate(patterns):
        for size in set(pattern):
            rows[size].append((column, pattern.count(size)))
    for row, count in zip(rows, batch.counts.tolist(), strict=True):
        if sum(times for _, times in row) == 0:
            return Cover(None, True)
        model.add(sum(times * amounts[column] for column, times in row) >= count)
    model.add(sum(amounts) <= nodes)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = min(max(seconds, 0.01), exact_patterns.LONGEST)
    solver.parameters.max_deterministic_time = work
    solver.parameters.num_workers = workers
    # In practice only the linear relaxation leads to covers.
    solver.parameters.linearization_level = 2
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Cover(None, status == cp_model.INFEASIBLE)
    chosen = [
        pattern
        for pattern, amount in zip(patterns, amounts, strict=True)
        for _ in range(solver.value(amount))
    ]
    return Cover(tuple(chosen), False)
