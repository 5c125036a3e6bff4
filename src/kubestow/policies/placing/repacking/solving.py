"""The fewest nodes within a budget: restarts of the heuristics, then the exact model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing import packing
from kubestow.policies.placing.repacking import assignment, bounds
from kubestow.policies.placing.repacking.constraints import read_constraints
from kubestow.policies.placing.repacking.filling import Filling, fill, opening_order
from kubestow.policies.placing.repacking.problems import Repacking

RULES: Final = ("first-fit", "k8s-most", "vector-dot", "k8s-vector-dot", "adaptive")
"""Heuristics that restarts draw from."""

RESTARTS: Final = 400
"""Most restarts before the exact model."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The best packing and what is proven about it.

    Attributes:
        filling: The packing.
        bound: Lower bound on the number of nodes; value 0 while items have no node.
        impossible: Whether it is proven that no packing holds all items.
    """

    filling: Filling
    bound: packing.Bound
    impossible: bool = False

    @property
    def optimal(self) -> bool:
        """Whether no packing of all items has fewer nodes."""
        return self.filling.unplaced == 0 and self.bound.value >= len(self.filling.used)


def bound(problem: Repacking, best: Filling, seconds: Callable[[], float]) -> Solution:
    """Return a packing with a lower bound.

    Args:
        problem: What was packed.
        best: The packing.
        seconds: Remaining seconds.
    """
    if best.unplaced:
        return Solution(best, packing.Bound(0, "none"))
    constraints = read_constraints(problem)
    return Solution(best, bounds.lower_bound(problem, constraints, seconds, len(best.used)))


def solve(
    problem: Repacking,
    start: Filling,
    seconds: Callable[[], float],
    rng: np.random.Generator,
    workers: int = 1,
) -> Solution:
    """Search for a packing with fewer nodes, and for a proof.

    Args:
        problem: What to pack.
        start: The best packing so far.
        seconds: Remaining seconds.
        rng: Randomness of the search.
        workers: Threads of the exact solver.
    """
    total = seconds()
    known = bound(problem, start, lambda: min(seconds(), 0.2 * total))
    best = restart(problem, start, lambda: seconds() - 0.7 * total, rng, known.bound.value)
    if known.bound.value == 0:
        known = bound(problem, best, lambda: seconds() - 0.6 * total)
    if not best.unplaced and known.bound.value >= len(best.used):
        return Solution(best, known.bound)
    constraints = read_constraints(problem)
    solved = assignment.assign(
        problem, constraints, best, seconds(), workers=workers, seed=int(rng.integers(2**31))
    )
    if solved.filling is not None and solved.filling.cost < best.cost:
        best = solved.filling
    if best.unplaced:
        return Solution(best, packing.Bound(0, "none"), solved.impossible)
    proven = packing.Bound(solved.lower_bound, "assignment")
    return Solution(best, max(known.bound, proven, key=lambda b: b.value))


def restart(
    problem: Repacking,
    best: Filling,
    seconds: Callable[[], float],
    rng: np.random.Generator,
    lower: int = 0,
) -> Filling:
    """Fill again with other rules, other orders of the items and of the nodes to open.

    Args:
        problem: What to pack.
        best: The best packing so far.
        seconds: Remaining seconds.
        rng: Randomness of the search.
        lower: Lower bound on the number of nodes; the search ends when it is reached.
    """
    for _ in range(RESTARTS):
        if seconds() <= 0.0 or (not best.unplaced and len(best.used) <= lower):
            break
        rule = packing.HEURISTICS.get(RULES[int(rng.integers(len(RULES)))])
        candidate = fill(problem, rule, _drawn_order(problem, rng), _drawn_opening(problem, rng))
        if candidate.cost < best.cost:
            best = candidate
    return best


def _drawn_order(problem: Repacking, rng: np.random.Generator) -> arrays.Ints:
    """Return the items, roughly from large and choosy to small and easy, or shuffled."""
    if rng.random() < 0.2:
        return rng.permutation(len(problem.items))
    largest = np.maximum(problem.capacity.max(axis=0), 1.0)
    size = (problem.demands / largest).max(axis=1)
    choosy = 1.0 - problem.admitted[:, problem.usable].mean(axis=1)
    score = size + float(rng.uniform(0.0, 1.0)) * choosy
    noisy = score * rng.uniform(0.7, 1.3, len(score))
    jitter = rng.uniform(0.0, 1e-6, len(problem.items))
    return np.argsort(-(noisy[problem.class_of_item] + jitter), kind="stable")


def _drawn_opening(problem: Repacking, rng: np.random.Generator) -> arrays.Ints:
    order = opening_order(problem)
    if rng.random() < 0.5:
        return order
    ranks = np.arange(len(order)) + rng.uniform(0.0, len(order) / 2, len(order))
    return order[np.argsort(ranks, kind="stable")]
