"""The time line of a run: rows per workload and per node, and sums that need every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kubestow.model import resources
from kubestow.simulation import balances, worlds
from kubestow.simulation.actors import NodePhase
from kubestow.simulation.units import NONE
from kubestow.simulation.worlds import World

Floats = NDArray[np.float64]
# Columns of what a scaler that looks ahead expects: in pods that use all of their request.
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
    """Looks at the world after every step and writes down what figures need later.

    Attributes:
        used_cpu: Core-seconds by workload.
        used_memory: Byte-seconds by workload.
        workload_columns: Columns of the time line of workloads, one array per look.
        node_columns: Columns of the time line of nodes, one array per look.
        measures: Measures of balance, one value per look at the nodes.
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
    _looked_s: float = 0.0

    def start(self) -> None:
        """Look at the rhythm the scenario asks for."""
        world, recording = self.world, self.world.spec.recording
        self._before = {name: world.services[name].copy() for name in _TOTALS}
        self._cpu_before = self.used_cpu.copy()
        self._counts_before = world.histograms.sum(axis=1)
        world.on(worlds.STEPPED, self._add_use)
        self._repeat(recording.workloads, self._look_at_workloads)
        self._repeat(recording.nodes, self._look_at_nodes)

    def _repeat(self, period_s: float, look: Callable[[], None]) -> None:
        self.world.clock.every(period_s, look, first_s=period_s, priority=worlds.SCRAPE)

    def _add_use(self, step_s: float) -> None:
        """Add a step, while containers that ended with it are still in the arrays."""
        rows = self.world.units.rows[: self.world.units.top]
        used = rows["used"]
        owners = rows["workload"][used]
        count = len(self.world.workloads)
        self.used_cpu += np.bincount(owners, rows["cpu"][used], count) * step_s
        self.used_memory += np.bincount(owners, rows["memory"][used], count) * step_s

    def _look_at_workloads(self) -> None:
        world = self.world
        now_s = world.now_s
        time_s = now_s - self._looked_s
        self._looked_s = now_s
        found = world.workloads
        change = {name: world.services[name] - self._before[name] for name in _TOTALS}
        self._before = {name: world.services[name].copy() for name in _TOTALS}
        cpu = (self.used_cpu - self._cpu_before) / time_s
        self._cpu_before = self.used_cpu.copy()
        rows = world.units.rows[: world.units.top]
        used = rows["used"]
        memory = np.bincount(rows["workload"][used], rows["memory"][used], len(found))
        at = np.array([workload.service for workload in found], dtype=np.int64)
        served = self._of_service(change["all_served"], at)
        # Those who gave up have their time among the response times, so they are counted too.
        counts = world.histograms.sum(axis=1)
        answered = self._of_service(counts - self._counts_before, at)
        self._counts_before = counts
        with np.errstate(invalid="ignore", divide="ignore"):
            mean_s = self._of_service(change["all_response"], at) / answered
        self._append(
            self.workload_columns,
            time_s=np.full(len(found), now_s),
            workload=np.arange(len(found)),
            replicas=np.array([w.replicas for w in found]),
            existing=np.array([w.existing.value for w in found]),
            ready=np.array([w.ready.value for w in found]),
            pending=np.array([w.pending.value for w in found]),
            requested_cpu=np.array([w.reserved_cpu_m.value for w in found]) / 1000.0,
            requested_memory=np.array([w.reserved_memory.value for w in found]),
            used_cpu=cpu,
            used_memory=memory,
            demand=self._of_service(change["all_offered"], at) / time_s,
            served=served / time_s,
            dropped=self._of_service(change["all_dropped"], at) / time_s,
            late=self._of_service(change["all_late"], at) / time_s,
            queue=self._of_service(world.services["queue"], at),
            response_s=mean_s,
            **{
                column: np.array([w.outlook.get(name, np.nan) for w in found])
                for column, name in _OUTLOOK.items()
            },
        )

    @staticmethod
    def _of_service(values: Floats, rows: NDArray[np.int64]) -> Floats:
        """Return values of services by workload; not a number where there is no service."""
        found = np.full(len(rows), np.nan)
        found[rows != NONE] = values[rows[rows != NONE]]
        return found

    def _look_at_nodes(self) -> None:
        world = self.world
        live = [n for n in world.nodes if n.phase in (NodePhase.READY, NodePhase.FAILED)]
        numbers = np.array([node.number for node in live], dtype=np.int64)
        at = np.array([world.state.rows[node.name] for node in live], dtype=np.int64)
        state, hosts = world.state, world.hosts[numbers]
        cpu, memory = state.columns[resources.CPU], state.columns[resources.MEMORY]
        seen = balances.NodeTable(
            cores=hosts["cores"].copy(),
            room=hosts["room"].copy(),
            allocatable_cpu=state.allocatable[at, cpu] / 1000.0,
            allocatable_memory=state.allocatable[at, memory].astype(np.float64),
            requested_cpu=state.requested[at, cpu] / 1000.0,
            requested_memory=state.requested[at, memory].astype(np.float64),
            used_cpu=hosts["cpu"].copy(),
            used_memory=hosts["memory"].copy(),
        )
        for name, value in balances.measure(seen).items():
            self.measures.setdefault(name, []).append(value)
        self._append(
            self.node_columns,
            time_s=np.full(len(live), world.now_s),
            node=numbers,
            requested_cpu=seen.requested_cpu,
            requested_memory=seen.requested_memory,
            used_cpu=seen.used_cpu,
            used_memory=seen.used_memory,
            cores=seen.cores,
            room=seen.room,
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
