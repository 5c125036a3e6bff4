"""A book of loads that metrics do not show yet: pods placed a moment ago.

Metrics are means over a window and some time old, so that in a burst every pod sees the same empty
node (scheduler-plugins #797, koordinator #1908). If metrics that end at ``measured_s`` are means
over ``w`` seconds, a pod placed at ``t`` shows in them with the share
``clip((measured_s - t) / w, 0, 1)`` of what it uses; the rest is assumed here. So measured and
assumed load add up to the pod's use from its first moment on, if the estimate is right. A gauge
such as memory has ``w = 0``: it shows all of a pod that was there when it was read.

An entry ends with its pod, when metrics show all of it, or after ``expiry_s``.
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
_FIRST_ROOM = 64


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
    """Assumed loads of pods, by node and resource.

    Args:
        nodes: Number of nodes.
        windows_s: Over how long metrics are averaged, per resource; 0 for a gauge.
        expiry_s: How long an entry lives at most.
    """

    def __init__(self, nodes: int, windows_s: Sequence[float], expiry_s: float = EXPIRY_S) -> None:
        self._nodes = nodes
        self._windows_s = np.array(windows_s, dtype=np.float64)
        self._expiry_s = expiry_s
        self._places: dict[str, int] = {}
        self._pods: list[str] = []
        self._rows = np.zeros(_FIRST_ROOM, dtype=np.int64)
        self._times_s = np.zeros(_FIRST_ROOM)
        self._amounts = np.zeros((_FIRST_ROOM, len(self._windows_s)))

    def __len__(self) -> int:
        return len(self._pods)

    def __contains__(self, pod: object) -> bool:
        return pod in self._places

    def add(self, pod: str, row: int, amounts: Sequence[float] | Floats, time_s: float) -> None:
        """Take up a pod; one that is in the book already is moved.

        Args:
            pod: What the pod is called.
            row: Its node.
            amounts: What it is expected to use, per resource.
            time_s: When it was placed.

        Raises:
            InputError: If there is no such node, or amounts are not of this book.
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
            self._make_room()
        self._rows[place], self._times_s[place] = row, time_s
        self._amounts[place] = given

    def _make_room(self) -> None:
        room = len(self._rows)
        if len(self._pods) > room:
            self._rows = np.concatenate([self._rows, np.zeros(room, dtype=np.int64)])
            self._times_s = np.concatenate([self._times_s, np.zeros(room)])
            self._amounts = np.concatenate([self._amounts, np.zeros_like(self._amounts)])

    def remove(self, pod: str) -> None:
        """Forget a pod, if it is in the book."""
        place = self._places.pop(pod, None)
        if place is None:
            return
        last = self._pods.pop()
        if last != pod:  # the last one moves into its place
            end = len(self._pods)
            self._pods[place] = last
            self._places[last] = place
            self._rows[place], self._times_s[place] = self._rows[end], self._times_s[end]
            self._amounts[place] = self._amounts[end]

    def at(self, time_s: float, measured_s: float | Floats) -> Floats:
        """Return what is to be added to metrics, ``[nodes, resources]``.

        Args:
            time_s: Now.
            measured_s: When the metrics end that it is added to, one time or one per node; NaN
                where there are none.
        """
        found = np.zeros((self._nodes, len(self._windows_s)))
        if self._pods:
            rows = self._rows[: len(self._pods)]
            left = self._left(time_s, measured_s) * self._amounts[: len(self._pods)]
            for column in range(found.shape[1]):
                found[:, column] = np.bincount(rows, weights=left[:, column], minlength=self._nodes)
        return found

    def _left(self, time_s: float, measured_s: float | Floats) -> Floats:
        """Return the share of every entry that metrics do not show, ``[entries, resources]``."""
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
        """Drop entries that count nothing any more; later answers stay the same."""
        if self._pods:
            done = ~(self._left(time_s, measured_s) > 0.0).any(axis=1)
            for pod in [self._pods[place] for place in np.flatnonzero(done)]:
                self.remove(pod)

    def renumber(self, rows: Ints, nodes: int) -> None:
        """Follow nodes that have come or gone.

        Args:
            rows: The new row of every old one; -1 for nodes that are gone, with what is on them.
            nodes: How many there are now.
        """
        count = len(self._pods)
        moved = np.asarray(rows, dtype=np.int64)[self._rows[:count]]
        self._rows[:count] = moved
        self._nodes = nodes
        for pod in [self._pods[place] for place in np.flatnonzero(moved < 0)]:
            self.remove(pod)

    def as_json(self) -> dict[str, Any]:
        """Return the book as plain values."""
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
    """Read a book that was written by ``as_json``.

    Raises:
        InputError: If it is no such book.
    """
    found = decoding.read_structure(_Document, document)
    book = AssumedLoads(found.nodes, found.windows_s, found.expiry_s)
    for entry in found.entries:
        book.add(entry.pod, entry.row, entry.amounts, entry.time_s)
    return book
