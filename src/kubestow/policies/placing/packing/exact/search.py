"""The search for identical nodes: heuristics, linear program, dives, covers, until bound meets.

One loop serves the improvement search and the exact answer; both stop as soon as the number of
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
"""Settings of bin completion to begin with; each is best on some kind of instance."""

RUIN_SHARE: Final = 0.1
"""Share of the budget for ruin and recreate before the linear program is set up."""

RUIN_ROUNDS: Final = 200
"""Rounds of ruin and recreate before the linear program is set up, at most."""

COVER_EVERY: Final = 4
"""Dives between two covering programs."""

RETREATS: Final = 40
"""Retreats of one dive before a new one begins at the root."""

COVER_SHARE: Final = 0.25
"""Share of the remaining budget that one covering program may take."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """What a search found.

    Attributes:
        patterns: The content of every node.
        lower: A proven lower bound on the number of nodes.
        method: What gave the bound; see ``bounds.Bound``.
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
    found: SearchResult,
    rng: np.random.Generator,
    budget: exact_patterns.Budget,
    *,
    rounds: int,
    workers: int = 1,
) -> SearchResult:
    """Improve a packing and its bound until they meet, the budget or the rounds are used up.

    Args:
        batch: What to pack.
        found: Where to begin.
        rng: Randomness of the search.
        budget: Seconds that remain.
        rounds: Dives, or rounds of ruin and recreate for instances without linear program.
        workers: Threads of the covering solver.
    """
    seen = [*found.patterns]
    spent = 0.0
    for parameters in PORTFOLIO:
        before = min(budget(), exact_patterns.LONGEST)
        if found.optimal or before <= spent:
            return found  # the next pass would take as long as the last one, and outlast the budget
        patterns = offline.complete(batch, parameters)
        spent = before - min(budget(), exact_patterns.LONGEST)
        seen += patterns
        found = _keep(found, patterns)
    if not exact_patterns.is_tractable(batch):
        return recreate(batch, found, rng, budget, rounds=rounds * RUIN_ROUNDS)
    part = exact_patterns.part_of(budget, RUIN_SHARE)
    found = recreate(batch, found, rng, part, rounds=min(rounds * 10, RUIN_ROUNDS))
    if found.optimal or budget() <= 0.0:
        return found
    master = exact_patterns.Master(batch.counts)
    master.add(seen)
    master.add(found.patterns)
    return descend(batch, found, master, rng, budget, rounds=rounds, workers=workers)


def recreate(
    batch: offline.ItemClasses,
    found: SearchResult,
    rng: np.random.Generator,
    budget: exact_patterns.Budget,
    *,
    rounds: int,
) -> SearchResult:
    """Ruin and recreate for a number of rounds."""
    for _ in range(rounds):
        if found.optimal or budget() <= 0.0:
            break
        patterns = ruin_recreate.ruin_patterns(batch, found.patterns, rng)
        found = dataclasses.replace(found, patterns=patterns)
    return found


def descend(
    batch: offline.ItemClasses,
    found: SearchResult,
    master: exact_patterns.Master,
    rng: np.random.Generator,
    budget: exact_patterns.Budget,
    *,
    rounds: int,
    workers: int,
) -> SearchResult:
    """Solve the linear program, then dive again and again, with a covering program now and then."""
    target = len(found.patterns) - 1 + 2 * exact_patterns.ROUNDING
    generation = exact_patterns.generate(batch, master, budget, target=target)
    found = _raise_bound(found, exact_patterns.round_up(generation.bound), "columns")
    current = generation.relaxation
    for number in range(rounds):
        if found.optimal or budget() <= 0.0 or current is None:
            break
        patterns = diving.dive(
            batch,
            master,
            current,
            budget,
            rng,
            noise=0.0 if number == 0 else float(rng.uniform(0.1, 0.5)),
            below=len(found.patterns),
            share=0.05 if number == 0 else float(rng.choice([0.02, 0.05, 0.1])),
            retreats=RETREATS,
        )
        if patterns is not None:
            found = _keep(found, patterns)
        elif number % COVER_EVERY == 1:
            found = cover_gap(
                batch, found, generation, master, budget() * COVER_SHARE, workers=workers
            )
        if not found.optimal and budget() > 0.0:
            current = exact_patterns.generate(batch, master, budget, exact=0).relaxation
    return found


def cover_gap(
    batch: offline.ItemClasses,
    found: SearchResult,
    generation: exact_patterns.Generation,
    master: exact_patterns.Master,
    seconds: float,
    *,
    workers: int,
) -> SearchResult:
    """Decide by a covering program whether one node less will do.

    With all patterns that matter this is a proof; with those of the master it is only a try.
    """
    nodes = len(found.patterns) - 1
    patterns = enumeration.enumerate_patterns(batch, generation.prices, nodes - generation.bound)
    complete = patterns is not None and generation.bound > 0.0
    answer = enumeration.cover(
        batch,
        patterns if complete and patterns is not None else master.patterns,
        nodes,
        seconds,
        workers=workers,
    )
    if answer.patterns is not None:
        return _keep(found, _without_idle(batch, answer.patterns))
    if answer.impossible and complete:
        return _raise_bound(found, nodes + 1, "enumeration")
    return found


def _without_idle(batch: offline.ItemClasses, patterns: tuple[Pattern, ...]) -> list[Pattern]:
    """Drop what covers items twice."""
    return offline.read_patterns(batch, offline.make_packing(batch, patterns))


def _keep(found: SearchResult, patterns: list[Pattern]) -> SearchResult:
    if len(patterns) >= len(found.patterns):
        return found
    return dataclasses.replace(found, patterns=patterns)


def _raise_bound(found: SearchResult, lower: int, method: str) -> SearchResult:
    if lower <= found.lower:
        return found
    return dataclasses.replace(found, lower=lower, method=method)


def begin(batch: offline.ItemClasses, instance: instances.Instance) -> SearchResult:
    """Return the first packing and the quick bounds of an instance."""
    bound = bounds.quick_bound(instance)
    start = offline.read_patterns(batch, offline.pack_completely(instance))
    return SearchResult(start, bound.value, bound.method)
