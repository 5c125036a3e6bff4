"""Loads of nodes as a placing term sees them: lagged metrics, and pods bound since.

Counters of nodes advance with every step and are read at every scrape. A load is the difference
between two scrapes one window apart; memory is the value of the newer one. The newest scrape that
is one lag old counts. Recently bound pods, which these metrics do not include yet, are added as
assumed loads. Nodes without metrics, and resources whose usage is not simulated (disk space), are
not measured: terms use requests for them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np

from kubestow.model import resources, states
from kubestow.model.arrays import Floats
from kubestow.policies.placing import terms
from kubestow.simulation.world import (
    BOUND,
    GONE,
    NODE_READY,
    SCRAPE,
    STEPPED,
    LiveNode,
    LivePod,
    World,
)

NAMES: Final = (
    resources.CPU,
    resources.MEMORY,
    "kubestow.io/network",
    "kubestow.io/disk-io",
)
_MEMORY: Final = 1  # column of the only gauge
# From cores to millicores; the others are in the units of the scheduler already.
_UNITS: Final = np.array([1000.0, 1.0, 1.0, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class _Scrape:
    """Counters (memory: its value) of all nodes at one time, ``[nodes, resources]``."""

    time_s: float
    counters: Floats


class PlacingLoads:
    """Follows nodes and bound pods of a world."""

    def __init__(self, world: World) -> None:
        metrics = world.spec.metrics
        self._world = world
        self._lag_s, self._period_s = metrics.lag, metrics.scrape
        self._back = max(round(metrics.window / metrics.scrape), 1)
        self._kept: deque[_Scrape] = deque(
            maxlen=round(metrics.lag / metrics.scrape) + self._back + 2
        )
        self._counters = np.zeros((0, len(NAMES)))
        self._since_s = np.zeros(0)  # when each node joined or recovered
        windows_s = [0.0 if column == _MEMORY else metrics.window for column in range(len(NAMES))]
        self._assumed = terms.AssumedLoads(0, windows_s)
        self._state: states.ClusterState | None = None
        self._numbers = np.zeros(0, dtype=np.int64)
        world.on(STEPPED, self._step)
        world.on(BOUND, self._bind)
        world.on(GONE, self._forget)
        world.on(NODE_READY, self._come)

    def start(self) -> None:
        """Scrape from now on."""
        self._scrape()
        self._world.clock.every(
            self._period_s, self._scrape, first_s=self._period_s, priority=SCRAPE
        )

    def loads(self) -> terms.Loads:
        """Return the loads in the rows and columns of the scheduler's state."""
        self._grow()
        state = self._world.state
        self._follow(state)
        measured, times_s = self._measured()
        assumed = self._assumed.at(self._world.now_s, times_s)
        loads = terms.Loads(np.full(state.requested.shape, np.nan), np.zeros(state.requested.shape))
        for place, name in enumerate(NAMES):
            column = state.columns.get(name)
            if column is not None:
                loads.used[:, column] = measured[self._numbers, place]
                loads.assumed[:, column] = assumed[self._numbers, place]
        return loads

    def _follow(self, state: states.ClusterState) -> None:
        """Map the rows of the state to nodes."""
        if state is not self._state:
            by_name = self._world.by_name
            self._numbers = np.array([by_name[n].number for n in state.names], dtype=np.int64)
            self._state = state

    def _grow(self) -> None:
        missing = len(self._world.hosts) - len(self._counters)
        if missing > 0:
            self._counters = np.concatenate([self._counters, np.zeros((missing, len(NAMES)))])
            self._since_s = np.concatenate([self._since_s, np.full(missing, self._world.now_s)])
            count = len(self._counters)
            self._assumed.renumber(np.arange(count - missing, dtype=np.int64), count)

    def _step(self, step_s: float) -> None:
        self._grow()
        hosts = self._world.hosts
        self._counters[:, 0] += hosts["cpu"] * step_s
        self._counters[:, _MEMORY] = hosts["memory"]
        # No counter grows faster than the link.
        self._counters[:, 2] += np.minimum(hosts["network_wanted"], hosts["network"]) * step_s
        self._counters[:, 3] += np.minimum(hosts["disk_wanted"], hosts["disk"]) * step_s

    def _scrape(self) -> None:
        self._grow()
        self._kept.append(_Scrape(self._world.now_s, self._counters.copy()))
        self._assumed.forget(self._world.now_s, self._measured()[1])

    def _measured(self) -> tuple[Floats, Floats]:
        """Return loads by node number and their times; NaN where nothing was measured."""
        count = len(self._counters)
        values, times_s = np.full((count, len(NAMES)), np.nan), np.full(count, np.nan)
        latest_s = self._world.now_s - self._lag_s + 1e-9
        readable = [scrape for scrape in self._kept if scrape.time_s <= latest_s]
        if len(readable) <= self._back:  # not a whole window yet
            return values, times_s
        new, old = readable[-1], readable[-1 - self._back]
        there = min(len(new.counters), len(old.counters))
        # The load of a node that joined within the window would be too small.
        known = np.flatnonzero(self._since_s[:there] <= old.time_s + 1e-9)
        values[known] = (new.counters[known] - old.counters[known]) / (new.time_s - old.time_s)
        values[known, _MEMORY] = new.counters[known, _MEMORY]
        times_s[known] = new.time_s
        return values * _UNITS, times_s

    def _come(self, node: LiveNode) -> None:
        self._grow()
        self._since_s[node.number] = self._world.now_s

    def _bind(self, pod: LivePod) -> None:
        self._grow()
        if pod.node is not None:
            expected = terms.estimate_usage(pod.pod)
            amounts = [float(expected.get(name, 0)) for name in NAMES]
            self._assumed.add(pod.key, pod.node.number, amounts, self._world.now_s)

    def _forget(self, pod: LivePod) -> None:
        self._assumed.remove(pod.key)
