"""``compact``: drain nodes with low requests, if their pods fit elsewhere.

Like the descheduler's HighNodeUtilization, but with a dry run: a node is drained only if the
scheduler would place all its pods on other nodes, so that no pod stays pending or returns. It
helps only if empty nodes are removed, and only with a scheduler that fills nodes; one that spreads
undoes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from kubestow.model import decisions, resources, states
from kubestow.policies.moving.plans import Movable, MoveBudget, MovePlan
from kubestow.policies.placing import provisioning, scheduler

NAME = "compact"


@dataclass(frozen=True, slots=True)
class CompactParameters:
    """When a node is drained.

    Attributes:
        threshold: A node with less than this share of CPU and of memory requested is a candidate
            (0.2, the default thresholds in the descheduler's examples).
        most_moves: Maximum number of pods moved per plan.
    """

    threshold: float = 0.2
    most_moves: int = 20


@dataclass(frozen=True, slots=True)
class Compact:
    """Drains nodes with low requests."""

    parameters: CompactParameters = CompactParameters()
    name = NAME

    def plan(
        self,
        state: states.ClusterState,
        running: Mapping[int, Sequence[Movable]],
        scheduler: scheduler.Scheduler,
        budget: MoveBudget,
    ) -> MovePlan:
        """Plan moves, the emptiest node first; the state is left unchanged."""
        shares = _shares(state)
        candidates = [
            int(row)
            for row in np.argsort(shares, kind="stable")
            if shares[row] < self.parameters.threshold and running.get(int(row))
        ]
        left = min(budget.most, self.parameters.most_moves)
        allowed = dict(budget.allowed)
        moves: list[str] = []
        emptied: list[str] = []
        records: list[decisions.DecisionRecord] = []
        for row in candidates:
            if state.nodes[row].unschedulable:
                continue
            pods = running[row]
            reason = _obstacle(pods, left, allowed)
            if not reason and not provisioning.can_move(
                [p.pod for p in pods], state, row, scheduler
            ):
                reason = "its pods would not all be placed elsewhere"
            records.append(self._record(state, row, float(shares[row]), reason))
            if reason:
                continue
            left -= len(pods)
            allowed = {
                name: count - sum(p.budget == name for p in pods) for name, count in allowed.items()
            }
            moves += [p.pod.key for p in pods]
            emptied.append(state.names[row])
            break  # moves change the other nodes: one node per plan
        return MovePlan(tuple(moves), tuple(emptied), tuple(records))

    def _record(
        self, state: states.ClusterState, row: int, share: float, reason: str
    ) -> decisions.DecisionRecord:
        return decisions.DecisionRecord(
            kind="moving",
            subject=f"node/{state.names[row]}",
            policy=NAME,
            outcome=None if reason else "emptied",
            parameters=asdict(self.parameters),
            rejected={state.names[row]: reason} if reason else {},
            numbers={"requested": share},
        )


def _shares(state: states.ClusterState) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the larger of the requested shares of CPU and memory of each node."""
    columns = [state.columns[resources.CPU], state.columns[resources.MEMORY]]
    offered = np.maximum(state.allocatable[:, columns], 1)
    shares: np.ndarray[tuple[int], np.dtype[np.float64]] = (
        state.requested[:, columns] / offered
    ).max(axis=1)
    return shares


def _obstacle(pods: Sequence[Movable], left: int, allowed: Mapping[str, int]) -> str:
    if len(pods) > left:
        return f"has {len(pods)} pods, {left} may be moved"
    for name, count in Counter(p.budget for p in pods if p.budget).items():
        if count > allowed.get(name, 0):
            return f"the disruption budget of {name} allows {allowed.get(name, 0)} of {count}"
    return ""
