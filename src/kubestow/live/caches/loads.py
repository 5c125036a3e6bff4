"""Node loads in the state's layout: the last metrics, and pods that metrics do not show yet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kubestow.model import pods, resources, states
from kubestow.policies.placing import terms

STALE_S = 180.0  # older metrics are ignored (koordinator: nodeMetricExpirationSeconds 180)
GAUGES = (resources.MEMORY, resources.EPHEMERAL_STORAGE)  # read, not averaged


@dataclass(frozen=True, slots=True)
class MeasuredLoads:
    """Usage of a node, averaged over a window that ended at ``time_s`` (since the epoch)."""

    amounts: Mapping[str, float]  # in the scheduler's units: millicores, bytes
    time_s: float


class NodeLoads:
    """Keeps loads by node name, and returns them in the rows and columns of a state.

    Args:
        window_s: Averaging window of metrics, seconds; 15 s to 30 s for metrics-server.
        stale_s: Metrics older than this are ignored, seconds.
    """

    def __init__(self, window_s: float = 30.0, stale_s: float = STALE_S) -> None:
        self._window_s, self._stale_s = window_s, stale_s
        self._measured: dict[str, MeasuredLoads] = {}
        self._used = np.zeros((0, 0))
        self._times_s = np.zeros(0)
        self._assumed = terms.AssumedLoads(0, ())
        self._names: tuple[str, ...] = ()  # of the state in whose layout the arrays are
        self._before: tuple[str, ...] = ()  # of the state in whose layout assumed loads are
        self._columns: tuple[str, ...] = ()

    def measure(self, measured: Mapping[str, MeasuredLoads]) -> None:
        """Store the newest metrics of some nodes; other nodes keep theirs."""
        self._measured.update(measured)
        self._names = ()  # the next request rebuilds the arrays

    def place(self, uid: str, pod: pods.Pod, state: states.ClusterState, time_s: float) -> None:
        """Count a pod on its node until metrics show it."""
        self._follow(state)
        row = state.rows.get(pod.node_name)
        if row is not None:
            amounts = state.vector(terms.estimate_usage(pod)).astype(np.float64)
            self._assumed.add(uid, row, amounts, time_s)

    def remove(self, uid: str) -> None:
        """Remove a pod."""
        self._assumed.remove(uid)

    def loads(self, state: states.ClusterState, time_s: float) -> terms.Loads:
        """Return the loads of all nodes of a state."""
        self._follow(state)
        fresh_s = np.where(time_s - self._times_s <= self._stale_s, self._times_s, math.nan)
        used = np.where(np.isnan(fresh_s)[:, None], math.nan, self._used)
        return terms.Loads(used, self._assumed.at(time_s, fresh_s))

    def oldest_s(self, time_s: float) -> float:
        """Return the age of the oldest metrics, seconds; NaN if there are none."""
        times = [measured.time_s for measured in self._measured.values()]
        return time_s - min(times) if times else math.nan

    def forget(self, state: states.ClusterState, time_s: float) -> None:
        """Drop assumed pods that metrics now include, and metrics of removed nodes."""
        self._follow(state)
        self._assumed.forget(time_s, self._times_s)
        for name in self._measured.keys() - state.rows.keys():
            del self._measured[name]

    def _follow(self, state: states.ClusterState) -> None:
        if self._names is state.names:
            return
        columns = tuple(state.columns)
        if columns != self._columns:  # other resources: assumed loads start from 0
            windows = [0.0 if name in GAUGES else self._window_s for name in columns]
            self._assumed = terms.AssumedLoads(len(state), windows)
        elif self._before != state.names:
            moved = np.array([state.rows.get(name, -1) for name in self._before], dtype=np.int64)
            self._assumed.renumber(moved, len(state))
        self._columns, self._before, self._names = columns, state.names, state.names
        self._lay_out(state)

    def _lay_out(self, state: states.ClusterState) -> None:
        self._used = np.full((len(state), len(state.columns)), math.nan)
        self._times_s = np.full(len(state), math.nan)
        for name, measured in self._measured.items():
            row = state.rows.get(name)
            if row is None:
                continue
            self._times_s[row] = measured.time_s
            for resource, amount in measured.amounts.items():
                column = state.columns.get(resource)
                if column is not None:
                    self._used[row, column] = amount
