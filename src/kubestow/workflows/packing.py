"""``kubestow pack``: many heuristics on one instance, with nodes, gap to a bound, and time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kubestow.model import errors
from kubestow.policies.placing.packing import (
    HEURISTICS,
    OFFLINE_HEURISTICS,
    Bound,
    Instance,
    Packing,
    add_relief,
    compile_heuristics,
    compile_solver,
    lower_bound,
    make_instance,
    pack,
    solve,
    verify,
)
from kubestow.sources import packing as packing_source

EXACT = "exact"
MANY_ITEMS = 30_000
"""With more items, heuristics of quadratic time run only if they are named: they take minutes."""
QUICK_BOUND_SECONDS = 2.0  # for the lower bound without --exact

Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True, eq=False)
class PackingResult:
    """The packing of one heuristic."""

    heuristic: str
    packing: Packing
    seconds: float
    node_names: tuple[str, ...] = ()  # of the nodes of a cluster

    @property
    def nodes(self) -> int:
        """Number of nodes that were opened."""
        return self.packing.opened

    @property
    def unplaced(self) -> int:
        """Number of items without a node."""
        return len(self.packing.unplaced)

    def nodes_of_items(self) -> list[str]:
        """Return the node of every item: its name or number, empty without one."""
        named = self.node_names or [str(node) for node in range(self.nodes)]
        return ["" if node < 0 else named[node] for node in self.packing.node_of_item.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class PackingComparison:
    """All results on one instance, with bounds on the optimum."""

    instance: Instance
    results: tuple[PackingResult, ...]
    lower_bound: int
    method: str
    optimal: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def best(self) -> PackingResult:
        """The result with the fewest unplaced items, then the fewest nodes, first of equals."""
        return min(self.results, key=lambda result: (result.unplaced, result.nodes))

    def gap(self, result: PackingResult) -> float:
        """Return the gap between a result and the lower bound, relative to the bound."""
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


def instance_of(read: packing_source.PackingInput) -> Instance:
    """Return the instance that a file or a table describes."""
    return make_instance(
        read.demands, read.capacity, name=read.name, resources=read.resources, items=read.items
    )


def names(selection: str) -> list[str]:
    """Return the selected heuristics: ``all``, ``online``, ``offline`` or names.

    Raises:
        InputError: If there is no such heuristic.
    """
    groups = {
        "online": list(HEURISTICS),
        "offline": list(OFFLINE_HEURISTICS),
        "all": [*HEURISTICS, *OFFLINE_HEURISTICS],
    }
    if selection in groups:
        return groups[selection]
    chosen = [name.strip() for name in selection.split(",")]
    for name in chosen:
        if name not in groups["all"]:
            known = ", ".join([*groups, *groups["all"]])
            raise errors.InputError("heuristic", f"{name!r}: expected one of {known}")
    return chosen


def pack_by(name: str, instance: Instance) -> Packing:
    """Pack an instance by a heuristic of either kind."""
    if name in HEURISTICS:
        return pack(instance, HEURISTICS.get(name))
    return OFFLINE_HEURISTICS.get(name).pack(instance)


def compare(
    instance: Instance,
    heuristics: Iterable[str],
    *,
    exact_seconds: float | None = None,
    seed: int = 0,
    relief: Sequence[float] = (),
    watch: Watch = lambda _: None,
) -> PackingComparison:
    """Run heuristics on an instance; every packing is verified.

    Args:
        instance: The instance.
        heuristics: Names of heuristics.
        exact_seconds: How long to search for a better packing and a proof; ``None`` for no search.
        seed: Seed of the search.
        relief: Negative sizes that were read as 0, per resource; bounds allow for them.
        watch: Called with the name of the current step.
    """
    compile_heuristics()
    chosen = list(heuristics)
    kept = [name for name in chosen if not _is_too_slow(name, instance, chosen)]
    results = []
    for name in kept:
        watch(name)
        results.append(_timed(name, instance))
    notes: tuple[str, ...] = ()
    if len(kept) < len(chosen):
        left = ", ".join(name for name in chosen if name not in kept)
        notes = (f"skipped for more than {MANY_ITEMS} items; name them to run them: {left}",)
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
        rough = PackingComparison(instance, tuple(results), 0, "none", notes=notes)
        return _relieved(rough, relief)
    return PackingComparison(instance, tuple(results), bound.value, bound.method, optimal, notes)


def _is_too_slow(name: str, instance: Instance, chosen: list[str]) -> bool:
    """Return whether a heuristic is skipped because it takes too long; never if it is alone."""
    if len(instance.demands) <= MANY_ITEMS or name not in OFFLINE_HEURISTICS:
        return False
    others = any(not _is_slow(other) for other in chosen)
    return _is_slow(name) and others


def _is_slow(name: str) -> bool:
    return name in OFFLINE_HEURISTICS and OFFLINE_HEURISTICS.get(name).slow


def _bounded(instance: Instance, best: Packing | None) -> tuple[Bound, bool]:
    """Return a quick lower bound, and whether the best packing reaches it."""
    if best is None or len(best.unplaced):
        return Bound(0, "none"), False
    bound = lower_bound(instance, _budget(QUICK_BOUND_SECONDS), target=best.opened)
    return bound, bound.value == best.opened


def _solved(
    instance: Instance, best: Packing | None, seconds: float, seed: int
) -> tuple[PackingResult, Bound, bool]:
    """Return the best packing within the time limit, its bound, and whether it is optimal."""
    compile_solver()
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    solution = solve(instance, _budget(seconds), best, rng=rng)
    spent = time.perf_counter() - start
    verify(instance, solution.packing, allow_unplaced=True)
    bound = Bound(solution.lower_bound, solution.method)
    return PackingResult(EXACT, solution.packing, spent), bound, solution.optimal


def _relieved(comparison: PackingComparison, relief: Sequence[float]) -> PackingComparison:
    """Bound an instance in which negative sizes were read as 0."""
    roomier = add_relief(comparison.instance, relief)
    bound, _ = _bounded(roomier, comparison.best.packing if comparison.results else None)
    return replace(
        comparison,
        lower_bound=bound.value,
        method=bound.method,
        optimal=bool(comparison.results) and comparison.best.nodes == bound.value,
        notes=(
            *comparison.notes,
            "some sizes are negative; they were read as 0, and the bound allows for them",
        ),
    )


def _timed(name: str, instance: Instance) -> PackingResult:
    # Compiling and loading compiled code are not the heuristic's time.
    pack_by(name, replace(instance, demands=instance.demands[:3], items=instance.items[:3]))
    start = time.perf_counter()
    packing = pack_by(name, instance)
    spent = time.perf_counter() - start
    verify(instance, packing, allow_unplaced=True)
    return PackingResult(name, packing, spent)


def _budget(seconds: float) -> Callable[[], float]:
    end = time.monotonic() + seconds
    return lambda: end - time.monotonic()
