"""One instance, many heuristics: nodes, distance from a lower bound, time. What ``pack`` shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kubestow.model import errors
from kubestow.policies.placing import catalogs, configurations, profiles
from kubestow.policies.placing.packing import (
    bounds,
    exact,
    heuristics,
    instances,
    offline,
    verifying,
)

EXACT = "exact"
QUICK_BOUND_SECONDS = 2.0  # for the lower bound where no time was asked for

# Heuristics that a stock scheduler follows by configuration alone, and the profile for each.
BY_CONFIGURATION = {
    "k8s-least": "kube-scheduler",
    "k8s-most": "most-allocated",
    "k8s-reweighted": "most-allocated-balanced",
}

Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What one heuristic did."""

    heuristic: str
    packing: instances.Packing
    seconds: float

    @property
    def nodes(self) -> int:
        """Number of nodes that were opened."""
        return self.packing.opened

    @property
    def unplaced(self) -> int:
        """Number of items without a node."""
        return len(self.packing.unplaced)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """All results on one instance, with what is known about the optimum."""

    instance: instances.Instance
    results: tuple[Result, ...]
    lower_bound: int
    method: str
    optimal: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def best(self) -> Result:
        """The result with the fewest unplaced items, then the fewest nodes, first of equals."""
        return min(self.results, key=lambda result: (result.unplaced, result.nodes))

    def gap(self, result: Result) -> float:
        """Return how far a result is from the lower bound, relative to it."""
        return result.nodes / self.lower_bound - 1.0 if self.lower_bound else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as plain values, with names that are a contract."""
        return {
            "instance": self.instance.name,
            "dimensions": self.instance.dimensions,
            "items": len(self.instance.demands),
            "lower_bound": self.lower_bound,
            "bound_method": self.method,
            "optimal": self.optimal,
            "results": [
                {
                    "heuristic": result.heuristic,
                    "nodes": result.nodes,
                    "gap": round(self.gap(result), 6),
                    "seconds": round(result.seconds, 6),
                    "unplaced": result.unplaced,
                }
                for result in self.results
            ],
            "best": self.best.heuristic,
            "notes": list(self.notes),
        }


def names(wanted: str) -> list[str]:
    """Return the heuristics a user asked for: ``all``, ``online``, ``offline`` or names.

    Raises:
        InputError: If there is no such heuristic.
    """
    groups = {
        "online": list(heuristics.REGISTRY),
        "offline": list(offline.REGISTRY),
        "all": [*heuristics.REGISTRY, *offline.REGISTRY],
    }
    if wanted in groups:
        return groups[wanted]
    found = [name.strip() for name in wanted.split(",")]
    for name in found:
        if name not in groups["all"]:
            known = ", ".join([*groups, *groups["all"]])
            raise errors.InputError("--heuristic", f"{name!r}: expected one of {known}")
    return found


def pack_by(name: str, instance: instances.Instance) -> instances.Packing:
    """Pack an instance by a heuristic of either kind."""
    if name in heuristics.REGISTRY:
        return heuristics.pack(instance, heuristics.REGISTRY[name])
    return offline.get(name).pack(instance)


def compare(
    instance: instances.Instance,
    wanted: Iterable[str],
    *,
    exact_seconds: float | None = None,
    seed: int = 0,
    relief: Sequence[float] = (),
    watch: Watch = lambda _: None,
) -> Comparison:
    """Run heuristics on an instance; every packing is verified.

    Args:
        instance: The instance.
        wanted: Names of heuristics.
        exact_seconds: How long to look for a better packing and a proof; ``None`` for not at all.
        seed: Seed of the search.
        relief: Negative sizes that were read as 0, per resource: bounds must allow for them.
        watch: Told what is being done.
    """
    heuristics.warm_up()
    results = []
    for name in wanted:
        watch(name)
        results.append(_timed(name, instance))
    best = min(results, key=lambda r: (r.unplaced, r.nodes)).packing if results else None
    if exact_seconds is not None:
        watch(EXACT)
        result, bound, optimal = _solved(instance, best, exact_seconds, seed)
        results.append(result)
    else:
        watch("lower bound")
        bound, optimal = _bounded(instance, best)
    if any(relief):
        watch("lower bound")
        return _relieved(Comparison(instance, tuple(results), 0, "none"), relief)
    return Comparison(instance, tuple(results), bound.value, bound.method, optimal)


def _bounded(
    instance: instances.Instance, best: instances.Packing | None
) -> tuple[bounds.Bound, bool]:
    """Return a quick lower bound, and whether the best packing reaches it."""
    if best is None or len(best.unplaced):
        return bounds.Bound(0, "none"), False
    bound = bounds.lower_bound(instance, _budget(QUICK_BOUND_SECONDS), target=best.opened)
    return bound, bound.value == best.opened


def _solved(
    instance: instances.Instance, best: instances.Packing | None, seconds: float, seed: int
) -> tuple[Result, bounds.Bound, bool]:
    """Return the best packing a budget allows, with its bound and whether it is proven optimal."""
    exact.warm_up()
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    found = exact.solve(instance, _budget(seconds), best, rng=rng)
    spent = time.perf_counter() - start
    verifying.verify(instance, found.packing, allow_unplaced=True)
    bound = bounds.Bound(found.lower_bound, found.method)
    return Result(EXACT, found.packing, spent), bound, found.optimal


def _relieved(comparison: Comparison, relief: Sequence[float]) -> Comparison:
    """Bound an instance some of whose sizes were negative and have been read as 0."""
    roomier = bounds.add_relief(comparison.instance, relief)
    bound, _ = _bounded(roomier, comparison.best.packing if comparison.results else None)
    return replace(
        comparison,
        lower_bound=bound.value,
        method=bound.method,
        optimal=bool(comparison.results) and comparison.best.nodes == bound.value,
        notes=("some sizes are negative; they were read as 0, and the bound allows for them",),
    )


def _timed(name: str, instance: instances.Instance) -> Result:
    start = time.perf_counter()
    packing = pack_by(name, instance)
    spent = time.perf_counter() - start
    verifying.verify(instance, packing, allow_unplaced=True)
    return Result(name, packing, spent)


def _budget(seconds: float) -> Callable[[], float]:
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()


def best_configuration(comparison: Comparison) -> tuple[Result, dict[str, Any]] | None:
    """Return the best result a stock scheduler reaches by configuration, and the configuration."""
    reachable = [r for r in comparison.results if r.heuristic in BY_CONFIGURATION]
    if not reachable:
        return None
    best = min(reachable, key=lambda result: (result.unplaced, result.nodes))
    profile: profiles.Profile = catalogs.profile(BY_CONFIGURATION[best.heuristic])
    return best, configurations.write([profile])
