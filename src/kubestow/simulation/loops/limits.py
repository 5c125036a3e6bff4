"""The loop of ``limit-follow``: limits of running pods follow usage, requests stay.

Shi 2023, 3.6: every T (the interval) each container is sampled; every period the busiest pods of
each node get new limits, which are written to their cgroups without the API server. A restarted
container has a new cgroup with the limits of its pod.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kubestow.model import decisions, quantities, resources
from kubestow.model.usage import Usage
from kubestow.policies.sizing import estimates, limit_follow
from kubestow.simulation import world
from kubestow.simulation.loops import sizing_context, usage_history
from kubestow.simulation.loops.observations import Observer
from kubestow.simulation.world import LivePod, LiveWorkload, Phase, World

_LEAST_CPU_M = 10  # a quota of 1 ms per 100 ms, the smallest that the kernel accepts


@dataclass(slots=True, eq=False)
class LimitLoop:
    """The adjuster for all workloads that share settings."""

    world: World
    observer: Observer
    workloads: list[LiveWorkload]
    parameters: limit_follow.LimitFollowParameters
    _history: usage_history.ObservedUsage = field(init=False)
    _series: dict[int, usage_history.ObservedSeries] = field(default_factory=dict)  # by stream
    _killed: defaultdict[tuple[int, int], float] = field(
        default_factory=lambda: defaultdict(float)
    )  # by workload and container

    def start(self) -> None:
        """Sample once per interval, and set limits once per period."""
        interval_s = self.workloads[0].sizing.interval
        cells = 2 * self.parameters.samples
        self._history = usage_history.ObservedUsage(interval_s, cells * interval_s)
        self.world.on(world.KILLED, self._kill)
        self.world.on(world.GONE, self._release)
        clock = self.world.clock
        clock.every(interval_s, self._sample, first_s=interval_s, priority=world.CONTROL)
        period_s = self.parameters.period_s
        clock.every(period_s, self._adjust, first_s=period_s, priority=world.CONTROL)

    def _containers(self) -> list[tuple[LivePod, int]]:
        return [
            (pod, index)
            for workload in self.workloads
            for pod in workload.pods.values()
            if pod.container_rows and pod.phase in (Phase.READY, Phase.STARTING)
            for index in range(len(pod.container_rows))
        ]

    def _sample(self) -> None:
        containers = self._containers()
        observed = self.observer.read([pod.container_rows[index] for pod, index in containers])
        at = observed.present
        rows = np.array([self._series_of(*one).row for one in containers], dtype=np.int64)
        # A sample belongs to the time of this read: one per read, none twice. Time advances without
        # samples, too, so old samples are not mistaken for the newest.
        self._history.add(rows[at], self.world.now_s, observed.cpu[at], observed.memory[at])

    def _series_of(self, pod: LivePod, index: int) -> usage_history.ObservedSeries:
        stream = int(self.world.containers.rows["stream"][pod.container_rows[index]])
        if stream not in self._series:
            self._series[stream] = self._history.open(stream)
        return self._series[stream]

    def _adjust(self) -> None:
        """Set the limits of the busiest pods."""
        if all(workload.sizing.mode == "off" for workload in self.workloads):
            return
        containers = self._containers()
        if not containers:
            return
        usage = self._usage(containers)
        estimate = limit_follow.LimitFollow(self.parameters).estimate(usage)
        known = self._known(usage)
        for place in self._busiest(containers, usage):
            if known[place]:
                self._set(*containers[place], estimate, place)

    def _known(self, usage: Usage) -> NDArray[np.bool_]:
        """Return which containers have all samples of both windows.

        Without the first window there is no rise or fall; a gap must not count as a fall.
        """
        count = 2 * self.parameters.samples
        if usage.points < count:
            return np.zeros(len(usage.containers), dtype=np.bool_)
        both = usage.cpu_cores[:, -count:] + usage.memory_bytes[:, -count:]
        return np.asarray(np.isfinite(both).all(axis=1), dtype=np.bool_)

    def _usage(self, containers: list[tuple[LivePod, int]]) -> Usage:
        """Return usage with one container of one pod per name: limits are set per pod."""
        names = [f"{pod.key}/{index}" for pod, index in containers]
        owners = [self._series_of(pod, index).owner for pod, index in containers]
        killed = np.array([self._killed[pod.workload.number, index] for pod, index in containers])
        return self._history.usage(names, owners, killed, runs=False)

    def _busiest(self, containers: list[tuple[LivePod, int]], usage: Usage) -> list[int]:
        """Return the containers of the busiest pods of each node."""
        pods = list({pod.key: pod for pod, _ in containers}.values())
        used = np.zeros(len(pods))
        places = {pod.key: place for place, pod in enumerate(pods)}
        hosts = self.world.hosts
        for place, (pod, _) in enumerate(containers):
            if pod.node is None or not usage.points:
                continue
            host = hosts[pod.node.number]
            share = usage.cpu_cores[place, -1] / host["cores"]
            share += usage.memory_bytes[place, -1] / host["room"]
            used[places[pod.key]] += np.nan_to_num(share)
        nodes = np.array([-1 if pod.node is None else pod.node.number for pod in pods])
        chosen = limit_follow.busiest(nodes, used, self.parameters.most_pods)
        keys = {pods[place].key for place in chosen.tolist()}
        return [place for place, (pod, _) in enumerate(containers) if pod.key in keys]

    def _set(self, pod: LivePod, index: int, estimate: estimates.Estimates, place: int) -> None:
        if pod.workload.sizing.mode == "off":
            return
        before = self._limits(pod, index)
        after = dict(before)
        cpu, memory = estimate.cpu_cores[place], estimate.memory_bytes[place]
        if np.isfinite(cpu):
            amount = sizing_context.amount_of(resources.CPU, float(cpu))
            after[resources.CPU] = quantities.millis(max(amount, _LEAST_CPU_M))
        if np.isfinite(memory):
            amount = sizing_context.amount_of(resources.MEMORY, float(memory))
            after[resources.MEMORY] = self._above_use(pod, index, amount)
        if after == before:
            return
        world.write_limits(self.world, pod, index, after)
        self.world.ledger.count("limits_written")
        self.world.ledger.decide(lambda: self._record(pod, index, before, after))

    def _above_use(self, pod: LivePod, index: int, amount: int) -> quantities.Quantity:
        """Return a memory limit; unless strict, above current usage."""
        if not self.parameters.strict:
            used = float(self.world.containers.rows["memory"][pod.container_rows[index]])
            least = used * (1.0 + self.parameters.memory_margin)
            amount = max(amount, sizing_context.amount_of(resources.MEMORY, least))
        return sizing_context.quantity(resources.MEMORY, amount)

    def _limits(self, pod: LivePod, index: int) -> dict[str, quantities.Quantity]:
        """Return the current limits of a container."""
        rows, row = self.world.containers.rows, pod.container_rows[index]
        limits: dict[str, quantities.Quantity] = {}
        cpu, memory = float(rows["cpu_limit"][row]), float(rows["memory_limit"][row])
        if np.isfinite(cpu):
            limits[resources.CPU] = quantities.millis(round(cpu * 1000.0))
        if np.isfinite(memory):
            limits[resources.MEMORY] = sizing_context.quantity(resources.MEMORY, round(memory))
        return limits

    def _record(
        self,
        pod: LivePod,
        index: int,
        before: Mapping[str, quantities.Quantity],
        after: Mapping[str, quantities.Quantity],
    ) -> decisions.DecisionRecord:
        name = pod.pod.spec.containers[index].name
        return decisions.DecisionRecord(
            kind="sizing",
            subject=f"pod/{pod.key}",
            policy=limit_follow.NAME,
            outcome="; ".join(f"{name} limit {key} {value}" for key, value in after.items()),
            parameters={
                "strict": self.parameters.strict,
                "elasticity": self.parameters.elasticity,
            },
            time=self.world.now_s,
            numbers={
                **{f"{name}/{key}/before": float(value) for key, value in before.items()},
                **{f"{name}/{key}": float(value) for key, value in after.items()},
            },
        )

    def _kill(self, killed: tuple[LivePod, int]) -> None:
        pod, row = killed
        if not any(pod.workload is workload for workload in self.workloads):
            return
        index = pod.container_rows.index(row)
        key = (pod.workload.number, index)
        limit = float(self.world.containers.rows["memory_limit"][row])
        if np.isfinite(limit):
            self._killed[key] = max(self._killed[key], limit)
        world.write_limits(self.world, pod, index)

    def _release(self, pod: LivePod) -> None:
        for row in pod.container_rows:
            series = self._series.pop(int(self.world.containers.rows["stream"][row]), None)
            if series is not None:
                self._history.drop(series)
