"""The search for identical nodes: heuristics, linear program, dives and covering programs.

It serves both the improvement search and the exact solution; both stop as soon as the number of
nodes equals a lower bound.
"""

import dataclasses
from typing import Final

import numpy as np

from kubestow.policies.placing.packing import instances, offline
from kubestow.policies.placing.packing.exact import bounds, diving, enumeration, ruin_recreate
from kubestow.policies.placing.packing.exact import patterns as exact_patterns

Pattern = offline.Pattern

PORTFOLIO: Final = (
    offline.CompletionParameters(),
    offline.CompletionParameters(power=2.0),
    offline.CompletionParameters(power=1.25),
    offline.CompletionParameters(mean=0.2),
    offline.CompletionParameters(scarcity=1.0, isolation=2.0),
    offline.CompletionParameters(isolation=0.0, power=1.25, mean=1.0),
)
"""Parameters of bin completion to start with; each is best on some kind of instance."""

RUIN_SHARE: Final = 0.1
"""Share of the budget for ruin and recreate before the linear program is set up."""

RUIN_ROUNDS: Final = 200
"""Maximum rounds of ruin and recreate before the linear program is set up."""

COVER_EVERY: Final = 4
"""Dives between two covering programs."""

RETREATS: Final = 40
"""Retreats of one dive before a new one starts at the root."""

COVER_SHARE: Final = 0.25
"""Share of the remaining budget that one covering program may take."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The result of a search.

    Attributes:
        patterns: The content of every node.
        lower: A proven lower bound on the number of nodes.
        method: Method that gave the bound; see ``bounds.Bound``.
    """

    patterns: list[Pattern]
    lower: int
    method: str

    @property
    def optimal(self) -> bool:
        """Whether the packing meets the bound."""
        return len(self.patterns) <= self.lower


def search(
    batch: offline.ItemClasses,
    best: SearchResult,
    rng: np.random.Generator,
    budget: exact_patterns.Budget,
    *,
    rounds: int,
    workers: int = 1,
) -> SearchResult:
    """Improve a packing and its bound until they meet, the budget or the rounds are used up.

    Args:
        batch: What to pack.
        best: Result to start from.
        rng: Randomness of the search.
        budget: Remaining seconds.
        rounds: Dives, or rounds of ruin and recreate if the linear program is too large.
        workers: Threads of the covering solver.
    """
    known = [*best.patterns]
    spent = 0.0
    for parameters in PORTFOLIO:
        before = min(budget(), exact_patterns.LONGEST)
        if best.optimal or before <= spent:
            return best  # the next pass would take as long as the last one and exceed the budget
        patterns = offline.complete(batch, parameters)
        spent = before - min(budget(), exact_patterns.LONGEST)
        known += patterns
        best = _keep(best, patterns)
    if not exact_patterns.is_tractable(batch):
        return recreate(batch, best, rng, budget, rounds=rounds * RUIN_ROUNDS)
    part = exact_patterns.part_of(budget, RUIN_SHARE)
    best = recreate(batch, best, rng, part, rounds=min(rounds * 10, RUIN_ROUNDS))
    if best.optimal or budget() <= 0.0:
        return best
    master = exact_patterns.Master(batch.counts)
    master.add(known)
    master.add(best.patterns)
    return descend(batch, best, master, rng, budget, rounds=rounds, workers=workers)


def recreate(
    batch: offline.ItemClasses,
    best: SearchResult,
    rng: np.random.Generator,
    budget: exact_patterns.Budget,
    *,
    rounds: int,
) -> SearchResult:
    """Ruin and recreate for a number of rounds."""
    for _ in range(rounds):
        if best.optimal or budget() <= 0.0:
            break
        patterns = ruin_recreate.ruin_patterns(batch, best.patterns, rng)
        best = dataclasses.replace(best, patterns=patterns)
    return best


def descend(
    batch: offline.ItemClasses,
    best: SearchResult,
    master: exact_patterns.Master,
    rng: np.random.Generator,
    budget: exact_patterns.Budget,
    *,
    rounds: int,
    workers: int,
) -> SearchResult:
    """Solve the linear program, then dive repeatedly, with an occasional covering program."""
    target = len(best.patterns) - 1 + 2 * exact_patterns.ROUNDING
    generation = exact_patterns.generate(batch, master, budget, target=target)
    best = _raise_bound(best, exact_patterns.round_up(generation.bound), "columns")
    current = generation.relaxation
    for number in range(rounds):
        if best.optimal or budget() <= 0.0 or current is None:
            break
        patterns = diving.dive(
            batch,
            master,
            current,
            budget,
            rng,
            noise=0.0 if number == 0 else float(rng.uniform(0.1, 0.5)),
            below=len(best.patterns),
            share=0.05 if number == 0 else float(rng.choice([0.02, 0.05, 0.1])),
            retreats=RETREATS,
        )
        if patterns is not None:
            best = _keep(best, patterns)
        elif number % COVER_EVERY == 1:
            best = cover_gap(
                batch, best, generation, master, budget() * COVER_SHARE, workers=workers
            )
        if not best.optimal and budget() > 0.0:
            current = exact_patterns.generate(batch, master, budget, exact=0).relaxation
    return best


def cover_gap(
    batch: offline.ItemClasses,
    best: SearchResult,
    generation: exact_patterns.Generation,
    master: exact_patterns.Master,
    seconds: float,
    *,
    workers: int,
) -> SearchResult:
    """Decide by a covering program whether one node less suffices.

    With all relevant patterns this is a proof; with those of the master it is only an attempt.
    """
    nodes = len(best.patterns) - 1
    patterns = enumeration.enumerate_patterns(batch, generation.prices, nodes - generation.bound)
    complete = patterns is not None and generation.bound > 0.0
    result = enumeration.cover(
        batch,
        patterns if complete and patterns is not None else master.patterns,
        nodes,
        seconds,
        workers=workers,
    )
    if result.patterns is not None:
        return _keep(best, _without_idle(batch, result.patterns))
    if result.impossible and complete:
        return _raise_bound(best, nodes + 1, "enumeration")
    return best


def _without_idle(batch: offline.ItemClasses, patterns: tuple[Pattern, ...]) -> list[Pattern]:
    """Remove items that are covered twice."""
    return offline.read_patterns(batch, offline.make_packing(batch, patterns))


def _keep(best: SearchResult, patterns: list[Pattern]) -> SearchResult:
    if len(patterns) >= len(best.patterns):
        return best
    return dataclasses.replace(best, patterns=patterns)


def _raise_bound(best: SearchResult, lower: int, method: str) -> SearchResult:
    if lower <= best.lower:
        return best
    return dataclasses.replace(best, lower=lower, method=method)


def begin(batch: offline.ItemClasses, instance: instances.Instance) -> SearchResult:
    """Return the first packing and the quick bounds of an instance."""
    bound = bounds.quick_bound(instance)
    start = offline.read_patterns(batch, offline.pack_completely(instance))
    return SearchResult(start, bound.value, bound.method)
