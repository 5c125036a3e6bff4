"""The best packing that a budget allows, with a proven bound: what ``pack --exact`` runs.

Heuristics first, then the improvement search, the bound by column generation and covering
programs, in this order and only as far as needed: everything stops when the number of nodes equals
the bound. Instances whose nodes differ go through ruin and recreate and the assignment model.
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
"""Random orders to begin with where many items share a node."""

MIXERS = ("adaptive", "vector-dot")
"""List heuristics that pack random orders best."""

GENERAL_SHARE = 0.4
"""Share of the budget for ruin and recreate before the assignment model is tried."""

GENERAL_ROUNDS = 2000
"""Rounds of ruin and recreate before the assignment model is tried."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ExactResult:
    """A packing and what is known about it.

    Attributes:
        packing: The best packing found.
        lower_bound: So many nodes have to be opened at least.
        method: What gave the bound; see ``bounds.Bound``.
        optimal: Whether no packing has fewer nodes (with prices given: none is cheaper).
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
        instance: What to pack. Items that fit nowhere stay unplaced when nodes differ or are
            limited, and are refused when all nodes are alike.
        budget: Seconds that remain; exceeded by no more than about a second.
        start: A packing that is known already.
        rng: Randomness of the search.
        rounds: Rounds after which to end in any case.
        workers: Threads of the solvers.
    """
    if offline.is_uniform(instance):
        return _solve_uniform(instance, budget, start, rng, rounds, workers)
    return _solve_general(instance, budget, start, rng, rounds, workers)


def compile_solver() -> None:
    """Compile everything, so that the first budget is not spent on it."""
    demands = [[3.0, 2.0], [2.0, 3.0], [2.0, 2.0], [3.0, 1.0], [1.0, 2.0]]
    tiny = instances.make_instance(demands, [5.0, 5.0], name="warm-up")
    batch = offline.classify_items(tiny)
    rng = np.random.default_rng(0)
    found = search.begin(batch, tiny)
    search.recreate(batch, dataclasses.replace(found, lower=0), rng, lambda: 1.0, rounds=1)
    master = patterns.Master(batch.counts)
    master.add(found.patterns)
    generation = patterns.generate(batch, master, lambda: 1.0, rounds=3)
    search.cover_gap(batch, found, generation, master, 0.01, workers=1)


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
    found = search.begin(batch, instance)
    depth = offline.deepest_pattern(batch.sizes, batch.counts, batch.room)
    shuffled = pack_shuffled(instance, rng, budget) if depth > offline.MANY else []
    for known in (start, *shuffled):
        if known is not None and known.opened < len(found.patterns) and not len(known.unplaced):
            found = dataclasses.replace(found, patterns=offline.read_patterns(batch, known))
    found = search.search(batch, found, rng, budget, rounds=rounds, workers=workers)
    packing = offline.make_packing(batch, found.patterns)
    return ExactResult(packing, found.lower, found.method, found.optimal)


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
        # What does not fit makes bounds on complete packings meaningless.
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
    """Pack items in random orders by heuristics that look at the shape of what is free.

    With many small items per node a mixed order leaves better company for the next item than any
    sorted one does, and completion sees little more than its first choice.
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
