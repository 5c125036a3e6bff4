"""The best packing within a budget, with a proven bound: the solver of ``pack --exact``.

Heuristics first, then the improvement search, the bound by column generation and covering
programs, in this order; it stops when the number of nodes equals the bound. Instances whose nodes
differ go through ruin and recreate and the assignment model.
"""

import dataclasses

import numpy as np

from kubestow.policies.placing.packing import heuristics, instances, offline
from kubestow.policies.placing.packing.exact import (
    assignment,
    bounds,
    improvement,
    patterns,
    ruin_recreate,
    search,
)

SHUFFLES = 10
"""Random orders to start with where many items share a node."""

MIXERS = ("adaptive", "vector-dot")
"""List heuristics that pack random orders best."""

GENERAL_SHARE = 0.4
"""Share of the budget for ruin and recreate before the assignment model."""

GENERAL_ROUNDS = 2000
"""Rounds of ruin and recreate before the assignment model."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ExactResult:
    """A packing with its proven lower bound.

    Attributes:
        packing: The best packing.
        lower_bound: Minimum number of nodes to open.
        method: Method that gave the bound; see ``bounds.Bound``.
        optimal: Whether no packing has fewer nodes (with prices: none is cheaper).
    """

    packing: instances.Packing
    lower_bound: int
    method: str
    optimal: bool


def solve(
    instance: instances.Instance,
    budget: patterns.Budget,
    start: instances.Packing | None = None,
    *,
    rng: np.random.Generator,
    rounds: int = 1_000_000,
    workers: int = 1,
) -> ExactResult:
    """Pack an instance as well as the budget allows.

    Args:
        instance: What to pack. Items that fit on no node stay unplaced when nodes differ or are
            limited, and are refused when all nodes are identical.
        budget: Remaining seconds; exceeded by no more than about a second.
        start: A known packing.
        rng: Randomness of the search.
        rounds: Maximum number of rounds.
        workers: Threads of the solvers.
    """
    if offline.is_uniform(instance):
        return _solve_uniform(instance, budget, start, rng, rounds, workers)
    return _solve_general(instance, budget, start, rng, rounds, workers)


def compile_solver() -> None:
    """Compile everything in advance, so that compilation does not consume the first budget."""
    demands = [[3.0, 2.0], [2.0, 3.0], [2.0, 2.0], [3.0, 1.0], [1.0, 2.0]]
    tiny = instances.make_instance(demands, [5.0, 5.0], name="warm-up")
    batch = offline.classify_items(tiny)
    rng = np.random.default_rng(0)
    best = search.begin(batch, tiny)
    search.recreate(batch, dataclasses.replace(best, lower=0), rng, lambda: 1.0, rounds=1)
    master = patterns.Master(batch.counts)
    master.add(best.patterns)
    generation = patterns.generate(batch, master, lambda: 1.0, rounds=3)
    search.cover_gap(batch, best, generation, master, 0.01, workers=1)


def _solve_uniform(
    instance: instances.Instance,
    budget: patterns.Budget,
    start: instances.Packing | None,
    rng: np.random.Generator,
    rounds: int,
    workers: int,
) -> ExactResult:
    batch = offline.classify_items(instance)
    if len(instance.demands) == 0:
        return ExactResult(offline.make_packing(batch, []), 0, "volume", True)
    best = search.begin(batch, instance)
    depth = offline.deepest_pattern(batch.sizes, batch.counts, batch.room)
    shuffled = pack_shuffled(instance, rng, budget) if depth > offline.MANY else []
    for known in (start, *shuffled):
        if known is not None and known.opened < len(best.patterns) and not len(known.unplaced):
            best = dataclasses.replace(best, patterns=offline.read_patterns(batch, known))
    best = search.search(batch, best, rng, budget, rounds=rounds, workers=workers)
    packing = offline.make_packing(batch, best.patterns)
    return ExactResult(packing, best.lower, best.method, best.optimal)


def _solve_general(
    instance: instances.Instance,
    budget: patterns.Budget,
    start: instances.Packing | None,
    rng: np.random.Generator,
    rounds: int,
    workers: int,
) -> ExactResult:
    packing = best_of_heuristics(instance)
    if start is not None and ruin_recreate.cost(instance, start) < ruin_recreate.cost(
        instance, packing
    ):
        packing = start
    if len(packing.unplaced):
        # With unplaced items, bounds on complete packings are meaningless.
        packing = improvement.recreate(instance, packing, rng, budget, rounds=rounds)
        return ExactResult(packing, 0, "none", False)
    part = patterns.part_of(budget, GENERAL_SHARE / 2)
    bound = bounds.lower_bound(instance, part, target=packing.opened)
    packing = improvement.recreate(
        instance,
        packing,
        rng,
        patterns.part_of(budget, GENERAL_SHARE),
        rounds=min(rounds, GENERAL_ROUNDS),
        lower=bound.value,
    )
    proven = packing.opened <= bound.value and instance.shapes.costs is None
    if not proven and budget() > 0.0:
        packing, proven = assignment.assign(instance, packing, budget(), workers=workers)
        if proven and instance.shapes.costs is None:
            bound = bounds.Bound(packing.opened, "assignment")
    return ExactResult(packing, bound.value, bound.method, proven)


def pack_shuffled(
    instance: instances.Instance, rng: np.random.Generator, budget: patterns.Budget
) -> list[instances.Packing]:
    """Pack items in random orders by heuristics that use the direction of the free capacity.

    With many small items per node, a random order leaves better matches for the next item than a
    sorted one, and bin completion covers little more than its first choice.
    """
    packings: list[instances.Packing] = []
    for _ in range(SHUFFLES):
        order = rng.permutation(len(instance.demands))
        if packings and budget() <= 0.0:
            break
        packings += [
            heuristics.pack(instance, heuristics.HEURISTICS.get(name), order) for name in MIXERS
        ]
    return packings


def best_of_heuristics(instance: instances.Instance) -> instances.Packing:
    """Return the best packing by the list heuristics, in order of arrival and by size."""
    packings = []
    for rule in ruin_recreate.RULES:
        heuristic = heuristics.HEURISTICS.get(rule)
        packings.append(heuristics.pack(instance, heuristic))
        packings += [
            heuristics.pack(instance, heuristic, offline.decreasing(instance, measure))
            for measure in offline.BASIC
        ]
    return min(packings, key=lambda packing: ruin_recreate.cost(instance, packing))
