"""Column generation: the linear program over all patterns of a node, and its bound.

The master program chooses patterns that cover all items with the fewest nodes (Gilmore & Gomory
1961). ``offline.knapsack`` searches patterns with negative reduced cost: first cheaply and many
at a time, then exactly. Every exact pricing gives a lower bound for any prices (Farley 1990): the
value of all items, divided by the value of the best pattern.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.compiling import compiled
from kubestow.policies.placing.packing import offline

Pattern = offline.Pattern
Budget = Callable[[], float]
"""Returns the remaining seconds; a host reads the clock, policies do not."""

CHEAP: Final = 20_000
"""Work per pattern in cheap pricing, in sizes visited."""

STEP_UP: Final = 16
"""Factor by which work grows when cheap pricing finds no more patterns."""

EXACT: Final = 200_000_000
"""Work in exact pricing, about two seconds; if it ends early the bound stays valid."""

WORK_PER_SECOND: Final = 50_000_000
"""Work per second of a slow machine; exact pricing must not exceed the budget."""

LARGEST: Final = 2500
"""Maximum number of distinct sizes; beyond it linear programs over patterns take too long."""

LONGEST: Final = 1e6
"""Seconds that stand for no limit, because solvers need a number."""

REDUCED_COST: Final = 1e-6
"""Patterns whose value exceeds 1 by less than this are not added."""

ROUNDING: Final = 1e-6
"""Rounding error by which a bound may be too high before it is rounded up."""


@compiled
def price_patterns(
    sizes: arrays.Floats,
    counts: arrays.Ints,
    room: arrays.Floats,
    prices: arrays.Floats,
    weights: arrays.Floats,
    depth: int,
    effort: int,
    ends: arrays.Ints,
    held: arrays.Ints,
) -> int:
    """Write patterns of value above 1: first disjoint ones, then one for each remaining size.

    Returns:
        The number of patterns written into ``held``; ``ends`` holds the end position of each.
    """
    picked = np.empty(depth + 1, dtype=np.int64)
    order = offline.sort_by_density(sizes, counts, prices, weights)
    left = counts.copy()
    free = room.copy()
    number = 0
    position = 0
    while number < len(ends):
        length, value, _ = offline.best_pattern(
            sizes, left, free, prices, weights, order, depth, effort, 0.0, picked
        )
        if length == 0 or value <= 1.0 + REDUCED_COST or position + length > len(held):
            break
        for q in range(length):
            left[picked[q]] -= 1
            held[position] = picked[q]
            position += 1
        ends[number] = position
        number += 1
    for seed in range(len(counts)):
        # Sizes used up by disjoint patterns have a pattern already.
        if left[seed] == 0 or prices[seed] <= 0.0 or number >= len(ends):
            continue
        left[:] = counts
        left[seed] -= 1
        free[:] = room - sizes[seed]
        floor = 1.0 + REDUCED_COST - prices[seed]
        length, value, _ = offline.best_pattern(
            sizes, left, free, prices, weights, order, depth, effort, max(0.0, floor), picked
        )
        if length == 0 or value <= floor or position + length + 1 > len(held):
            continue
        picked[length] = seed
        for q in range(length + 1):
            held[position] = picked[q]
            position += 1
        ends[number] = position
        number += 1
    return number


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """A solution of the linear program.

    Attributes:
        value: Nodes used, a real number.
        prices: Dual value of each size, never negative.
        amounts: How often each pattern of the master is used.
    """

    value: float
    prices: arrays.Floats
    amounts: arrays.Floats


class Master:
    """The restricted master program; it keeps its basis between solutions.

    Attributes:
        patterns: The patterns so far, in the order of the columns.
    """

    def __init__(self, counts: arrays.Ints) -> None:
        self.patterns: list[Pattern] = []
        self._known: set[Pattern] = set()
        self._counts = counts
        self._build()

    def _build(self) -> None:
        from ortools.linear_solver import pywraplp

        self._solver = pywraplp.Solver.CreateSolver("GLOP")
        self._rows = [self._solver.Constraint(float(c), math.inf) for c in self._counts.tolist()]
        self._columns: list[pywraplp.Variable] = []
        self._objective = self._solver.Objective()
        self._objective.SetMinimization()
        for pattern in self.patterns:
            self._append(pattern)

    def _append(self, pattern: Pattern) -> None:
        column = self._solver.NumVar(0.0, math.inf, "")
        self._objective.SetCoefficient(column, 1.0)
        for size in set(pattern):
            self._rows[size].SetCoefficient(column, float(pattern.count(size)))
        self._columns.append(column)

    def add(self, patterns: Iterable[Pattern]) -> int:
        """Add new patterns and return their number."""
        before = len(self.patterns)
        for pattern in patterns:
            if pattern not in self._known:
                self._known.add(pattern)
                self.patterns.append(pattern)
                self._append(pattern)
        return len(self.patterns) - before

    def require(self, counts: arrays.Ints) -> None:
        """Set how many items of each size must be covered."""
        self._counts = counts.copy()
        for row, count in zip(self._rows, counts.tolist(), strict=True):
            row.SetLb(float(count))

    def solve(self, seconds: float) -> Relaxation | None:
        """Solve the linear program, or return ``None`` if time runs out first."""
        from ortools.linear_solver import pywraplp

        if seconds <= 0.0:
            return None
        milliseconds = max(1, int(min(seconds, LONGEST) * 1000))
        self._solver.SetTimeLimit(milliseconds)
        status = self._solver.Solve()
        if status == pywraplp.Solver.ABNORMAL:
            # The kept basis became numerically unstable; rebuild and solve from scratch.
            self._build()
            self._solver.SetTimeLimit(milliseconds)
            status = self._solver.Solve()
        if status != pywraplp.Solver.OPTIMAL:
            return None
        prices = np.array([row.dual_value() for row in self._rows])
        return Relaxation(
            value=self._objective.Value(),
            prices=np.maximum(prices, 0.0),
            amounts=np.array([column.solution_value() for column in self._columns]),
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """The result of column generation.

    Attributes:
        relaxation: The last solution of the master; ``None`` if there was no time for one.
        bound: A lower bound on the linear program over all patterns, and so on nodes.
        prices: Dual prices that give the bound, at which no pattern is worth more than 1.
        converged: Whether no pattern has negative reduced cost any more.
    """

    relaxation: Relaxation | None
    bound: float
    prices: arrays.Floats
    converged: bool


def generate(
    batch: offline.ItemClasses,
    master: Master,
    budget: Budget,
    *,
    counts: arrays.Ints | None = None,
    rounds: int = 10_000,
    exact: int = EXACT,
    target: float = math.inf,
) -> Generation:
    """Add patterns to a master until none has negative reduced cost.

    Args:
        batch: Sizes and capacity.
        master: A master whose patterns cover all required items.
        budget: Remaining seconds.
        counts: Items of each size; ``None`` for all of the batch. Must equal what the master
            requires.
        rounds: Maximum number of rounds.
        exact: Work of one exact pricing; 0 for none, which gives no bound.
        target: A bound at which to stop.

    Returns:
        The last solution and the bound.
    """
    required = batch.counts if counts is None else counts
    depth = offline.deepest_pattern(batch.sizes, required, batch.room)
    proven = Generation(None, 0.0, np.zeros(len(required)), False)
    cheap = CHEAP
    for _ in range(rounds):
        solved = master.solve(budget())
        if solved is None:
            break
        proven = dataclasses.replace(proven, relaxation=solved)
        weights = offline.weigh_resources(
            batch.sizes, required, batch.room, solved.prices, offline.MANY_STEPS
        )
        priced = 0
        while not priced and cheap <= (CHEAP * STEP_UP if exact else CHEAP):
            priced = master.add(_price(batch, required, solved.prices, weights, depth, cheap))
            cheap *= 1 if priced else STEP_UP
        if priced:
            continue
        if exact == 0:
            return dataclasses.replace(proven, converged=True)
        for effort in _efforts(exact, budget()):
            pattern, best = price_exactly(batch, required, solved.prices, weights, depth, effort)
            proven = _strengthen(proven, solved, required, best)
            if proven.converged or proven.bound >= target:
                return proven
            if round_up(proven.bound) >= round_up(solved.value):
                return proven  # a better bound would round up to the same number of nodes
            if master.add([pattern] if pattern else []):
                break
        else:
            break
    return proven


def _strengthen(
    proven: Generation, solved: Relaxation, counts: arrays.Ints, best: float
) -> Generation:
    """Update the bound if it improves; ``best`` bounds the value of patterns from above."""
    bound = float(solved.prices @ counts) / max(best, 1.0)
    converged = best <= 1.0 + 10 * REDUCED_COST
    if bound < proven.bound:
        return dataclasses.replace(proven, converged=converged)
    return Generation(solved, bound, solved.prices / max(best, 1.0), converged)


def _efforts(exact: int, seconds: float) -> Iterator[int]:
    """Yield rising work limits for one exact pricing; most finish far below the last one."""
    most = min(exact, int(WORK_PER_SECOND * min(max(0.02, seconds), LONGEST)))
    effort = most // 64
    while effort < most:
        yield effort
        effort *= 8
    yield most


def is_tractable(batch: offline.ItemClasses) -> bool:
    """Return whether a linear program over patterns of these sizes is small enough to solve."""
    depth = offline.deepest_pattern(batch.sizes, batch.counts, batch.room)
    number = len(batch.counts)
    return number <= LARGEST and (depth + 1) * number <= offline.LARGEST_TABLE


def price_exactly(
    batch: offline.ItemClasses,
    counts: arrays.Ints,
    prices: arrays.Floats,
    weights: arrays.Floats,
    depth: int,
    effort: int,
) -> tuple[Pattern, float]:
    """Return the best pattern of value above 1, if any, and a bound on all patterns."""
    picked = np.empty(depth + 1, dtype=np.int64)
    order = offline.sort_by_density(batch.sizes, counts, prices, weights)
    length, _, best = offline.best_pattern(
        batch.sizes, counts, batch.room, prices, weights, order, depth, effort, 1.0, picked
    )
    return tuple(sorted(picked[:length].tolist())), float(best)


def _price(
    batch: offline.ItemClasses,
    counts: arrays.Ints,
    prices: arrays.Floats,
    weights: arrays.Floats,
    depth: int,
    effort: int,
) -> list[Pattern]:
    most = max(1, min(2 * len(counts), offline.LARGEST_TABLE // (4 * (depth + 1))))
    ends = np.empty(most, dtype=np.int64)
    held = np.empty(most * (depth + 1), dtype=np.int64)
    written = price_patterns(
        batch.sizes, counts, batch.room, prices, weights, depth, effort, ends, held
    )
    parts = np.split(held, ends[:written])[:written]
    return [tuple(sorted(part.tolist())) for part in parts]


def part_of(budget: Budget, share: float) -> Budget:
    """Return a share of the remaining budget; ``LONGEST`` stands for an unlimited one.

    >>> part_of(lambda: 10.0, 0.25)()
    2.5
    """
    kept = min(budget(), LONGEST) * (1.0 - share)
    return lambda: min(budget(), LONGEST) - kept


def round_up(bound: float) -> int:
    """Return the bound as a number of whole nodes.

    >>> round_up(3.0000001), round_up(3.1)
    (3, 4)
    """
    return math.ceil(bound - ROUNDING)
