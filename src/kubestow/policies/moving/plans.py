"""What a mover sees and what it plans.

A mover names pods that should be evicted; their controllers create them again and the scheduler
places them, so a plan is only as good as the profile that places what it evicts. That is why a
mover gets the scheduler: it looks before it leaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kubestow.model import decisions, pods, states
from kubestow.policies.placing import scheduler


@dataclass(frozen=True, slots=True)
class MoveBudget:
    """How much may be moved.

    Attributes:
        most: Pods at most.
        allowed: Disruptions that every budget still allows, by name.
    """

    most: int
    allowed: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Movable:
    """A pod that may be evicted, and the disruption budget it counts against (empty: none)."""

    pod: pods.Pod
    budget: str = ""


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Pods to evict, in order, and why.

    Attributes:
        moves: Keys of the pods.
        emptied: Names of the nodes that become empty.
        records: One decision per node that was looked at closely.
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
        """Plan moves; the state ends as it began.

        Args:
            state: The cluster.
            running: Pods that may move, by row of their node.
            scheduler: Who places evicted pods again.
            budget: How much may be moved.
        """
