"""Loads of nodes in the state's layout: what metrics said last, and what they cannot show yet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kubestow.model import pods, resources, states
from kubestow.policies.placing import terms

STALE_S = 180.0  # metrics older than this are none (koordinator: nodeMetricExpirationSeconds 180)
GAUGES = (resources.MEMORY, resources.EPHEMERAL_STORAGE)  # read, not averaged


@dataclass(frozen=True, slots=True)
class MeasuredLoads:
    """What a node used, averaged over a window that ended at a time (seconds since the epoch)."""

    amounts: Mapping[str, float]  # in the scheduler's units: millicores, bytes
    time_s: float


class NodeLoads:
    """Keeps loads by node name, and gives them in the rows and columns of a state.

    Args:
        window_s: Over how long metrics are averaged; metrics-server takes about 15 s to 30 s.
        stale_s: Metrics older than this count for nothing.
    """

    def __init__(self, window_s: float = 30.0, stale_s: float = STALE_S) -> None:
        self._window_s, self._stale_s = window_s, stale_s
        self._measured: dict[str, MeasuredLoads] = {}
        self._used = np.zeros((0, 0))
        self._times_s = np.zeros(0)
        self._book = terms.AssumedLoads(0, ())
        self._names: tuple[str, ...] = ()  # of the state that is laid out
        self._before: tuple[str, ...] = ()  # of the state that what is assumed is in
        self._columns: tuple[str, ...] = ()

    def measure(self, found: Mapping[str, MeasuredLoads]) -> None:
        """Take metrics for the newest of the nodes they name; others keep what they have."""
        self._measured.update(found)
        self._names = ()  # lays out anew with the next question

    def place(self, uid: str, pod: pods.Pod, state: states.ClusterState, time_s: float) -> None:
        """Count a pod on its node until metrics show it."""
        self._follow(state)
        row = state.rows.get(pod.node_name)
        if row is not None:
            amounts = state.vector(terms.estimate_usage(pod)).astype(np.float64)
            self._book.add(uid, row, amounts, time_s)

    def remove(self, uid: str) -> None:
        """Forget a pod."""
        self._book.remove(uid)

    def loads(self, state: states.ClusterState, time_s: float) -> terms.Loads:
        """Return the loads of all nodes of a state."""
        self._follow(state)
        fresh_s = np.where(time_s - self._times_s <= self._stale_s, self._times_s, math.nan)
        used = np.where(np.isnan(fresh_s)[:, None], math.nan, self._used)
        return terms.Loads(used, self._book.at(time_s, fresh_s))

    def oldest_s(self, time_s: float) -> float:
        """Return the age of the oldest metrics in use; NaN if there are none."""
        times = [found.time_s for found in self._measured.values()]
        return time_s - min(times) if times else math.nan

    def forget(self, state: states.ClusterState, time_s: float) -> None:
        """Drop pods that metrics show by now, and metrics of nodes that are gone."""
        self._follow(state)
        self._book.forget(time_s, self._times_s)
        for name in self._measured.keys() - state.rows.keys():
            del self._measured[name]

    def _follow(self, state: states.ClusterState) -> None:
        if self._names is state.names:
            return
        columns = tuple(state.columns)
        if columns != self._columns:  # other resources: what is assumed starts anew
            windows = [0.0 if name in GAUGES else self._window_s for name in columns]
            self._book = terms.AssumedLoads(len(state), windows)
        elif self._before != state.names:
            moved = np.array([state.rows.get(name, -1) for name in self._before], dtype=np.int64)
            self._book.renumber(moved, len(state))
        self._columns, self._before, self._names = columns, state.names, state.names
        self._lay_out(state)

    def _lay_out(self, state: states.ClusterState) -> None:
        self._used = np.full((len(state), len(state.columns)), math.nan)
        self._times_s = np.full(len(state), math.nan)
        for name, found in self._measured.items():
            row = state.rows.get(name)
            if row is None:
                continue
            self._times_s[row] = found.time_s
            for resource, amount in found.amounts.items():
                column = state.columns.get(resource)
                if column is not None:
                    self._used[row, column] = amount
