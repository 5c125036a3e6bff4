"""Column generation: the linear program over all patterns of a node, and its bound.

The master program chooses patterns that cover all items with the fewest nodes (Gilmore & Gomory
1961). Patterns with negative reduced cost are looked for by ``knapsacks``: cheaply and many at a
time first, exactly when that finds none. Every exact pricing gives a lower bound for any prices
(Farley 1990): the value of all items, divided by the value of the best pattern.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import numpy as np
from ortools.linear_solver import pywraplp

from kubestow.model import arrays
from kubestow.policies.compiling import compiled
from kubestow.policies.placing.packing import offline

Pattern = offline.Pattern
Budget = Callable[[], float]
"""Seconds that remain; a host reads the clock, policies do not."""

CHEAP: Final = 20_000
"""Work per pattern in cheap pricing, in sizes looked at."""

STEP_UP: Final = 16
"""Factor of work when cheap pricing finds nothing any more."""

EXACT: Final = 200_000_000
"""Work in exact pricing, about two seconds; when it ends early the bound stays valid."""

WORK_PER_SECOND: Final = 50_000_000
"""Work that a slow machine does in a second; exact pricing must not outlast the budget."""

LARGEST: Final = 2500
"""Different sizes beyond which linear programs over their patterns take too long."""

LONGEST: Final = 1e6
"""Seconds that are as good as no limit; solvers want a number."""

REDUCED_COST: Final = 1e-6
"""Patterns whose value exceeds 1 by less do not pay."""

ROUNDING: Final = 1e-6
"""What a bound may be too high by rounding before it is rounded up."""


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
    """Write patterns worth more than one node: first disjoint ones, then one around each size.

    Returns:
        How many patterns were written into ``held``; ``ends`` says where each ends.
    """
    picked = np.empty(depth + 1, dtype=np.int64)
    order = offline.sort_by_density(sizes, counts, prices, weights)
    left = counts.copy()
    free = room.copy()
    number = 0
    position = 0
    while number < len(ends):
        found, value, _ = offline.best_pattern(
            sizes, left, free, prices, weights, order, depth, effort, 0.0, picked
        )
        if found == 0 or value <= 1.0 + REDUCED_COST or position + found > len(held):
            break
        for q in range(found):
            left[picked[q]] -= 1
            held[position] = picked[q]
            position += 1
        ends[number] = position
        number += 1
    for seed in range(len(counts)):
        # What is in a disjoint pattern has one with a good price already.
        if left[seed] == 0 or prices[seed] <= 0.0 or number >= len(ends):
            continue
        left[:] = counts
        left[seed] -= 1
        free[:] = room - sizes[seed]
        floor = 1.0 + REDUCED_COST - prices[seed]
        found, value, _ = offline.best_pattern(
            sizes, left, free, prices, weights, order, depth, effort, max(0.0, floor), picked
        )
        if found == 0 or value <= floor or position + found + 1 > len(held):
            continue
        picked[found] = seed
        for q in range(found + 1):
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
        """Add patterns that are not there yet and return how many these are."""
        before = len(self.patterns)
        for pattern in patterns:
            if pattern not in self._known:
                self._known.add(pattern)
                self.patterns.append(pattern)
                self._append(pattern)
        return len(self.patterns) - before

    def require(self, counts: arrays.Ints) -> None:
        """Change how many items of each size are to be covered."""
        self._counts = counts.copy()
        for row, count in zip(self._rows, counts.tolist(), strict=True):
            row.SetLb(float(count))

    def solve(self, seconds: float) -> Relaxation | None:
        """Solve the linear program, or return ``None`` when time is up before it is solved."""
        if seconds <= 0.0:
            return None
        milliseconds = max(1, int(min(seconds, LONGEST) * 1000))
        self._solver.SetTimeLimit(milliseconds)
        status = self._solver.Solve()
        if status == pywraplp.Solver.ABNORMAL:
            # The kept basis went numerically wrong; a start from nothing is the cure.
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
    """What column generation came to.

    Attributes:
        relaxation: The last solution of the master; ``None`` when there was no time for one.
        bound: A lower bound on the linear program over all patterns, and so on nodes.
        prices: Prices that give the bound and at which no pattern is worth more than a node.
        converged: Whether no pattern pays any more.
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
    """Add patterns to a master until none pays.

    Args:
        batch: Sizes and room.
        master: A master whose patterns cover all that is asked for.
        budget: Seconds that remain.
        counts: Items of each size; ``None`` for all of the batch. Must be what the master requires.
        rounds: Rounds after which to stop in any case.
        exact: Work of one exact pricing; 0 for none, then there is no bound either.
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
                return proven  # no bound of this program can say more about whole nodes
            if master.add([pattern] if pattern else []):
                break
        else:
            break
    return proven


def _strengthen(
    proven: Generation, solved: Relaxation, counts: arrays.Ints, best: float
) -> Generation:
    """Take over a bound if it is better; ``best`` is a bound on the value of patterns."""
    bound = float(solved.prices @ counts) / max(best, 1.0)
    converged = best <= 1.0 + 10 * REDUCED_COST
    if bound < proven.bound:
        return dataclasses.replace(proven, converged=converged)
    return Generation(solved, bound, solved.prices / max(best, 1.0), converged)


def _efforts(exact: int, seconds: float) -> Iterator[int]:
    """Return rising limits of work for one exact pricing: most end far below the last one."""
    most = min(exact, int(WORK_PER_SECOND * min(max(0.02, seconds), LONGEST)))
    effort = most // 64
    while effort < most:
        yield effort
        effort *= 8
    yield most


def is_tractable(batch: offline.ItemClasses) -> bool:
    """Tell whether a linear program over patterns of these sizes is worth setting up."""
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
    """Return the best pattern worth more than a node, if any, and a bound on all patterns."""
    picked = np.empty(depth + 1, dtype=np.int64)
    order = offline.sort_by_density(batch.sizes, counts, prices, weights)
    found, _, best = offline.best_pattern(
        batch.sizes, counts, batch.room, prices, weights, order, depth, effort, 1.0, picked
    )
    return tuple(sorted(picked[:found].tolist())), float(best)


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
    """Return a budget of a share of what remains now; of an unlimited one it is a long time.

    >>> part_of(lambda: 10.0, 0.25)()
    2.5
    """
    kept = min(budget(), LONGEST) * (1.0 - share)
    return lambda: min(budget(), LONGEST) - kept


def round_up(bound: float) -> int:
    """Return the number of whole nodes that a bound means.

    >>> round_up(3.0000001), round_up(3.1)
    (3, 4)
    """
    return math.ceil(bound - ROUNDING)
