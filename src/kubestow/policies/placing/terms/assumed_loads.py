"""Assumed loads of recently placed pods that metrics do not cover yet.

Metrics are averages over a window and lag behind, so in a burst every pod sees the same empty
node (scheduler-plugins #797, koordinator #1908). If metrics that end at ``measured_s`` are means
over ``w`` seconds, a pod placed at ``t`` contributes to them the share
``clip((measured_s - t) / w, 0, 1)`` of its usage; the rest is assumed here. So measured and assumed
load add up to the pod's usage from the start, if the estimate is right. A gauge such as memory has
``w = 0``: it covers all of a pod that existed when it was sampled.

An entry is dropped with its pod, when metrics cover it fully, or after ``expiry_s``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from kubestow.model import decoding, errors
from kubestow.model.arrays import Floats, Ints
from kubestow.model.decoding import ValueBounds

# Trimaran's longest staleness of metrics (cacheCleanupIntervalMinutes of pkg/trimaran/handler.go).
EXPIRY_S = 300.0
_FIRST_CAPACITY = 64


@dataclass(frozen=True, slots=True)
class _Entry:
    pod: str
    row: Annotated[int, ValueBounds(least=0)]
    amounts: tuple[Annotated[float, ValueBounds(least=0)], ...]
    time_s: float


@dataclass(frozen=True, slots=True)
class _Document:
    nodes: Annotated[int, ValueBounds(least=0)]
    windows_s: tuple[Annotated[float, ValueBounds(least=0)], ...]
    expiry_s: Annotated[float, ValueBounds(above=0)]
    entries: tuple[_Entry, ...] = ()


class AssumedLoads:
    """Table of assumed loads of pods, by node and resource.

    Args:
        nodes: Number of nodes.
        windows_s: Averaging window of the metrics in seconds, per resource; 0 for a gauge.
        expiry_s: Maximum lifetime of an entry in seconds.
    """

    def __init__(self, nodes: int, windows_s: Sequence[float], expiry_s: float = EXPIRY_S) -> None:
        self._nodes = nodes
        self._windows_s = np.array(windows_s, dtype=np.float64)
        self._expiry_s = expiry_s
        self._places: dict[str, int] = {}
        self._pods: list[str] = []
        self._rows = np.zeros(_FIRST_CAPACITY, dtype=np.int64)
        self._times_s = np.zeros(_FIRST_CAPACITY)
        self._amounts = np.zeros((_FIRST_CAPACITY, len(self._windows_s)))

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, pod: object) -> bool:
        return pod in self._places

    def add(self, pod: str, row: int, amounts: Sequence[float] | Floats, time_s: float) -> None:
        """Add a pod, or update it if it has an entry already.

        Args:
            pod: Key of the pod.
            row: Its node.
            amounts: Its expected usage, per resource.
            time_s: When it was placed.

        Raises:
            InputError: If there is no such node, or the amounts do not match the resources.
        """
        given = np.asarray(amounts, dtype=np.float64)
        if not 0 <= row < self._nodes:
            raise errors.InputError(f"assumed load of {pod}", f"row {row}: no such node")
        if given.shape != self._windows_s.shape or not (np.isfinite(given) & (given >= 0)).all():
            raise errors.InputError(
                f"assumed load of {pod}",
                f"{given.tolist()}: must be {len(self._windows_s)} finite numbers >= 0",
            )
        place = self._places.get(pod)
        if place is None:
            place = self._places[pod] = len(self._pods)
            self._pods.append(pod)
            self._grow()
        self._rows[place], self._times_s[place] = row, time_s
        self._amounts[place] = given

    def _grow(self) -> None:
        capacity = len(self._rows)
        if len(self._pods) > capacity:
            self._rows = np.concatenate([self._rows, np.zeros(capacity, dtype=np.int64)])
            self._times_s = np.concatenate([self._times_s, np.zeros(capacity)])
            self._amounts = np.concatenate([self._amounts, np.zeros_like(self._amounts)])

    def remove(self, pod: str) -> None:
        """Remove a pod, if it has an entry."""
        place = self._places.pop(pod, None)
        if place is None:
            return
        last = self._pods.pop()
        if last != pod:  # the last entry moves to the free index
            end = len(self._pods)
            self._pods[place] = last
            self._places[last] = place
            self._rows[place], self._times_s[place] = self._rows[end], self._times_s[end]
            self._amounts[place] = self._amounts[end]

    def at(self, time_s: float, measured_s: float | Floats) -> Floats:
        """Return the load to add to metrics, ``[nodes, resources]``.

        Args:
            time_s: Current time.
            measured_s: End of the metrics it is added to, one time or one per node; NaN where there
                are none.
        """
        loads = np.zeros((self._nodes, len(self._windows_s)))
        if self._pods:
            rows = self._rows[: len(self._pods)]
            left = self._left(time_s, measured_s) * self._amounts[: len(self._pods)]
            for column in range(loads.shape[1]):
                loads[:, column] = np.bincount(rows, weights=left[:, column], minlength=self._nodes)
        return loads

    def _left(self, time_s: float, measured_s: float | Floats) -> Floats:
        """Return the share of each entry that metrics do not cover, ``[entries, resources]``."""
        count = len(self._pods)
        times_s = self._times_s[:count]
        ends_s = np.broadcast_to(np.asarray(measured_s, dtype=np.float64), self._nodes)
        since_s = (ends_s[self._rows[:count]] - times_s)[:, None]
        since_s = np.where(np.isnan(since_s), 0.0, since_s)
        gauge = self._windows_s == 0.0
        averaged = np.clip(since_s / np.where(gauge, 1.0, self._windows_s), 0.0, 1.0)
        left = 1.0 - np.where(gauge, (since_s > 0.0).astype(np.float64), averaged)
        living: Floats = (time_s - times_s < self._expiry_s).astype(np.float64)
        return left * living[:, None]

    def forget(self, time_s: float, measured_s: float | Floats) -> None:
        """Drop entries that no longer contribute; later results stay the same."""
        if self._pods:
            done = ~(self._left(time_s, measured_s) > 0.0).any(axis=1)
            for pod in [self._pods[place] for place in np.flatnonzero(done)]:
                self.remove(pod)

    def renumber(self, rows: Ints, nodes: int) -> None:
        """Renumber rows after nodes were added or removed.

        Args:
            rows: The new row of each old one; -1 for removed nodes, whose entries are dropped.
            nodes: New number of nodes.
        """
        count = len(self._pods)
        moved = np.asarray(rows, dtype=np.int64)[self._rows[:count]]
        self._rows[:count] = moved
        self._nodes = nodes
        for pod in [self._pods[place] for place in np.flatnonzero(moved < 0)]:
            self.remove(pod)

    def as_json(self) -> dict[str, Any]:
        """Return the table as plain values."""
        entries = tuple(
            _Entry(
                pod,
                int(self._rows[place]),
                tuple(self._amounts[place].tolist()),
                float(self._times_s[place]),
            )
            for place, pod in enumerate(self._pods)
        )
        windows_s = tuple(self._windows_s.tolist())
        written: dict[str, Any] = decoding.write_structure(
            _Document(self._nodes, windows_s, self._expiry_s, entries)
        )
        return written


def read(document: decoding.Field) -> AssumedLoads:
    """Read a table that was written by ``as_json``.

    Raises:
        InputError: If the document is not such a table.
    """
    content = decoding.read_structure(_Document, document)
    table = AssumedLoads(content.nodes, content.windows_s, content.expiry_s)
    for entry in content.entries:
        table.add(entry.pod, entry.row, entry.amounts, entry.time_s)
    return table
