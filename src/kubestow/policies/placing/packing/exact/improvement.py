"""Improve a packing within a budget: fewer nodes, or cheaper ones.

Identical nodes: the search of ``search`` (bin completion, column generation, dives, covering).
Several shapes, limits, or existing nodes: ruin and recreate with the heuristics.
"""

import numpy as np

from kubestow.policies.placing.packing import instances, offline
from kubestow.policies.placing.packing.exact import bounds, patterns, ruin_recreate, search


def improve(
    instance: instances.Instance,
    packing: instances.Packing,
    rng: np.random.Generator,
    budget: patterns.Budget,
    *,
    rounds: int = 1_000_000,
) -> instances.Packing:
    """Return a packing that is at least as good as the given one.

    Args:
        instance: What to pack.
        packing: A valid packing to start from.
        rng: Randomness of the search.
        budget: Remaining seconds; the search ends when it is used up.
        rounds: Maximum number of rounds; with an unlimited budget this makes results independent of
            the machine.
    """
    if len(instance.demands) == 0 or rounds == 0:
        return packing
    if offline.is_uniform(instance) and len(packing.unplaced) == 0:
        batch = offline.classify_items(instance)
        bound = bounds.quick_bound(instance)
        start = offline.read_patterns(batch, packing)
        improved = search.search(
            batch,
            search.SearchResult(start, bound.value, bound.method),
            rng,
            budget,
            rounds=rounds,
        )
        if len(improved.patterns) == packing.opened:
            return packing
        return offline.make_packing(batch, improved.patterns)
    return recreate(instance, packing, rng, budget, rounds=rounds)


def recreate(
    instance: instances.Instance,
    packing: instances.Packing,
    rng: np.random.Generator,
    budget: patterns.Budget,
    *,
    rounds: int,
    lower: int = 0,
) -> instances.Packing:
    """Ruin and recreate a packing of any instance; without prices stop at a lower bound."""
    for _ in range(rounds):
        reached = packing.opened <= lower and instance.shapes.costs is None
        if budget() <= 0.0 or packing.opened == 0 or (reached and not len(packing.unplaced)):
            break
        packing = ruin_recreate.ruin_nodes(instance, packing, rng)
    return packing
