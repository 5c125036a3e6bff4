"""kube-scheduler as a loop: its queue, one pod at a time, back-off, and requeueing.

As in ``pkg/scheduler/backend/queue`` (1.37): pods are ordered by priority, then by arrival. A pod
that fits nowhere is unschedulable until something changes in the cluster, and then waits for its
back-off, 1 s doubled with every attempt up to 10 s; after five minutes it is retried in any case.
Failed attempts are remembered by specification until something is freed, since they would fail
again. Space freed for a pod by preemption is not given to others of its priority or below.
"""

from __future__ import annotations

import contextlib
import dataclasses
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from kubestow.model import decisions, pods
from kubestow.policies.placing import profiles, scheduler
from kubestow.simulation.loops import node_loads
from kubestow.simulation.world import (
    CREATED,
    GONE,
    NODE_CHANGED,
    NODE_READY,
    RESIZED,
    SCHEDULE,
    STOPPING,
    LivePod,
    Phase,
    World,
    bind_pod,
    disruptions_allowed,
    stop_pod,
)

BACK_OFF_FIRST_S, BACK_OFF_MOST_S = 1.0, 10.0
ASIDE_MOST_S, FLUSH_S = 300.0, 30.0
_CANDIDATES = 3  # in a decision record


@dataclass(slots=True)
class _Aside:
    pod: LivePod
    since_s: float
    attempts: int


@dataclass(slots=True, eq=False)
class Queue:
    """The scheduling queue."""

    active: list[tuple[int, float, int, LivePod]] = field(default_factory=list)
    aside: dict[str, _Aside] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    failed: dict[str, LivePod] = field(default_factory=dict)  # unschedulable, or in back-off
    _sequence: int = 0

    def push(self, pod: LivePod, now_s: float) -> None:
        """Add a pod to the active queue."""
        self._sequence += 1
        entry = (-pod.pod.spec.priority, now_s, self._sequence, pod)
        heapq.heappush(self.active, entry)

    def pop(self) -> LivePod | None:
        """Return the next pod that is still pending."""
        while self.active:
            pod = heapq.heappop(self.active)[3]
            if pod.phase is Phase.QUEUED:
                return pod
        return None


class SchedulerHost:
    """kube-scheduler in the simulated cluster."""

    def __init__(self, world: World, profile: profiles.Profile, rng: np.random.Generator) -> None:
        self._world = world
        self._scheduler = scheduler.Scheduler(profile, world.features)
        self._rng = rng
        self._queue = Queue()
        self._busy = False
        self._start = 0  # where the next search of nodes starts
        # By identity of the specification, which the reference keeps unique, and by volumes.
        self._hopeless: dict[tuple[object, ...], pods.PodSpec] = {}
        self._nominated: dict[str, LivePod] = {}  # pods for which others are preempted
        placing = world.spec.policies.placing
        self._loads = None if profile.extension is None else node_loads.PlacingLoads(world)
        self._cycle_s = placing.cycle
        self._percentage = placing.sample
        world.on(CREATED, self._add)
        world.on(GONE, self._freed)
        world.on(NODE_READY, self._freed)
        world.on(NODE_CHANGED, self._freed)
        world.on(RESIZED, self._freed)
        world.on(STOPPING, self._forget)

    def start(self) -> None:
        """Start flushing unschedulable pods, and scraping loads if a term needs them."""
        if self._loads is not None:
            self._loads.start()
        self._world.clock.every(FLUSH_S, self._flush, first_s=FLUSH_S, priority=SCHEDULE)

    def waiting(self) -> list[LivePod]:
        """Return the unschedulable pods."""
        return list(self._queue.failed.values())

    def place_warm(self, pods: list[LivePod]) -> None:
        """Bind the initial pods, all at once and ready."""
        self._queue.active.clear()
        for pod in sorted(pods, key=lambda pod: -pod.pod.spec.priority):
            if pod.phase is Phase.QUEUED:
                self._attempt(pod, warm=True)

    def _add(self, pod: LivePod) -> None:
        self._queue.push(pod, self._world.now_s)
        self._wake()

    def _wake(self) -> None:
        if not self._busy and self._queue.active:
            self._busy = True
            self._world.clock.after(self._cycle_s, self._cycle, SCHEDULE)

    def _cycle(self) -> None:
        self._busy = False
        pod = self._queue.pop()
        if pod is not None:
            self._attempt(pod, warm=False)
        self._wake()

    def _attempt(self, pod: LivePod, *, warm: bool) -> None:
        key = (id(pod.pod.spec), pod.pod.volumes)
        if key in self._hopeless:
            self._set_aside(pod)
            return
        world = self._world
        with self._reserved_for_others(pod):
            sample = scheduler.NodeSample(self._start, self._percentage)
            loads = None if self._loads is None else self._loads.loads()
            placement = self._scheduler.place(pod.pod, world.state, self._rng, sample, loads)
            self._start = placement.next_start
            world.ledger.decide(lambda: _record(placement, world.now_s))
            if placement.row is None:
                world.ledger.count("failed_attempts")
                self._set_aside(pod)
                if not self._preempt(pod):  # the next equal pod may find other victims
                    self._hopeless[key] = pod.pod.spec
                return
        node = world.by_name[world.state.names[placement.row]]
        self._forget(pod)
        self._scheduler.reserve(pod.pod, world.state, placement.row)
        bind_pod(world, pod, node, warm=warm)

    @contextlib.contextmanager
    def _reserved_for_others(self, pod: LivePod) -> Iterator[None]:
        """Count nominated pods on their nodes (``addNominatedPods``)."""
        state, least = self._world.state, pod.pod.spec.priority
        held = [
            (other.pod, state.rows[other.nominated])
            for other in self._nominated.values()
            if other is not pod
            and other.pod.spec.priority >= least
            and other.nominated in state.rows
        ]
        for other, row in held:
            state.place(other, row)
        try:
            yield
        finally:
            for other, row in held:
                state.remove(other, row)

    def _nominate(self, pod: LivePod, node: str | None) -> None:
        pod.nominated = node
        if node is None:
            self._nominated.pop(pod.key, None)
        else:
            self._nominated[pod.key] = pod

    def _preempt(self, pod: LivePod) -> bool:
        """Preempt pods of lower priority for a pod; return whether that helps."""
        world, priority = self._world, pod.pod.spec.priority
        if pod.nominated is not None:
            there = world.by_name[pod.nominated].pods.values()
            if any(not other.stays and other.pod.spec.priority < priority for other in there):
                return True  # its victims are still terminating
            self._nominate(pod, None)
        running = _running(world, priority)
        if not running:
            return False
        allowed = {
            w.key: allowance
            for w in world.workloads
            if (allowance := disruptions_allowed(w)) is not None
        }
        offset = int(self._rng.integers(len(world.state)))
        choice = scheduler.choose_victims(
            pod.pod, world.state, self._scheduler, running, allowed, offset
        )
        if choice is None:
            return False
        node = world.by_name[world.state.names[choice.row]]
        for other in list(self._nominated.values()):
            if other.nominated == node.name and other.pod.spec.priority < priority:
                self._nominate(other, None)
        self._nominate(pod, node.name)
        for victim in (node.pods[running.pod.key] for running in choice.victims):
            if victim.stays:
                world.ledger.count("preemptions")
                stop_pod(world, victim, "preempted")
        return True

    def _set_aside(self, pod: LivePod) -> None:
        attempts = self._queue.attempts.get(pod.key, 0) + 1
        self._queue.attempts[pod.key] = attempts
        self._queue.failed[pod.key] = pod
        if pod.key not in self._queue.aside:
            self._world.ledger.note(self._world.now_s, "unschedulable", pod.key)
        self._queue.aside[pod.key] = _Aside(pod, self._world.now_s, attempts)

    def _forget(self, pod: LivePod) -> None:
        self._queue.aside.pop(pod.key, None)
        self._queue.attempts.pop(pod.key, None)
        self._queue.failed.pop(pod.key, None)
        self._nominate(pod, None)

    def _freed(self, _: object) -> None:
        """Retry unschedulable pods, each after its back-off."""
        self._hopeless.clear()
        for entry in list(self._queue.aside.values()):
            self._return(entry)

    def _flush(self) -> None:
        for entry in list(self._queue.aside.values()):
            if self._world.now_s - entry.since_s > ASIDE_MOST_S:
                self._hopeless.pop((id(entry.pod.pod.spec), entry.pod.pod.volumes), None)
                self._return(entry)

    def _return(self, entry: _Aside) -> None:
        self._queue.aside.pop(entry.pod.key)
        wait_s = min(BACK_OFF_FIRST_S * 2 ** (entry.attempts - 1), BACK_OFF_MOST_S)
        time_s = max(entry.since_s + wait_s, self._world.now_s)
        self._world.clock.at(time_s, lambda: self._ready_again(entry.pod), SCHEDULE)

    def _ready_again(self, pod: LivePod) -> None:
        if pod.phase is Phase.QUEUED:
            self._queue.push(pod, self._world.now_s)
            self._wake()


def _running(world: World, priority: int) -> dict[int, list[scheduler.Running]]:
    """Return the pods on every node that has one of lower priority."""
    running = {}
    for node in world.live_nodes():
        bound = list(node.pods.values())  # terminating pods are victims without cost
        if any(pod.pod.spec.priority < priority for pod in bound):
            running[world.state.rows[node.name]] = [
                scheduler.Running(
                    pod.pod,
                    _started_s(pod),
                    (pod.workload.key,) if pod.workload.spec.disruption else (),
                )
                for pod in bound
            ]
    return running


def _started_s(pod: LivePod) -> float:
    if pod.created_s < 0.0 or pod.bound_s is None:  # initial pods, in order of creation
        return pod.created_s
    return pod.bound_s


def _record(placement: scheduler.Placement, time_s: float) -> decisions.DecisionRecord:
    return dataclasses.replace(placement.record(_CANDIDATES), time=time_s)
