"""Records the timeline of a run: rows per workload and per node, and sums over all steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kubestow.model import resources
from kubestow.model.arrays import Floats
from kubestow.simulation.usage import NONE
from kubestow.simulation.world import SCRAPE, STEPPED, NodePhase, World

NEAR_EMPTY = 0.1  # requested share below which a node could be removed


@dataclass(frozen=True, slots=True, eq=False)
class NodeTable:
    """Capacity, requests and usage of nodes, in cores and bytes."""

    cores: Floats
    room: Floats
    allocatable_cpu: Floats
    allocatable_memory: Floats
    requested_cpu: Floats
    requested_memory: Floats
    used_cpu: Floats
    used_memory: Floats


def measure(nodes: NodeTable) -> dict[str, float]:
    """Return the balance measures at one time.

    ``imbalance_*`` is the standard deviation of utilisation over nodes, ``jain_*`` Jain's index (1:
    all equal, 1/n: one node has everything), ``requested_deviation_*`` the standard deviation of
    requests; ``fragmentation`` the share of free capacity that is stranded because the other
    resource of the same node is scarcer; ``near_empty`` the nodes with less than a tenth requested
    in both; ``unused_*`` what is requested and not used.
    """
    if not len(nodes.cores):
        return {}
    cpu, memory = nodes.used_cpu / nodes.cores, nodes.used_memory / nodes.room
    asked_cpu = nodes.requested_cpu / nodes.allocatable_cpu
    asked_memory = nodes.requested_memory / nodes.allocatable_memory
    return {
        "imbalance_cpu": float(cpu.std()),
        "imbalance_memory": float(memory.std()),
        "jain_cpu": jain(cpu),
        "jain_memory": jain(memory),
        "requested_deviation_cpu": float(asked_cpu.std()),
        "requested_deviation_memory": float(asked_memory.std()),
        "utilization_cpu": float(nodes.used_cpu.sum() / nodes.cores.sum()),
        "utilization_memory": float(nodes.used_memory.sum() / nodes.room.sum()),
        "requested_cpu": float(nodes.requested_cpu.sum() / nodes.allocatable_cpu.sum()),
        "requested_memory": float(nodes.requested_memory.sum() / nodes.allocatable_memory.sum()),
        "fragmentation": fragmentation(asked_cpu, asked_memory),
        "near_empty": float(np.count_nonzero(np.maximum(asked_cpu, asked_memory) < NEAR_EMPTY)),
        "unused_cpu": float(np.maximum(nodes.requested_cpu - nodes.used_cpu, 0.0).sum()),
        "unused_memory": float(np.maximum(nodes.requested_memory - nodes.used_memory, 0.0).sum()),
    }


def jain(shares: Floats) -> float:
    """Return Jain's fairness index; 1 where nothing is used at all.

    >>> jain(np.array([1.0, 0.0])), jain(np.array([0.3, 0.3]))
    (0.5, 1.0)
    """
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (len(shares) * squares) if squares > 0.0 else 1.0


def fragmentation(asked_cpu: Floats, asked_memory: Floats) -> float:
    """Return the share of free capacity that the scarcer resource of its node strands.

    >>> fragmentation(np.array([0.5]), np.array([1.0]))  # half the cores free, no memory
    1.0
    """
    free = np.clip(1.0 - np.stack([asked_cpu, asked_memory]), 0.0, 1.0)
    most, least = free.max(axis=0).sum(), free.min(axis=0).sum()
    return float((most - least) / most) if most > 0.0 else 0.0


# Columns of a forecasting scaler, in pods that use all of their request.
_OUTLOOK = {
    "load": "load",
    "forecast": "mean",
    "forecast_upper": "upper",
    "forecast_horizon_s": "horizon_s",
    "gate": "gate",
}
_TOTALS = ("all_offered", "all_served", "all_dropped", "all_late", "all_response")


@dataclass(slots=True, eq=False)
class Recorder:
    """Records the world after every step and at fixed intervals.

    Attributes:
        used_cpu: Core-seconds by workload.
        used_memory: Byte-seconds by workload.
        workload_columns: Columns of the timeline of workloads, one array per sample.
        node_columns: Columns of the timeline of nodes, one array per sample.
        measures: Balance measures, one value per sample of the nodes.
    """

    world: World
    used_cpu: Floats
    used_memory: Floats
    workload_columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    node_columns: dict[str, list[NDArray[Any]]] = field(default_factory=dict)
    measures: dict[str, list[float]] = field(default_factory=dict)
    periods: float = 0.0
    throttled: float = 0.0
    _before: dict[str, Floats] = field(default_factory=dict)
    _cpu_before: Floats = field(default_factory=lambda: np.zeros(0))
    _counts_before: Floats = field(default_factory=lambda: np.zeros(0))
    _recorded_s: float = 0.0

    def start(self) -> None:
        """Record at the intervals of the scenario."""
        world, recording = self.world, self.world.spec.recording
        self._before = {name: world.services[name].copy() for name in _TOTALS}
        self._cpu_before = self.used_cpu.copy()
        self._counts_before = world.histograms.sum(axis=1)
        world.on(STEPPED, self._add_use)
        self._repeat(recording.workloads, self._record_workloads)
        self._repeat(recording.nodes, self._record_nodes)

    def _repeat(self, period_s: float, record: Callable[[], None]) -> None:
        self.world.clock.every(period_s, record, first_s=period_s, priority=SCRAPE)

    def _add_use(self, step_s: float) -> None:
        """Add a step, while containers that ended with it are still in the arrays."""
        rows = self.world.containers.rows[: self.world.containers.top]
        used = rows["used"]
        owners = rows["workload"][used]
        count = len(self.world.workloads)
        self.used_cpu += np.bincount(owners, rows["cpu"][used], count) * step_s
        self.used_memory += np.bincount(owners, rows["memory"][used], count) * step_s

    def _record_workloads(self) -> None:
        world = self.world
        now_s = world.now_s
        time_s = now_s - self._recorded_s
        self._recorded_s = now_s
        workloads = world.workloads
        change = {name: world.services[name] - self._before[name] for name in _TOTALS}
        self._before = {name: world.services[name].copy() for name in _TOTALS}
        cpu = (self.used_cpu - self._cpu_before) / time_s
        self._cpu_before = self.used_cpu.copy()
        rows = world.containers.rows[: world.containers.top]
        used = rows["used"]
        memory = np.bincount(rows["workload"][used], rows["memory"][used], len(workloads))
        at = np.array([workload.service for workload in workloads], dtype=np.int64)
        served = self._of_service(change["all_served"], at)
        # Those who gave up have their time among the response times, so they are counted too.
        counts = world.histograms.sum(axis=1)
        answered = self._of_service(counts - self._counts_before, at)
        self._counts_before = counts
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_s = self._of_service(change["all_response"], at) / answered
        self._append(
            self.workload_columns,
            time_s=np.full(len(workloads), now_s),
            workload=np.arange(len(workloads)),
            replicas=np.array([w.replicas for w in workloads]),
            existing=np.array([w.existing.value for w in workloads]),
            ready=np.array([w.ready.value for w in workloads]),
            pending=np.array([w.pending.value for w in workloads]),
            requested_cpu=np.array([w.reserved_cpu_m.value for w in workloads]) / 1000.0,
            requested_memory=np.array([w.reserved_memory.value for w in workloads]),
            used_cpu=cpu,
            used_memory=memory,
            demand=self._of_service(change["all_offered"], at) / time_s,
            served=served / time_s,
            dropped=self._of_service(change["all_dropped"], at) / time_s,
            late=self._of_service(change["all_late"], at) / time_s,
            queue=self._of_service(world.services["queue"], at),
            response_s=mean_s,
            **{
                column: np.array([w.outlook.get(name, np.nan) for w in workloads])
                for column, name in _OUTLOOK.items()
            },
        )

    @staticmethod
    def _of_service(values: Floats, rows: NDArray[np.int64]) -> Floats:
        """Return values of services by workload; not a number where there is no service."""
        by_workload = np.full(len(rows), np.nan)
        by_workload[rows != NONE] = values[rows[rows != NONE]]
        return by_workload

    def _record_nodes(self) -> None:
        world = self.world
        live = [n for n in world.nodes if n.phase in (NodePhase.READY, NodePhase.FAILED)]
        numbers = np.array([node.number for node in live], dtype=np.int64)
        at = np.array([world.state.rows[node.name] for node in live], dtype=np.int64)
        state, hosts = world.state, world.hosts[numbers]
        cpu, memory = state.columns[resources.CPU], state.columns[resources.MEMORY]
        table = NodeTable(
            cores=hosts["cores"].copy(),
            room=hosts["room"].copy(),
            allocatable_cpu=state.allocatable[at, cpu] / 1000.0,
            allocatable_memory=state.allocatable[at, memory].astype(np.float64),
            requested_cpu=state.requested[at, cpu] / 1000.0,
            requested_memory=state.requested[at, memory].astype(np.float64),
            used_cpu=hosts["cpu"].copy(),
            used_memory=hosts["memory"].copy(),
        )
        for name, value in measure(table).items():
            self.measures.setdefault(name, []).append(value)
        self._append(
            self.node_columns,
            time_s=np.full(len(live), world.now_s),
            node=numbers,
            requested_cpu=table.requested_cpu,
            requested_memory=table.requested_memory,
            used_cpu=table.used_cpu,
            used_memory=table.used_memory,
            cores=table.cores,
            room=table.room,
            pods=np.array([len(node.pods) for node in live]),
            held=np.array([node.held for node in live]),
        )

    @staticmethod
    def _append(columns: dict[str, list[NDArray[Any]]], **values: NDArray[Any]) -> None:
        for name, value in values.items():
            columns.setdefault(name, []).append(value)


def make(world: World) -> Recorder:
    """Return a recorder that has seen nothing yet."""
    count = len(world.workloads)
    return Recorder(world, np.zeros(count), np.zeros(count))
