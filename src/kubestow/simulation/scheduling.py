"""The scheduler as a host: its queue, one pod at a time, back-off, and what wakes pods up.

As in ``pkg/scheduler/backend/queue`` (1.37): pods wait by priority, then by when they came; a pod
that fits nowhere goes aside until something changes in the cluster, and then waits for its
back-off, 1 s doubled with every attempt up to 10 s; after five minutes aside it is looked at again
in any case. Failed attempts are remembered by specification until something is freed, since they
would fail again.
"""

from __future__ import annotations

import dataclasses
import heapq
from dataclasses import dataclass, field

import numpy as np

from kubestow.model import decisions
from kubestow.policies.placing import preemption, profiles, sampling, schedulers
from kubestow.simulation import disruptions, lifecycles, worlds
from kubestow.simulation.actors import LivePod, Phase
from kubestow.simulation.worlds import World

BACK_OFF_FIRST_S, BACK_OFF_MOST_S = 1.0, 10.0
ASIDE_MOST_S, FLUSH_S = 300.0, 30.0
_CANDIDATES = 3  # that a kept decision names


@dataclass(slots=True)
class _Aside:
    pod: LivePod
    since_s: float
    attempts: int


@dataclass(slots=True, eq=False)
class Queue:
    """Pods that wait for a node."""

    active: list[tuple[int, float, int, LivePod]] = field(default_factory=list)
    aside: dict[str, _Aside] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    _sequence: int = 0

    def push(self, pod: LivePod, now_s: float) -> None:
        """Let a pod wait for its turn."""
        self._sequence += 1
        entry = (-pod.pod.spec.priority, now_s, self._sequence, pod)
        heapq.heappush(self.active, entry)

    def pop(self) -> LivePod | None:
        """Return the next pod that still waits."""
        while self.active:
            pod = heapq.heappop(self.active)[3]
            if pod.phase is Phase.QUEUED:
                return pod
        return None


class SchedulerHost:
    """kube-scheduler in the simulated cluster."""

    def __init__(self, world: World, profile: profiles.Profile, rng: np.random.Generator) -> None:
        self._world = world
        self._scheduler = schedulers.Scheduler(profile, world.features)
        self._rng = rng
        self._queue = Queue()
        self._busy = False
        self._start = 0  # where the next look at nodes begins
        self._hopeless: set[object] = set()
        placing = world.spec.policies.placing
        self._cycle_s = placing.cycle
        self._percentage = placing.sample
        world.on(worlds.CREATED, self._add)
        world.on(worlds.GONE, self._freed)
        world.on(worlds.NODE_READY, self._freed)
        world.on(worlds.NODE_CHANGED, self._freed)
        world.on(worlds.STOPPING, self._forget)

    def start(self) -> None:
        """Begin to look after pods that were left aside."""
        self._world.clock.every(FLUSH_S, self._flush, first_s=FLUSH_S, priority=worlds.SCHEDULE)

    def waiting(self) -> list[LivePod]:
        """Return the pods that were found to fit nowhere."""
        return [entry.pod for entry in self._queue.aside.values()]

    def place_warm(self, found: list[LivePod]) -> None:
        """Bind pods that are there from the start, all at once and ready."""
        for pod in sorted(found, key=lambda pod: -pod.pod.spec.priority):
            if pod.phase is Phase.QUEUED:
                self._attempt(pod, warm=True)

    def _add(self, pod: LivePod) -> None:
        self._queue.push(pod, self._world.now_s)
        self._wake()

    def _wake(self) -> None:
        if not self._busy and self._queue.active:
            self._busy = True
            self._world.clock.after(self._cycle_s, self._cycle, worlds.SCHEDULE)

    def _cycle(self) -> None:
        self._busy = False
        pod = self._queue.pop()
        if pod is not None:
            self._attempt(pod, warm=False)
        self._wake()

    def _attempt(self, pod: LivePod, *, warm: bool) -> None:
        key = id(pod.pod.spec)
        if key in self._hopeless:
            self._set_aside(pod)
            return
        world = self._world
        sample = sampling.Sample(self._start, self._percentage)
        placement = self._scheduler.place(pod.pod, world.state, self._rng, sample)
        self._start = placement.next_start
        if placement.row is None:
            self._hopeless.add(key)
            world.ledger.count("failed_attempts")
            world.ledger.decide(lambda: _record(placement, world.now_s))
            self._set_aside(pod)
            self._preempt(pod)
            return
        world.ledger.decide(lambda: _record(placement, world.now_s))
        node = world.by_name[world.state.names[placement.row]]
        self._queue.attempts.pop(pod.key, None)
        lifecycles.bind(world, pod, node, warm=warm)

    def _preempt(self, pod: LivePod) -> None:
        """Make room for a pod at the cost of others of lower priority, if that helps."""
        world = self._world
        if pod.nominated is not None:
            nominated = world.by_name[pod.nominated]
            if any(not other.stays for other in nominated.pods.values()):
                return  # its victims are still on their way out
            pod.nominated = None
        running = _running(world, pod.pod.spec.priority)
        if not running:
            return
        allowed = {
            w.key: allowance
            for w in world.workloads
            if (allowance := disruptions.allowed(w)) is not None
        }
        offset = int(self._rng.integers(len(world.state)))
        found = preemption.choose(pod.pod, world.state, self._scheduler, running, allowed, offset)
        if found is None:
            return
        node = world.by_name[world.state.names[found.row]]
        pod.nominated = node.name
        for victim in found.victims:
            world.ledger.count("preemptions")
            lifecycles.stop(world, node.pods[victim.pod.key], "preempted")

    def _set_aside(self, pod: LivePod) -> None:
        attempts = self._queue.attempts.get(pod.key, 0) + 1
        self._queue.attempts[pod.key] = attempts
        if pod.key not in self._queue.aside:
            self._world.ledger.note(self._world.now_s, "unschedulable", pod.key)
        self._queue.aside[pod.key] = _Aside(pod, self._world.now_s, attempts)

    def _forget(self, pod: LivePod) -> None:
        self._queue.aside.pop(pod.key, None)
        self._queue.attempts.pop(pod.key, None)

    def _freed(self, _: object) -> None:
        """Look again at pods left aside, each after its back-off."""
        self._hopeless.clear()
        for entry in list(self._queue.aside.values()):
            self._return(entry)

    def _flush(self) -> None:
        for entry in list(self._queue.aside.values()):
            if self._world.now_s - entry.since_s > ASIDE_MOST_S:
                self._hopeless.discard(id(entry.pod.pod.spec))
                self._return(entry)

    def _return(self, entry: _Aside) -> None:
        self._queue.aside.pop(entry.pod.key)
        wait_s = min(BACK_OFF_FIRST_S * 2 ** (entry.attempts - 1), BACK_OFF_MOST_S)
        time_s = max(entry.since_s + wait_s, self._world.now_s)
        self._world.clock.at(time_s, lambda: self._ready_again(entry.pod), worlds.SCHEDULE)

    def _ready_again(self, pod: LivePod) -> None:
        if pod.phase is Phase.QUEUED:
            self._queue.push(pod, self._world.now_s)
            self._wake()


def _running(world: World, priority: int) -> dict[int, list[preemption.Running]]:
    """Return the pods on every node that has one of lower priority."""
    found = {}
    for node in world.live_nodes():
        pods = [pod for pod in node.pods.values() if pod.stays]
        if any(pod.pod.spec.priority < priority for pod in pods):
            found[world.state.rows[node.name]] = [
                preemption.Running(
                    pod.pod,
                    pod.bound_s or 0.0,
                    pod.workload.key if pod.workload.spec.disruption else "",
                )
                for pod in pods
            ]
    return found


def _record(placement: schedulers.Placement, time_s: float) -> decisions.DecisionRecord:
    return dataclasses.replace(placement.record(_CANDIDATES), time=time_s)
