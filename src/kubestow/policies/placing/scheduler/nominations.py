"""Pods that wait for their victims to end, and what other pods see of them.

A pod that fits nowhere may preempt others and is then nominated for their node. Until the victims
have ended they still count there, as pods that are being deleted, and the nominated pod counts
there too, for pods whose priority is not higher (``RunFilterPluginsWithNominatedPods``, 1.37).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from kubestow.model import arrays, clusters, pods, states
from kubestow.policies.placing.scheduler import preemption
from kubestow.policies.placing.scheduler.scheduler import Nomination, Placement, Scheduler


@dataclass(slots=True, eq=False)
class Nominations:
    """Nominated pods, and the pods on nodes that preemption may evict.

    Attributes:
        nominated: Nominated pods by row of their node.
        running: Pods on nodes, by row.
        allowed: Evictions that each disruption budget allows.
        lowest: Lowest priority of a pod on a node.
    """

    nominated: dict[int, list[pods.Pod]] = field(default_factory=dict)
    running: dict[int, list[preemption.Running]] = field(default_factory=dict)
    allowed: dict[str, int] = field(default_factory=dict)
    lowest: float = np.inf
    _hopeless: set[object] = field(default_factory=set)

    def place(
        self,
        scheduler: Scheduler,
        pod: pods.Pod,
        state: states.ClusterState,
        rng: np.random.Generator | None,
    ) -> Placement:
        """Choose a node for a pod, or victims that make place for it; the state is updated."""
        self._withdraw(pod)
        narrow = self.filters(scheduler, pod).narrow
        placement = scheduler.place(pod, state, rng, narrow=narrow)
        if placement.row is not None:
            scheduler.bind(pod, state, placement.row)
            return placement
        nomination = self._preempt(scheduler, pod, state, rng)
        return placement if nomination is None else replace(placement, nomination=nomination)

    def filters(self, scheduler: Scheduler, pod: pods.Pod) -> NominationFilters:
        """Return the filters of a scheduler that also count nominated pods."""
        return NominationFilters(scheduler, self, pod)

    def held_for(self, pod: pods.Pod, row: int) -> list[pods.Pod]:
        """Return the pods nominated for a node that count for a pod."""
        return [p for p in self.nominated.get(row, ()) if p.spec.priority >= pod.spec.priority]

    def _preempt(
        self,
        scheduler: Scheduler,
        pod: pods.Pod,
        state: states.ClusterState,
        rng: np.random.Generator | None,
    ) -> Nomination | None:
        key = (id(pod.spec), pod.namespace, tuple(pod.labels.items()), pod.volumes)
        may = scheduler.profile.preempts and pod.spec.preempts and pod.spec.priority > self.lowest
        if not may or key in self._hopeless or self._is_waiting(pod, state):
            return None
        offset = 0 if rng is None else int(rng.integers(len(state)))
        chosen = preemption.choose_victims(
            pod, state, self.filters(scheduler, pod), self.running, self.allowed, offset
        )
        if chosen is None:
            # Nodes only get fuller, so an equal pod does not find victims either.
            self._hopeless.add(key)
            return None
        self._nominate(pod, chosen, state)
        victims = tuple(running.pod for running in chosen.victims)
        return Nomination(state.names[chosen.row], victims, chosen.broken_budgets)

    def _is_waiting(self, pod: pods.Pod, state: states.ClusterState) -> bool:
        """Return whether pods that were evicted for this one are still on its node."""
        row = state.rows.get(pod.status.nominated)
        return row is not None and any(
            other.pod.terminating and other.pod.spec.priority < pod.spec.priority
            for other in self.running.get(row, ())
        )

    def _nominate(
        self, pod: pods.Pod, chosen: preemption.Preemption, state: states.ClusterState
    ) -> None:
        row = chosen.row
        kept = [p for p in self.nominated.get(row, ()) if p.spec.priority >= pod.spec.priority]
        self.nominated[row] = [*kept, pod]
        for victim in chosen.victims:
            ended = replace(victim, pod=replace(victim.pod, terminating=True))
            state.remove(victim.pod, row)
            state.place(ended.pod, row)
            self.running[row][self.running[row].index(victim)] = ended

    def _withdraw(self, pod: pods.Pod) -> None:
        for waiting in self.nominated.values():
            waiting[:] = [other for other in waiting if other is not pod]


@dataclass(frozen=True, slots=True)
class NominationFilters:
    """The filters of a scheduler for one pod, which also count nominated pods on their nodes."""

    scheduler: Scheduler
    nominations: Nominations
    pod: pods.Pod

    def fits(self, pod: pods.Pod, state: states.ClusterState, row: int) -> bool:
        """Return whether a node is feasible with and without the pods nominated for it."""
        held = self.nominations.held_for(pod, row)
        if held:
            with _placed(held, state, row):
                if not self.scheduler.fits(pod, state, row):
                    return False
        return self.scheduler.fits(pod, state, row)

    def narrow(
        self, state: states.ClusterState, feasible: arrays.Ints
    ) -> tuple[arrays.Ints, dict[str, str]]:
        """Return the nodes that stay feasible with nominated pods, and why others do not.

        A pod that is nominated itself takes its node without a look at others.
        """
        reasons: dict[str, str] = {}
        for row in self.nominations.nominated:
            held = self.nominations.held_for(self.pod, row)
            if held and np.isin(row, feasible):
                with _placed(held, state, row):
                    refusal = self.scheduler.refusal(self.pod, state, row)
                if refusal is not None:
                    reasons[state.names[row]] = refusal
        kept = feasible[[state.names[row] not in reasons for row in feasible]]
        own = state.rows.get(self.pod.status.nominated)
        if own is not None and np.isin(own, kept):
            kept = np.array([own], dtype=np.int64)
        return kept, reasons


@contextmanager
def _placed(held: Sequence[pods.Pod], state: states.ClusterState, row: int) -> Iterator[None]:
    for pod in held:
        state.place(pod, row)
    try:
        yield
    finally:
        for pod in held:
            state.remove(pod, row)


def from_cluster(cluster: clusters.Cluster, state: states.ClusterState) -> Nominations:
    """Return the nominations of a cluster before any pod is placed."""
    nominations = Nominations(allowed={budget.key: budget.allowed for budget in cluster.budgets})
    for pod in cluster.bound:
        row = state.rows.get(pod.node_name)
        if row is not None:
            budgets = tuple(b.key for b in cluster.budgets if b.covers(pod))
            started = np.inf if pod.status.started is None else pod.status.started
            running = preemption.Running(pod, float(started), budgets)
            nominations.running.setdefault(row, []).append(running)
            nominations.lowest = min(nominations.lowest, pod.spec.priority)
    for pod in cluster.pending:
        row = state.rows.get(pod.status.nominated)
        if row is not None:
            nominations.nominated.setdefault(row, []).append(pod)
    return nominations
