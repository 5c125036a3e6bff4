"""Inputs and plans of movers.

A mover names pods to evict; their controllers recreate them and the scheduler places them, so a
plan is only as good as the profile that places the evicted pods. That is why a mover gets the
scheduler: it can check first where the pods would go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kubestow.model import decisions, pods, states
from kubestow.policies.placing import scheduler


@dataclass(frozen=True, slots=True)
class MoveBudget:
    """Limits of a plan.

    Attributes:
        most: Maximum number of pods.
        allowed: Disruptions that each budget still allows, by name.
    """

    most: int
    allowed: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Movable:
    """A pod that may be evicted, and its disruption budget (empty: none)."""

    pod: pods.Pod
    budget: str = ""


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Pods to evict, in order, with the decisions behind it.

    Attributes:
        moves: Keys of the pods.
        emptied: Names of the nodes that become empty.
        records: One decision per candidate node that was evaluated.
    """

    moves: tuple[str, ...] = ()
    emptied: tuple[str, ...] = ()
    records: tuple[decisions.DecisionRecord, ...] = ()


class Mover(Protocol):
    """Plans moves."""

    @property
    def name(self) -> str:
        """The name users write."""

    def plan(
        self,
        state: states.ClusterState,
        running: Mapping[int, Sequence[Movable]],
        scheduler: scheduler.Scheduler,
        budget: MoveBudget,
    ) -> MovePlan:
        """Plan moves; the state is left unchanged.

        Args:
            state: The cluster.
            running: Pods that may move, by row of their node.
            scheduler: The scheduler that places evicted pods.
            budget: Limits of the plan.
        """
