"""The metrics pipeline: controllers see samples that are scraped periodically, with a lag.

Counters and memory are copied at every scrape. A rate is the difference between two scrapes, one
window apart, so a new or restarted container has none until it has been scraped twice. Controllers
read the newest scrape that is at least one lag old; samples may be missing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kubestow.model.arrays import Bools, Floats
from kubestow.policies.compiling import compiled
from kubestow.simulation import kernel, world
from kubestow.simulation.usage import RecordArray
from kubestow.simulation.world import World


@dataclass(frozen=True, slots=True, eq=False)
class Scrape:
    """A copy of all counters at one time; rows are those of the containers."""

    time_s: float
    number: int
    stream: NDArray[np.int64]  # identifies containers that use the same row one after another
    since_s: Floats
    cpu_total: Floats
    memory: Floats
    requests: Floats  # per service, since the start
    node_cpu: Floats
    node_memory: Floats


@dataclass(frozen=True, slots=True, eq=False)
class ScrapedSamples:
    """Usage of some containers.

    Attributes:
        time_s: Time of the samples.
        window_s: Window of the CPU rate.
        cpu: Cores; undefined without a sample.
        memory: Working set in bytes.
        present: Whether there is a sample.
    """

    time_s: float
    window_s: float
    cpu: Floats
    memory: Floats
    present: Bools


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Samples of all containers at one scrape, by row."""

    number: int
    time_s: float
    window_s: float
    stream: NDArray[np.int64]
    cpu: Floats
    memory: Floats
    present: Bools


@compiled
def _lost(streams: NDArray[np.int64], salt: int, number: int, share: float) -> Bools:
    """Return whose samples of a scrape are missing."""
    lost = np.zeros(len(streams), dtype=np.bool_)
    for row in range(len(streams)):
        lost[row] = kernel.uniform(streams[row] ^ salt, number) < share
    return lost


class Observer:
    """The metrics pipeline."""

    def __init__(self, world: World) -> None:
        self._world = world
        metrics = world.spec.metrics
        self._lag_s, self._missing = metrics.lag, metrics.missing
        self._back = max(round(metrics.window / metrics.scrape), 1)
        ages = round(metrics.lag / metrics.scrape)
        self._kept: deque[Scrape] = deque(maxlen=ages + self._back + 2)
        self._scrapes = 0
        self._stream = world.stream("missing samples")
        self._period_s = metrics.scrape
        self._view: View | None = None

    def start(self) -> None:
        """Scrape from now on."""
        self._scrape()
        self._world.clock.every(
            self._period_s, self._scrape, first_s=self._period_s, priority=world.SCRAPE
        )

    def _scrape(self) -> None:
        world = self._world
        rows: RecordArray = world.containers.rows[: world.containers.top]
        used = rows["used"] & (rows["running_from"] <= world.now_s)
        self._kept.append(
            Scrape(
                time_s=world.now_s,
                number=self._scrapes,
                stream=np.where(used, rows["stream"], -1),
                since_s=rows["since_s"].copy(),
                cpu_total=rows["cpu_total"].copy(),
                memory=rows["memory"].copy(),
                requests=world.services["all_offered"].copy(),
                node_cpu=world.hosts["cpu"].copy(),
                node_memory=world.hosts["memory"].copy(),
            )
        )
        self._scrapes += 1

    def _pair(self) -> tuple[Scrape, Scrape] | None:
        """Return the newest readable scrape, and the one a window before it."""
        latest_s = self._world.now_s - self._lag_s + 1e-9
        readable = [scrape for scrape in self._kept if scrape.time_s <= latest_s]
        if not readable:
            return None
        return readable[-1], readable[max(len(readable) - 1 - self._back, 0)]

    def read(
        self,
        container_rows: Sequence[int] | NDArray[np.int64],
        streams: NDArray[np.int64] | None = None,
    ) -> ScrapedSamples:
        """Return the newest samples of some containers.

        Args:
            container_rows: Their rows.
            streams: Their streams, where the caller knows them.
        """
        rows = np.asarray(container_rows, dtype=np.int64)
        view = self._current_view()
        if view is None or not len(view.stream):
            nothing = np.zeros(len(rows))
            return ScrapedSamples(0.0, 0.0, nothing, nothing, np.zeros(len(rows), dtype=np.bool_))
        if streams is None:
            streams = self.streams(rows)
        at = rows
        if len(rows) and rows.max() >= len(view.stream):  # some came after the scrape
            at = np.where(rows < len(view.stream), rows, 0)
        # A row may belong to another container since it was scraped; a row that did not exist yet
        # is read as row 0, whose stream is different.
        present = view.present[at] & (view.stream[at] == streams)
        return ScrapedSamples(view.time_s, view.window_s, view.cpu[at], view.memory[at], present)

    def streams(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the streams, which identify containers."""
        streams: NDArray[np.int64] = self._world.containers.rows["stream"][rows]
        return streams

    def _current_view(self) -> View | None:
        """Return the samples of all containers, computed once per scrape."""
        pair = self._pair()
        if pair is None:
            return None
        new, old = pair
        if self._view is None or self._view.number != new.number:
            self._view = self._compare(new, old)
        return self._view

    def _compare(self, new: Scrape, old: Scrape) -> View:
        count = len(new.stream)
        before = np.full(count, np.inf)
        start_s = np.full(count, np.inf)
        for scrape in self._kept:
            if not old.time_s <= scrape.time_s <= new.time_s:
                continue
            most = min(count, len(scrape.stream))
            # Counters restart with the container (metrics-server: StartTime).
            known = (scrape.stream[:most] == new.stream[:most]) & (
                scrape.since_s[:most] == new.since_s[:most]
            )
            first = known & np.isinf(start_s[:most])
            before[:most][first] = scrape.cpu_total[:most][first]
            start_s[:most][first] = scrape.time_s
        time_s = new.time_s - start_s
        present = (new.stream >= 0) & (time_s > 1e-9)
        cpu = np.zeros(count)
        cpu[present] = (new.cpu_total - before)[present] / time_s[present]
        if self._missing > 0.0:
            present &= ~_lost(new.stream, self._stream, new.number, self._missing)
        return View(
            number=new.number,
            time_s=new.time_s,
            window_s=new.time_s - old.time_s,
            stream=new.stream,
            cpu=cpu,
            memory=new.memory,
            present=present,
        )

    def request_rate(self, service: int) -> float | None:
        """Return the request rate of a service over the window."""
        pair = self._pair()
        if pair is None or pair[0].time_s <= pair[1].time_s:
            return None
        new, old = pair
        rate = (new.requests[service] - old.requests[service]) / (new.time_s - old.time_s)
        return float(rate)

    def node_use(self) -> tuple[Floats, Floats] | None:
        """Return cores and bytes in use on every node, by number."""
        pair = self._pair()
        return None if pair is None else (pair[0].node_cpu, pair[0].node_memory)
