"""The exact model for CP-SAT: how many items of each class each node holds.

The model has only conditions that every result of kube-scheduler's filters satisfies, so its
optimum is a lower bound. The packing is replayed with all filters before it counts; if it needs as
many nodes as the bound, it is optimal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing import packing
from kubestow.policies.placing.repacking import filling
from kubestow.policies.placing.repacking.constraints import Constraints, Spread, Together
from kubestow.policies.placing.repacking.problems import Repacking

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

MOST: Final = 40_000
"""Most pairs of classes and nodes for which the model is built."""


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The result of the model.

    Attributes:
        filling: A packing that the filters allow, if there is one.
        lower_bound: Lower bound on the number of nodes that hold all items.
        impossible: Whether it is proven that no packing holds all items.
    """

    filling: filling.Filling | None
    lower_bound: int = 0
    impossible: bool = False


def assign(
    problem: Repacking,
    constraints: Constraints,
    start: filling.Filling,
    seconds: float,
    *,
    workers: int = 1,
    seed: int = 0,
) -> Assignment:
    """Search for the fewest nodes.

    Args:
        problem: What to pack.
        constraints: Its conditions between items.
        start: The best packing so far.
        seconds: Time limit.
        workers: Threads of the solver.
        seed: Seed of the solver.
    """
    from ortools.sat.python import cp_model

    if problem.admitted.sum() > MOST:
        return Assignment(None)
    model = _Model(problem, constraints)
    model.hint(start)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = max(seconds, 0.01)
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    status = solver.solve(model.model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Assignment(None, impossible=status == cp_model.INFEASIBLE)
    bound = int(np.ceil(solver.best_objective_bound - 1e-6))
    return Assignment(filling.replay(problem, model.rows(solver)), bound)


class _Model:
    """Variables and conditions of one problem."""

    def __init__(self, problem: Repacking, constraints: Constraints) -> None:
        from ortools.sat.python import cp_model

        self.problem = problem
        self.model = cp_model.CpModel()
        self.counts = problem.counts.tolist()
        self.opened = {row: self.model.new_bool_var("") for row in problem.usable.tolist()}
        self.held: dict[tuple[int, int], cp_model.IntVar] = {}
        self._present: dict[tuple[int, bytes, int], cp_model.IntVar] = {}
        for c, count in enumerate(self.counts):
            rows = np.flatnonzero(problem.admitted[c]).tolist()
            for row in rows:
                held = self.model.new_int_var(0, count, "")
                self.model.add(held <= count * self.opened[row])
                self.held[c, row] = held
            self.model.add(sum(self.held[c, row] for row in rows) == count)
        self._limit_resources()
        for c, apart in constraints.apart:
            self._keep_apart(c, apart.domains, apart.classes.tolist())
        for c, together in constraints.together:
            self._keep_together(c, together)
        for spread in constraints.spread:
            self._spread(spread)
        self._order_equal_nodes()
        self.model.minimize(sum(self.opened.values()))

    def _limit_resources(self) -> None:
        problem = self.problem
        for j in range(len(problem.resources)):
            sizes = problem.demands[:, j].astype(np.int64)
            unit = max(1, int(np.gcd.reduce(sizes)))
            for row, opened in self.opened.items():
                held = [
                    (int(sizes[c]) // unit) * self.held[c, row]
                    for c in range(len(self.counts))
                    if (c, row) in self.held and sizes[c]
                ]
                if held:
                    self.model.add(sum(held) <= int(problem.capacity[row, j]) // unit * opened)

    def _in_domain(self, c: int, rows: list[int]) -> list[cp_model.IntVar]:
        return [self.held[c, row] for row in rows if (c, row) in self.held]

    def _is_present(self, c: int, domains: arrays.Ints, domain: int) -> cp_model.IntVar:
        """Return a variable that is true where a domain holds an item of a class."""
        key = (c, domains.tobytes(), domain)
        if key not in self._present:
            present = self.model.new_bool_var("")
            for held in self._in_domain(c, np.flatnonzero(domains == domain).tolist()):
                self.model.add(held <= self.counts[c] * present)
            self._present[key] = present
        return self._present[key]

    def _keep_apart(self, c: int, domains: arrays.Ints, classes: list[int]) -> None:
        for domain in np.unique(domains[domains >= 0]).tolist():
            if c in classes:
                rows = np.flatnonzero(domains == domain).tolist()
                self.model.add(sum(self._in_domain(c, rows)) <= 1)
            here = self._is_present(c, domains, domain)
            for other in classes:
                if other != c:
                    self.model.add_implication(here, ~self._is_present(other, domains, domain))

    def _keep_together(self, c: int, together: Together) -> None:
        domains = np.unique(together.domains[together.domains >= 0]).tolist()
        present = [self._is_present(c, together.domains, domain) for domain in domains]
        if together.alone:
            self.model.add(sum(present) <= 1)
            return
        if c in together.classes:
            return  # which item starts a domain depends on the order
        for domain, here in zip(domains, present, strict=True):
            rows = np.flatnonzero(together.domains == domain).tolist()
            near = [held for o in together.classes for held in self._in_domain(int(o), rows)]
            self.model.add(sum(near) >= 1).only_enforce_if(here)

    def _spread(self, spread: Spread) -> None:
        totals = []
        for domain in np.unique(spread.domains[spread.domains >= 0]).tolist():
            rows = np.flatnonzero(spread.domains == domain).tolist()
            totals.append(sum(h for c in spread.classes for h in self._in_domain(int(c), rows)))
        if spread.from_zero:
            for total in totals:
                self.model.add(total <= spread.skew)
            return
        fewest = self.model.new_int_var(0, sum(self.counts), "")
        for total in totals:
            self.model.add(total >= fewest)
            self.model.add(total <= fewest + spread.skew)

    def _order_equal_nodes(self) -> None:
        """Open equal nodes in order; nodes that hold pods already count as different."""
        problem, tallies = self.problem, self.problem.batch.tallies
        single = np.array([len(np.unique(codes)) == len(codes) for codes in tallies.codes])
        shared = tallies.codes[~single] if len(tallies.codes) else tallies.codes
        last: dict[tuple[bytes, ...], int] = {}
        for row, opened in self.opened.items():
            if len(tallies.counts) and tallies.counts[:, row].any():
                continue
            key = (
                problem.capacity[row].tobytes(),
                problem.admitted[:, row].tobytes(),
                np.ascontiguousarray(shared[:, row]).tobytes(),
                np.ascontiguousarray(tallies.masks[:, row]).tobytes(),
            )
            if key in last:
                self.model.add_implication(opened, self.opened[last[key]])
            last[key] = row

    def hint(self, start: filling.Filling) -> None:
        """Start the search from a packing."""
        counts: dict[tuple[int, int], int] = {}
        for c, row in zip(self.problem.class_of_item.tolist(), start.rows.tolist(), strict=True):
            counts[c, row] = counts.get((c, row), 0) + 1
        used = set(start.used.tolist())
        for key, held in self.held.items():
            self.model.add_hint(held, counts.get(key, 0))
        for row, opened in self.opened.items():
            self.model.add_hint(opened, row in used)

    def rows(self, solver: cp_model.CpSolver) -> arrays.Ints:
        """Return the node of every item."""
        waiting: list[list[int]] = [[] for _ in self.counts]
        for (c, row), held in self.held.items():
            waiting[c] += [row] * solver.value(held)
        rows = np.full(len(self.problem.items), packing.UNPLACED, dtype=np.int64)
        for item, c in enumerate(self.problem.class_of_item.tolist()):
            rows[item] = waiting[c].pop()
        return rows
