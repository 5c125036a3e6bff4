"""Diving: from the linear program over patterns to packings, by fixing patterns step by step.

Each step fixes the patterns that the linear program uses fully, or the one it uses most, and solves
the program again for the remaining items, with new patterns of negative reduced cost (Sadykov et
al. 2019, "Primal heuristics for branch and price"). Noise in the choice makes repeated dives
differ.
"""

from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing.packing import offline
from kubestow.policies.placing.packing.exact import patterns

Pattern = offline.Pattern

WHOLE: Final = 1.0 - 1e-6
"""Patterns used at least this much are always fixed."""

ROUNDS: Final = 3
"""Rounds of pricing per step: new patterns matter less, the fewer items remain."""

RETREAT: Final = (0.2, 0.6)
"""Smallest and largest share of the fixed patterns that a retreat releases."""


def dive(
    batch: offline.ItemClasses,
    master: patterns.Master,
    relaxation: patterns.Relaxation,
    budget: patterns.Budget,
    rng: np.random.Generator,
    *,
    noise: float,
    below: int,
    share: float = 0.05,
    retreats: int = 0,
) -> list[Pattern] | None:
    """Dive from a relaxation to a packing with fewer than ``below`` nodes.

    Args:
        batch: What to pack.
        master: The master of the relaxation; it gains patterns and requires all items afterwards.
        relaxation: Start of the dive.
        budget: Remaining seconds.
        rng: Randomness of the choices.
        noise: Weight of randomness: 0 takes the most used pattern.
        below: Upper limit of nodes, exclusive.
        share: Share of the remaining nodes that one step may fix.
        retreats: How often to release part of the fixed patterns and continue when stuck.

    Returns:
        The patterns, or ``None`` if the dive reached the limit or time ran out.
    """
    counts = batch.counts.copy()
    chosen: list[Pattern] = []
    current: patterns.Relaxation | None = relaxation
    try:
        while counts.any():
            # The residual program bounds this branch, except for patterns that pricing has missed.
            if current is None or len(chosen) + patterns.round_up(current.value) >= below:
                finished = _finish(batch, counts, chosen, below)
                if finished is not None or retreats == 0 or current is None or not chosen:
                    return finished
                retreats -= 1
                chosen = retreat(chosen, counts, rng)
            else:
                picks = choose_patterns(master.patterns, current.amounts, rng, noise, share)
                if not take_patterns(master.patterns, picks, counts, chosen):
                    return _finish(batch, counts, chosen, below)
            master.require(counts)
            current = patterns.generate(
                batch, master, budget, counts=counts, rounds=ROUNDS, exact=0
            ).relaxation
        return chosen if len(chosen) < below else None
    finally:
        master.require(batch.counts)


def retreat(chosen: list[Pattern], counts: arrays.Ints, rng: np.random.Generator) -> list[Pattern]:
    """Release a random part of the fixed patterns; their items must be covered again."""
    kept = rng.random(len(chosen)) >= rng.uniform(*RETREAT)
    for pattern, keep in zip(chosen, kept.tolist(), strict=True):
        if not keep:
            np.add.at(counts, list(pattern), 1)
    return [pattern for pattern, keep in zip(chosen, kept.tolist(), strict=True) if keep]


def choose_patterns(
    patterns: list[Pattern],
    amounts: arrays.Floats,
    rng: np.random.Generator,
    noise: float,
    share: float,
) -> list[int]:
    """Return the patterns to fix next, most used first."""
    used = np.flatnonzero(amounts > 1e-6)
    score = amounts[used] + noise * rng.random(len(used))
    order = used[np.argsort(-score, kind="stable")]
    whole = [int(c) for c in order if amounts[c] >= WHOLE]
    if whole:
        return [c for c in whole for _ in range(int(amounts[c] + 1e-6))]
    most = max(1, int(share * amounts.sum()))
    picks: list[int] = []
    touched: set[int] = set()
    for c in order.tolist():
        if len(picks) == most:
            break
        if touched.isdisjoint(patterns[c]):
            picks.append(c)
            touched.update(patterns[c])
    return picks


def take_patterns(
    patterns: list[Pattern], picks: list[int], counts: arrays.Ints, chosen: list[Pattern]
) -> bool:
    """Fix patterns: reduce counts, append the contents; return whether any was appended."""
    before = len(chosen)
    for c in picks:
        held = []
        for size in patterns[c]:
            if counts[size] > 0:
                counts[size] -= 1
                held.append(size)
        if held:
            chosen.append(tuple(held))
    return len(chosen) > before


def _finish(
    batch: offline.ItemClasses, counts: arrays.Ints, chosen: list[Pattern], below: int
) -> list[Pattern] | None:
    """Pack the remaining items greedily."""
    rest = offline.complete(batch, counts=counts) if counts.any() else []
    return chosen + rest if len(chosen) + len(rest) < below else None
