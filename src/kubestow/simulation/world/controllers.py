"""Controllers create and delete pods until the number of replicas is right.

A ReplicaSet deletes pods in upstream's order (``controller.ActivePodsWithRanks``): unbound before
bound, pending before running, not ready before ready, those that share a node with more pods of the
set, ready for a shorter time (on a logarithmic scale), more restarts, younger. A StatefulSet
creates pods one by one in order and deletes from the highest ordinal; a DaemonSet has one pod per
node; jobs run until enough pods have finished, and replace failed pods after a back-off; pipelines
are recurring jobs.
"""

from __future__ import annotations

import math
from collections import Counter

from kubestow.model import workloads
from kubestow.simulation import scenarios as spec
from kubestow.simulation.world import lifecycle
from kubestow.simulation.world import world as world_world
from kubestow.simulation.world.actors import LiveNode, LivePod, LiveWorkload, Phase
from kubestow.simulation.world.world import World


class Controllers:
    """The controller manager."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._due: set[int] = set()
        self._begun: set[int] = set()
        self._needed: dict[int, int] = {}  # pods of a job that must finish
        for event in (world_world.READY, world_world.STOPPING, world_world.GONE):
            world.on(event, lambda pod: self.reconcile(pod.workload))
        world.on(world_world.SCALED, self.reconcile)
        for event in (world_world.NODE_READY, world_world.NODE_GONE):
            world.on(event, self._reconcile_daemon_sets)

    def begin(self, workload: LiveWorkload) -> None:
        """Create a workload; it is not reconciled before."""
        self._begun.add(workload.number)
        work = workload.spec.work
        if workload.spec.kind == spec.PIPELINE and work is not None and work.every is not None:
            first_s = max(self._world.now_s, workload.spec.start + work.first)
            self._world.clock.every(
                work.every,
                lambda: self._run_again(workload),
                first_s=first_s,
                priority=world_world.CONTROL,
            )
            return
        if workload.spec.kind == spec.JOB and work is not None:
            self._needed[workload.number] = work.completions
        self._reconcile(workload)

    def _run_again(self, workload: LiveWorkload) -> None:
        work = workload.spec.work
        if work is not None:
            workload.runs += 1
            needed = self._needed.get(workload.number, 0)
            self._needed[workload.number] = needed + work.completions
        self._reconcile(workload)

    def reconcile(self, workload: LiveWorkload) -> None:
        """Reconcile a workload at this time, after the current action."""
        if workload.number not in self._due:
            self._due.add(workload.number)
            world = self._world
            world.clock.at(world.now_s, lambda: self._reconcile(workload), world_world.CONTROL)

    def _reconcile_daemon_sets(self, _: LiveNode) -> None:
        for workload in self._world.workloads:
            if workload.spec.kind == spec.DAEMON_SET:
                self.reconcile(workload)

    def _reconcile(self, workload: LiveWorkload) -> None:
        self._due.discard(workload.number)
        if workload.number not in self._begun:
            return
        match workload.spec.kind:
            case spec.DEPLOYMENT:
                self._replicate(workload)
            case spec.STATEFUL_SET:
                self._order(workload)
            case spec.DAEMON_SET:
                cover_nodes(self._world, workload, self._world.now_s)
            case _:
                self._work_off(workload)

    def _create(self, workload: LiveWorkload, name: str) -> None:
        pod_spec = workload.pod_spec()
        lifecycle.create_pod(self._world, workload, name, pod_spec, self._world.now_s)

    def _replicate(self, workload: LiveWorkload) -> None:
        staying = workload.staying()
        missing = workload.replicas - len(staying)
        for _ in range(missing):
            self._create(workload, f"{workload.name}-{workload.made}")
        if missing < 0:
            for pod in ranked(staying, self._world.now_s)[:-missing]:
                lifecycle.stop_pod(self._world, pod, "scaled-down")

    def _order(self, workload: LiveWorkload) -> None:
        by_ordinal = {int(name.rsplit("-", 1)[1]): pod for name, pod in workload.pods.items()}
        for ordinal in range(workload.replicas):
            pod = by_ordinal.get(ordinal)
            if pod is None:
                self._create(workload, f"{workload.name}-{ordinal}")
                return
            if pod.phase is not Phase.READY:
                return
        extra = [o for o, pod in by_ordinal.items() if o >= workload.replicas and pod.stays]
        leaving = any(not pod.stays for pod in by_ordinal.values())
        if extra and not leaving:
            lifecycle.stop_pod(self._world, by_ordinal[max(extra)], "scaled-down")

    def _work_off(self, workload: LiveWorkload) -> None:
        work = workload.spec.work
        if work is None:
            return
        world = self._world
        if world.now_s < workload.retry_s:
            world.clock.at(workload.retry_s, lambda: self.reconcile(workload), world_world.CONTROL)
            return
        staying = len(workload.staying())
        left = self._needed.get(workload.number, 0) - workload.done - staying
        for _ in range(min(left, work.parallelism - staying)):
            self._create(workload, f"{workload.name}-{workload.made}")


def cover_nodes(world: World, workload: LiveWorkload, created_s: float) -> list[LivePod]:
    """Create the missing pods of a DaemonSet."""
    template = workload.pod_spec()
    made = []
    for node in world.live_nodes():
        name = f"{workload.name}-{node.name}"
        if name not in workload.pods and workloads.runs_on(template, node.node):
            pod_spec = workloads.pinned(template, node.name)
            made.append(lifecycle.create_pod(world, workload, name, pod_spec, created_s))
    workload.replicas = len(workload.pods)
    return made


def ranked(pods: list[LivePod], now_s: float) -> list[LivePod]:
    """Return pods in the order in which a ReplicaSet deletes them."""
    together = Counter(pod.node.number for pod in pods if pod.node is not None)

    def rank(pod: LivePod) -> tuple[float, ...]:
        ready = pod.ready_s is not None
        crowd = together[pod.node.number] if pod.node is not None else 0
        return (
            pod.node is not None,
            pod.phase not in (Phase.QUEUED, Phase.STARTING),
            ready,
            -crowd,
            _magnitude(now_s - pod.ready_s) if pod.ready_s is not None else 0.0,
            -pod.restarts,
            _magnitude(now_s - pod.created_s),
            -pod.number,
        )

    return sorted(pods, key=rank)


def _magnitude(age_s: float) -> float:
    """Return an age on upstream's scale: powers of two of nanoseconds."""
    return math.floor(math.log2(age_s * 1e9)) if age_s * 1e9 >= 1 else -1.0
