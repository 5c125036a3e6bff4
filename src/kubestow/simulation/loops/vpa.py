"""The loop that hosts the Vertical Pod Autoscaler: recommender, admission, updater.

Once a minute the newest samples of all containers go into the histograms, and recommendations are
computed for all workloads at once. New pods get them at creation; in the modes that change running
pods, the rules of the updater decide which are resized in place or evicted.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kubestow.model import decisions, decoding, resources
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing import keep, limit_follow, registry, vpa
from kubestow.policies.sizing.vpa import (
    EstimateTable,
    PodContainer,
    ResizeCondition,
    Termination,
    UpdateMode,
    UpdatePolicy,
    UpdaterParameters,
    VpaBank,
    VpaParameters,
    VpaRecommendation,
)
from kubestow.policies.sizing.vpa import UpdaterPod as VpaPod
from kubestow.simulation.loops import estimating, limits
from kubestow.simulation.loops.observations import Observer
from kubestow.simulation.loops.usage_history import EPOCH_S
from kubestow.simulation.world import (
    CONTROL,
    GONE,
    KILLED,
    LivePod,
    LiveWorkload,
    Phase,
    Resizer,
    World,
    containers_of,
    may_evict,
    stop_pod,
)

_MODES: dict[str, UpdateMode] = {
    "off": "Off",
    "initial": "Initial",
    "recreate": "Recreate",
    "in-place-or-recreate": "InPlaceOrRecreate",
}
_UPDATED = ("recreate", "in-place-or-recreate")  # modes that change running pods
Recommended = tuple[VpaRecommendation, ...]


@dataclass(slots=True, eq=False)
class VpaLoop:
    """The autoscaler for all workloads that share parameters and interval."""

    world: World
    observer: Observer
    workloads: list[LiveWorkload]
    parameters: VpaParameters
    _bank: VpaBank = field(init=False)
    _rows: dict[tuple[int, int], int] = field(default_factory=dict)  # workload, container
    _slots: dict[int, int] = field(default_factory=dict)  # by stream of the container
    _recommended: dict[int, Recommended] = field(default_factory=dict)
    _memories: dict[int, vpa.UpdaterMemory] = field(default_factory=dict)
    _keys: dict[int, tuple[bytes, bytes]] = field(default_factory=dict)
    _known: set[int] = field(default_factory=set)  # workloads that have had a pod on a node
    _resizer: Resizer = field(init=False)
    _killed: dict[str, tuple[int, float, float]] = field(default_factory=dict)

    def start(self) -> None:
        """Sample and recommend once per interval."""
        siblings: list[int] = []
        for workload in self.workloads:
            count = len(containers_of(workload.spec))
            for index in range(count):
                self._rows[workload.number, index] = len(siblings)
                siblings.append(count)
        self._bank = VpaBank(siblings, self.parameters)
        self._resizer = Resizer(self.world)
        self.world.on(KILLED, self._kill)
        self.world.on(GONE, self._release)
        period_s = self.workloads[0].sizing.interval
        self.world.clock.every(period_s, self._round, first_s=period_s, priority=CONTROL)

    def _slot(self, pod: LivePod, index: int) -> int:
        stream = int(self.world.containers.rows["stream"][pod.container_rows[index]])
        if stream not in self._slots:
            row = self._rows[pod.workload.number, index]
            self._slots[stream] = int(self._bank.place([row])[0])
        return self._slots[stream]

    def _round(self) -> None:
        self._take_samples()
        table = self._bank.recommend()
        for workload in self.workloads:
            if not self._is_known(workload):
                continue
            updated = workload.sizing.mode in _UPDATED
            if self._recommend(workload, table, bounds=updated):
                self._admit(workload)
            if updated:
                self._update(workload)

    def _is_known(self, workload: LiveWorkload) -> bool:
        if workload.number not in self._known and any(
            p.container_rows for p in workload.pods.values()
        ):
            self._known.add(workload.number)
        return workload.number in self._known

    def _take_samples(self) -> None:
        containers = [
            (pod, index)
            for workload in self.workloads
            for pod in workload.pods.values()
            if pod.container_rows and pod.phase in (Phase.READY, Phase.STARTING)
            for index in range(len(pod.container_rows))
        ]
        if not containers:
            return
        observed = self.observer.read([pod.container_rows[index] for pod, index in containers])
        present = np.flatnonzero(observed.present)
        slots = np.array([self._slot(*containers[i]) for i in present], dtype=np.int64)
        if len(slots):
            time_s = EPOCH_S + observed.time_s
            self._bank.add(slots, time_s, observed.cpu[present], observed.memory[present])

    def _recommend(self, workload: LiveWorkload, table: EstimateTable, *, bounds: bool) -> bool:
        """Store a recommendation; return whether it differs from the last one.

        Args:
            workload: The workload.
            table: Estimates of all workloads.
            bounds: Whether a change of the bounds alone counts; they move all the time, and matter
                to the updater only.
        """
        names = [plan.name for plan in containers_of(workload.spec)]
        rows = [self._rows[workload.number, index] for index in range(len(names))]
        columns = slice(None) if bounds else slice(1)  # target, lower, upper
        key = (table.cpu_m[rows, columns].tobytes(), table.memory_bytes[rows, columns].tobytes())
        if key == self._keys.get(workload.number):
            return False
        self._keys[workload.number] = key
        estimates = {name: table.row(row) for name, row in zip(names, rows, strict=True)}
        self._recommended[workload.number] = vpa.present(estimates, self.parameters)
        return True

    def _admit(self, workload: LiveWorkload) -> None:
        """Set what new pods of a workload request."""
        if workload.sizing.mode == "off":
            return
        containers = tuple(
            PodContainer(plan.name, ContainerResources(plan.requests, plan.limits))
            for plan in containers_of(workload.spec)
        )
        admitted = vpa.admit(containers, self._recommended[workload.number])
        requests = {name: container.requests for name, container in admitted.items()}
        if requests == workload.requests:
            return
        workload.requests = requests
        workload.limits = {name: container.limits for name, container in admitted.items()}
        self.world.ledger.decide(lambda: self._record(workload))

    def _record(self, workload: LiveWorkload) -> decisions.DecisionRecord:
        recommended = self._recommended[workload.number]
        numbers = {
            f"{sized.container}/{name}": float(amount)
            for sized in recommended
            for name, amount in sized.target.items()
        }
        return decisions.DecisionRecord(
            kind="sizing",
            subject=f"workload/{workload.key}",
            policy=vpa.VPA,
            outcome="; ".join(f"{name} {amount:g}" for name, amount in numbers.items()),
            parameters={"mode": workload.sizing.mode},
            time=self.world.now_s,
            numbers=numbers,
        )

    def _update(self, workload: LiveWorkload) -> None:
        live = {pod.pod.name: pod for pod in workload.staying() if pod.node is not None}
        if not live:
            return
        self._resizer.retry(live.values())
        if self._is_calm(workload, live):
            return
        case = vpa.UpdateCase(
            pods=tuple(self._seen(pod) for pod in live.values()),
            configured={workload.key: workload.replicas},
            recommended=self._recommended[workload.number],
            policy=UpdatePolicy(mode=_MODES[workload.sizing.mode]),
            now_s=EPOCH_S + self.world.now_s,
        )
        plan = vpa.plan_updates(case, self._memories.get(workload.number))
        self._memories[workload.number] = plan.memory
        for name in plan.resize:
            self._resizer.resize(live[name])
        for name in plan.evict:
            if may_evict(live[name]):
                self.world.ledger.count("sizing_evictions")
                stop_pod(self.world, live[name], "resized-by-eviction")

    def _is_calm(self, workload: LiveWorkload, live: dict[str, LivePod]) -> bool:
        """Return whether the updater would find nothing to do; looks at one pod per specification.

        The whole plan is worked out otherwise: it costs more, and most minutes need none.
        """
        memory = self._memories.get(workload.number)
        if memory is not None and (memory.since_s or memory.infeasible):
            return False
        if any(
            pod.key in self._killed or pod.key in self._resizer.deferred for pod in live.values()
        ):
            return False
        oldest: dict[int, LivePod] = {}
        for pod in live.values():
            known = oldest.setdefault(id(pod.pod.spec), pod)
            if _begun_s(pod) < _begun_s(known):
                oldest[id(pod.pod.spec)] = pod
        rules = UpdaterParameters()
        for pod in oldest.values():
            urgent = vpa.update_priority(self._seen(pod), self._recommended[workload.number])
            age_s = self.world.now_s - _begun_s(pod)
            aged = age_s >= rules.lifetime_s and urgent.difference >= rules.threshold
            if urgent.outside or aged:
                return False
        return True

    def _seen(self, pod: LivePod) -> VpaPod:
        containers = tuple(
            PodContainer(c.name, ContainerResources(c.requests, c.limits))
            for c in pod.pod.spec.containers
        )
        conditions: tuple[ResizeCondition, ...] = ()
        if pod.key in self._resizer.deferred:
            conditions = (ResizeCondition("PodResizePending", reason="Deferred"),)
        ends = {}
        if pod.key in self._killed:
            index, begun_s, ended_s = self._killed[pod.key]
            name = pod.pod.spec.containers[index].name
            ends[name] = Termination("OOMKilled", EPOCH_S + begun_s, EPOCH_S + ended_s)
        return VpaPod(
            name=pod.pod.name,
            containers=containers,
            creator=pod.workload.key,
            started_s=EPOCH_S + _begun_s(pod),
            terminations=ends,
            conditions=conditions,
        )

    def _kill(self, killed: tuple[LivePod, int]) -> None:
        pod, row = killed
        if not any(pod.workload is workload for workload in self.workloads):
            return
        index = pod.container_rows.index(row)
        memory = pod.pod.spec.containers[index].requests.get(resources.MEMORY)
        requested = memory.value() if memory is not None else 0
        slots = np.array([self._slot(pod, index)], dtype=np.int64)
        now_s = self.world.now_s
        self._bank.kill(slots, EPOCH_S + now_s, np.array([requested], dtype=np.int64))
        begun_s = float(self.world.containers.rows["since_s"][row])
        self._killed[pod.key] = (index, begun_s, now_s)

    def _release(self, pod: LivePod) -> None:
        self._killed.pop(pod.key, None)
        self._resizer.forget(pod)
        streams = [int(self.world.containers.rows["stream"][row]) for row in pod.container_rows]
        slots = [self._slots.pop(stream) for stream in streams if stream in self._slots]
        if slots:
            self._bank.release(slots)


def _begun_s(pod: LivePod) -> float:
    """Return when a pod was started; those that are there from the start long before it."""
    return pod.created_s if pod.created_s < 0.0 else pod.bound_s or 0.0


def start_sizing(world: World, observer: Observer) -> None:
    """Give the workloads that are sized their loops; those with equal settings share one."""
    groups: dict[object, list[LiveWorkload]] = defaultdict(list)
    for workload in world.workloads:
        sizing = workload.sizing
        if sizing.recommender != keep.NAME:
            # What says how pods are changed may differ; all else decides what is recommended.
            groups[repr(replace(sizing, mode="off"))].append(workload)
    for members in groups.values():
        sizing = members[0].sizing
        raw = decoding.Field(sizing.parameters or {}, "scenario", "sizing.parameters")
        parameters: Any = decoding.read_structure(
            registry.RECOMMENDERS.get(sizing.recommender).parameters, raw
        )
        if sizing.recommender == vpa.VPA:
            VpaLoop(world, observer, members, parameters).start()
        elif sizing.recommender == limit_follow.NAME:
            limits.LimitLoop(world, observer, members, parameters).start()
        else:
            estimating.EstimateLoop(world, observer, members, parameters).start()
