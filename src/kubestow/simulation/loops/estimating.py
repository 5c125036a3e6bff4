"""The loop that hosts any estimator: observed usage in, guarded requests out.

At every scrape the newest samples go into a bounded history (``usage_history``). Once per interval
all containers are estimated at once (runs of jobs separately), the guards check the estimates of
each workload, and new pods get them. In the modes that change running pods, pods are resized in
place where the API and the node allow it, and evicted one by one otherwise. An OOM kill takes
effect without waiting for the next estimate: at the next scrape, or at once where the pod fails and
is replaced. It is forgotten with the history. In the mode that changes new pods only, no change is
too small: it costs no restart. Every estimate is back-tested on the usage that follows; the record
of every change has that back-test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kubestow.model import resources
from kubestow.model.arrays import Ints
from kubestow.model.keys import ContainerKey
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing import conformal, estimates, guards, registry
from kubestow.policies.sizing.recommendations import Recommendation
from kubestow.simulation import scenarios as spec
from kubestow.simulation import world
from kubestow.simulation.loops import estimate_records, sizing_context, updating, usage_history
from kubestow.simulation.loops.observations import Observer
from kubestow.simulation.world import LivePod, LiveWorkload, Phase, World

INITIAL = "initial"
_JUDGED = ("sizing_judged", "sizing_cpu_missed", "sizing_memory_missed")
_PARTS = ((resources.CPU, "cpu_cores"), (resources.MEMORY, "memory_bytes"))


@dataclass(slots=True, eq=False)
class Watched:
    """A workload and its sizes.

    Attributes:
        live: The workload.
        first: Number of its first container; the others follow.
        current: Requests and limits of its new pods.
        estimated: The last estimate by container and resource, in millicores and bytes.
        oom_killed_bytes: Largest limit (or request) at which each container was OOM-killed.
        oom_killed_s: When each was OOM-killed for the last time.
    """

    live: LiveWorkload
    first: int
    current: dict[str, ContainerResources]
    estimated: dict[str, dict[str, int]] = field(default_factory=dict)
    oom_killed_bytes: dict[str, int] = field(default_factory=dict)
    oom_killed_s: dict[str, float] = field(default_factory=dict)

    def forget_kills(self, before_s: float) -> None:
        """Forget OOM kills before a time."""
        for name in [name for name, at_s in self.oom_killed_s.items() if at_s < before_s]:
            del self.oom_killed_bytes[name], self.oom_killed_s[name]


@dataclass(slots=True, eq=False)
class EstimatorSamples:
    """The containers to read, as arrays; rebuilt when a pod has changed."""

    version: int
    container_rows: Ints
    streams: Ints
    rows: Ints


@dataclass(slots=True, eq=False)
class EstimateLoop:
    """The recommender for all workloads that share settings."""

    world: World
    observer: Observer
    workloads: list[LiveWorkload]
    parameters: Any
    history: usage_history.ObservedUsage = field(init=False)
    watched: list[Watched] = field(default_factory=list)
    _estimator: estimates.Estimator = field(init=False)
    _guards: guards.GuardParameters = field(init=False)
    _tracks: dict[bool, estimate_records.Track] = field(default_factory=dict)
    _updater: updating.Updater = field(init=False)
    _samples: EstimatorSamples | None = None
    _series: dict[int, usage_history.ObservedSeries] = field(default_factory=dict)  # by stream
    _done: dict[int, int] = field(default_factory=dict)  # finished pods by workload
    _urgent: dict[int, Watched] = field(default_factory=dict)
    _struck: set[int] = field(default_factory=set)  # containers OOM-killed since the last estimate

    def start(self) -> None:
        """Sample at every scrape, and estimate once per interval."""
        sizing = self.workloads[0].sizing
        self._estimator = registry.RECOMMENDERS.get(sizing.recommender).make_estimator(
            self.parameters
        )
        self._guards = sizing_context.guard_parameters(sizing.guards)
        self._updater = updating.Updater(self.world)
        owners = 0
        for workload in self.workloads:
            self.watched.append(Watched(workload, owners, sizing_context.stated(workload)))
            owners += len(world.containers_of(workload.spec))
        metrics = self.world.spec.metrics
        grid_s = max(sizing.grid, metrics.scrape)
        self.history = usage_history.ObservedUsage(grid_s, sizing.history)
        self.world.on(world.KILLED, self._kill)
        self.world.on(world.GONE, self._release)
        clock = self.world.clock
        clock.every(metrics.scrape, self._sample, first_s=metrics.scrape, priority=world.CONTROL)
        clock.every(sizing.interval, self._round, first_s=sizing.interval, priority=world.CONTROL)

    def _sample(self) -> None:
        """Add the newest samples, raise OOM-killed containers, and retry deferred resizes."""
        version = sum(workload.version for workload in self.workloads)
        if self._samples is None or self._samples.version != version:
            self._samples = self._find(version)
        samples = self._samples
        observed = self.observer.read(samples.container_rows, samples.streams)
        if observed.time_s > 0.0:  # time advances even without a sample
            rows = samples.rows[observed.present]
            self.history.add(
                rows,
                observed.time_s,
                observed.cpu[observed.present],
                observed.memory[observed.present],
            )
        urgent, self._urgent = self._urgent, {}
        for watched in urgent.values():
            self._apply(watched)
        for workload in self.workloads:
            self._updater.update(workload)

    def _find(self, version: int) -> EstimatorSamples:
        container_rows: list[int] = []
        rows: list[int] = []
        for watched in self.watched:
            for pod in watched.live.pods.values():
                if pod.container_rows and pod.phase in (Phase.READY, Phase.STARTING):
                    container_rows += pod.container_rows
                    rows += [
                        self._series_of(watched, pod, index).row
                        for index in range(len(pod.container_rows))
                    ]
        at = np.array(container_rows, dtype=np.int64)
        return EstimatorSamples(
            version, at, self.observer.streams(at), np.array(rows, dtype=np.int64)
        )

    def _series_of(
        self, watched: Watched, pod: LivePod, index: int
    ) -> usage_history.ObservedSeries:
        stream = int(self.world.containers.rows["stream"][pod.container_rows[index]])
        if stream not in self._series:
            self._series[stream] = self.history.open(watched.first + index)
        return self._series[stream]

    def _round(self) -> None:
        """Estimate all containers and take up what has changed."""
        oldest_s = self.world.now_s - self.history.history_s
        for watched in self.watched:
            watched.forget_kills(oldest_s)
        for runs in (False, True):
            members = [w for w in self.watched if (w.live.spec.kind in spec.RUNS) == runs]
            if members:
                self._estimate(members, runs=runs)

    def _estimate(self, members: list[Watched], *, runs: bool) -> None:
        names, owners, killed = [], [], []
        for watched in members:
            for index, plan in enumerate(world.containers_of(watched.live.spec)):
                names.append(f"{watched.live.key}/{plan.name}")
                owners.append(watched.first + index)
                killed.append(float(watched.oom_killed_bytes.get(plan.name, 0)))
        track = self._tracks.setdefault(runs, estimate_records.Track(len(names)))
        at_s = self.world.now_s
        news = self.history.usage(names, owners, np.array(killed), runs=runs, since_s=track.asked_s)
        struck = np.array([owner in self._struck for owner in owners])
        self._struck.difference_update(owners)
        for what, times in zip(_JUDGED, track.backtest_last(news, struck), strict=True):
            self.world.ledger.count(what, times)
        usage = self.history.usage(names, owners, np.array(killed), runs=runs)
        if not len(usage.owners) or not usage.points:
            return
        estimates_now = self._estimator.estimate(usage)
        track.keep(estimates_now, at_s)
        place = 0
        for watched in members:
            count = len(watched.current)
            self._take(watched, estimates_now, place)
            self._apply(watched, estimate_records.Basis(estimates_now, track, place))
            place += count

    def _take(self, watched: Watched, estimate: estimates.Estimates, place: int) -> None:
        """Write down what was estimated; what lies between the bounds is kept as it is."""
        for offset, (name, current) in enumerate(watched.current.items()):
            amounts = watched.estimated.setdefault(name, {})
            for resource, part in _PARTS:
                target = getattr(estimate, part)[place + offset]
                if not np.isfinite(target):
                    continue
                requested = current.requests.get(resource)
                present = np.array(float(requested) if requested is not None else np.nan)
                kept = conformal.hold_requests(
                    present,
                    target,
                    getattr(estimate, f"lower_{part}")[place + offset],
                    getattr(estimate, f"upper_{part}")[place + offset],
                )
                amounts[resource] = sizing_context.amount_of(resource, float(kept))

    def _apply(self, watched: Watched, basis: estimate_records.Basis | None = None) -> None:
        """Send the last estimates through the guards, and give the result to new pods."""
        live = watched.live
        key = ContainerKey(live.spec.namespace, live.spec.kind, live.name, "")
        sized = tuple(
            Recommendation(key._replace(container=name), self._wanted(watched, name))
            for name in watched.current
            if self._wanted(watched, name)
        )
        if not sized:
            return
        facts = sizing_context.find(
            self.world, watched.live, watched.current, watched.oom_killed_bytes
        )
        guarded = guards.guard(sized, facts, self._guards_of(watched.live.sizing.mode))
        current = _resized(watched.current, guarded)
        if current == watched.current:
            return
        watched.current = current
        mode = watched.live.sizing.mode
        self.world.ledger.decide(
            lambda: estimate_records.make(
                watched.live, self._estimator.name, guarded, basis, self.world.now_s
            )
        )
        if mode == "off":
            return
        watched.live.requests = {name: one.requests for name, one in current.items()}
        watched.live.limits = {name: one.limits for name, one in current.items()}
        self._updater.update(watched.live)

    def _guards_of(self, mode: str) -> guards.GuardParameters:
        """Return the guards; a change of new pods only is never too small, it costs no restart."""
        return replace(self._guards, min_change=0.0) if mode == INITIAL else self._guards

    def _wanted(self, watched: Watched, name: str) -> Mapping[str, int]:
        """Return what was estimated; of one that only was killed, what it has."""
        estimated = watched.estimated.get(name, {})
        if name in watched.oom_killed_bytes and resources.MEMORY not in estimated:
            requested = watched.current[name].requests.get(resources.MEMORY)
            return {
                **estimated,
                resources.MEMORY: requested.value() if requested is not None else 0,
            }
        return estimated

    def _kill(self, killed: tuple[LivePod, int]) -> None:
        pod, row = killed
        watched = next((w for w in self.watched if w.live is pod.workload), None)
        if watched is None:
            return
        index = pod.container_rows.index(row)
        container = pod.pod.spec.containers[index]
        self._struck.add(watched.first + index)
        limit = container.limits.get(resources.MEMORY)
        if limit is None:
            limit = container.requests.get(resources.MEMORY)
        at = limit.value() if limit is not None else 0
        known = watched.oom_killed_bytes.get(container.name, 0)
        watched.oom_killed_bytes[container.name] = max(known, at)
        watched.oom_killed_s[container.name] = self.world.now_s
        if pod.workload.spec.kind in spec.RUNS:
            self._apply(watched)
        else:
            self._urgent[pod.workload.number] = watched

    def _release(self, pod: LivePod) -> None:
        if not any(pod.workload is workload for workload in self.workloads):
            return
        self._updater.forget(pod)
        number = pod.workload.number
        finished = pod.workload.done > self._done.get(number, 0)
        self._done[number] = pod.workload.done
        for row in pod.container_rows:
            stream = int(self.world.containers.rows["stream"][row])
            if stream in self._series:
                series = self._series.pop(stream)
                self.history.close(series, self.world.now_s, whole=finished)


def _resized(
    before: Mapping[str, ContainerResources], guarded: guards.GuardedPod
) -> dict[str, ContainerResources]:
    """Return requests and limits of all containers after the guards."""
    resized = dict(before)
    for sized in guarded:
        old = before[sized.container]
        resized[sized.container] = ContainerResources(
            sizing_context.merge(old.requests, sized.requests),
            _limits(old.limits, sized),
        )
    return resized


def _limits(before: resources.ResourceList, sized: Recommendation) -> resources.ResourceList:
    """Return the limits of the guards for sized resources, the old ones for the others."""
    kept = {name: q for name, q in before.items() if name not in sized.requests}
    return sizing_context.merge(kept, sized.limits)
