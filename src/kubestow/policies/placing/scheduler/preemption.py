"""Preemption: which pods of lower priority to evict (``plugins/defaultpreemption``, 1.37).

On each node, a dry run removes all pods of lower priority. If the pod then fits, as many victims
as possible are reprieved, the most important first, and those whose disruption budget would be
violated before the others. The chosen node has the fewest violated budgets, then the lowest
priority of its most important victim, the lowest sum of priorities, the fewest victims, the
latest start of its most important victims, and then comes first in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kubestow.model import arrays, pods, requests, states

LEAST_CANDIDATES = 100  # minCandidateNodesAbsolute
LEAST_PERCENTAGE = 10  # minCandidateNodesPercentage
_OFFSET = 2**31  # upstream adds it to every priority, so that more victims always weigh more


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """A pod on a node, as preemption sees it.

    Attributes:
        pod: The pod.
        started_s: When it started; earlier is more important.
        budgets: Names of its disruption budgets.
    """

    pod: pods.Pod
    started_s: float
    budgets: tuple[str, ...] = ()


class Filters(Protocol):
    """What decides whether a pod fits on a node."""

    def fits(self, pod: pods.Pod, state: states.ClusterState, row: int) -> bool:
        """Return whether a node is feasible for a pod."""


@dataclass(frozen=True, slots=True)
class Preemption:
    """The chosen node, and the pods to evict from it."""

    row: int
    victims: tuple[Running, ...]
    broken_budgets: int


def choose_victims(
    pod: pods.Pod,
    state: states.ClusterState,
    scheduler: Filters,
    running: Mapping[int, Sequence[Running]],
    allowed: Mapping[str, int],
    offset: int = 0,
) -> Preemption | None:
    """Return the node and victims for a pod that fits nowhere; the state is left unchanged.

    Args:
        pod: The pod.
        state: The cluster.
        scheduler: Its filters decide.
        running: Pods by row of their node.
        allowed: Disruptions that each budget still allows.
        offset: Row to start with; upstream draws it at random.
    """
    return min(
        find_candidates(pod, state, scheduler, running, allowed, offset), key=rank, default=None
    )


def find_candidates(
    pod: pods.Pod,
    state: states.ClusterState,
    scheduler: Filters,
    running: Mapping[int, Sequence[Running]],
    allowed: Mapping[str, int],
    offset: int = 0,
) -> list[Preemption]:
    """Return the nodes that victims could be evicted from, as many as upstream looks at.

    The arguments are those of ``choose_victims``.
    """
    count = len(state)
    most = min(max(count * LEAST_PERCENTAGE // 100, LEAST_CANDIDATES), count)
    candidates: list[Preemption] = []
    for row in _promising(pod, state, running, offset):
        candidate = _victims_on(row, pod, state, scheduler, running[row], allowed)
        if candidate is not None:
            candidates.append(candidate)
            # Upstream continues until some candidate violates no budget.
            if len(candidates) >= most and any(not other.broken_budgets for other in candidates):
                break
    return candidates


def _promising(
    pod: pods.Pod,
    state: states.ClusterState,
    running: Mapping[int, Sequence[Running]],
    offset: int,
) -> list[int]:
    """Return the rows where enough would be free without the pods of lower priority."""
    requested = state.occupied(requests.occupancy(pod, use_status=False, pod_level=state.pod_level))
    lower = [
        (row, r.pod)
        for row, there in running.items()
        for r in there
        if r.pod.spec.priority < pod.spec.priority
    ]
    if not lower:
        return []
    rows = np.array([row for row, _ in lower], dtype=np.int64)
    freed = state.allocatable - state.requested
    np.add.at(freed, rows, _occupied([other for _, other in lower], state))
    enough = np.all((requested <= freed) | (requested == 0), axis=1)
    promising = np.unique(rows[enough[rows]])
    return [int(row) for row in np.roll(promising, -int(np.searchsorted(promising, offset)))]


def _occupied(others: Sequence[pods.Pod], state: states.ClusterState) -> arrays.Ints:
    """Return what pods occupy, in rows; replicas without a report are worked out once."""
    known: dict[int, arrays.Ints] = {}

    def occupied(pod: pods.Pod) -> arrays.Ints:
        if not requests.is_plain(pod):
            return state.occupied(_taken(pod, state))
        if id(pod.spec) not in known:
            known[id(pod.spec)] = state.occupied(_taken(pod, state))
        return known[id(pod.spec)]

    return np.array([occupied(pod) for pod in others])


def _taken(pod: pods.Pod, state: states.ClusterState) -> requests.Occupancy:
    return requests.occupancy(pod, use_status=state.use_status, pod_level=state.pod_level)


def _victims_on(
    row: int,
    pod: pods.Pod,
    state: states.ClusterState,
    scheduler: Filters,
    running: Sequence[Running],
    allowed: Mapping[str, int],
) -> Preemption | None:
    """Return the victims on one node, or ``None`` if evicting them does not help."""
    lower = [r for r in running if r.pod.spec.priority < pod.spec.priority]
    lower.sort(key=lambda r: (-r.pod.spec.priority, r.started_s))
    away = list(lower)
    for victim in lower:
        state.remove(victim.pod, row)
    try:
        if not scheduler.fits(pod, state, row):
            return None
        breaking, others = _split(lower, allowed)
        broken = 0
        for victim in (*breaking, *others):
            state.place(victim.pod, row)
            if scheduler.fits(pod, state, row):
                away.remove(victim)
            else:
                state.remove(victim.pod, row)
                broken += victim in breaking
        return Preemption(row, tuple(away), broken)
    finally:
        for victim in away:
            state.place(victim.pod, row)


def _split(
    victims: Sequence[Running], allowed: Mapping[str, int]
) -> tuple[list[Running], list[Running]]:
    """Split pods into those whose budget would be violated and the others, in order."""
    left = dict(allowed)
    breaking: list[Running] = []
    others: list[Running] = []
    for running in victims:
        violating = False
        for budget in running.budgets:
            left[budget] = left.get(budget, 0) - 1
            if left[budget] < 0:
                violating = True
                break
        (breaking if violating else others).append(running)
    return breaking, others


def rank(preemption: Preemption) -> tuple[float, ...]:
    """Return the order of candidates; the smallest is chosen."""
    priorities = [victim.pod.spec.priority for victim in preemption.victims]
    if not priorities:
        return (-1.0,)
    highest = max(priorities)
    earliest_s = min(v.started_s for v in preemption.victims if v.pod.spec.priority == highest)
    return (
        preemption.broken_budgets,
        highest,
        sum(priority + _OFFSET for priority in priorities),
        len(priorities),
        -earliest_s,  # the later, the better
    )
