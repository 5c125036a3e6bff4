"""What controllers see of the world: samples, scraped now and then, and some time ago.

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

from kubestow.simulation import draws, worlds
from kubestow.simulation.units import Records
from kubestow.simulation.worlds import World

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Scrape:
    """A copy of what was there at one time; rows are those of the containers."""

    time_s: float
    number: int
    stream: NDArray[np.int64]  # tells containers apart that had the same row one after another
    since_s: Floats
    cpu_total: Floats
    memory: Floats
    requests: Floats  # per service, since the start
    node_cpu: Floats
    node_memory: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Use of some containers.

    Attributes:
        time_s: When it was measured.
        window_s: Over how long the processor was measured.
        cpu: Cores; without meaning where there is no sample.
        memory: Bytes in use.
        present: Whether there is a sample.
    """

    time_s: float
    window_s: float
    cpu: Floats
    memory: Floats
    present: Mask


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

    def start(self) -> None:
        """Scrape from now on."""
        self._scrape()
        self._world.clock.every(
            self._period_s, self._scrape, first_s=self._period_s, priority=worlds.SCRAPE
        )

    def _scrape(self) -> None:
        world = self._world
        rows: Records = world.units.rows[: world.units.top]
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
        """Return the newest scrape that may be read, and the one a window before it."""
        latest_s = self._world.now_s - self._lag_s + 1e-9
        readable = [scrape for scrape in self._kept if scrape.time_s <= latest_s]
        if not readable:
            return None
        return readable[-1], readable[max(len(readable) - 1 - self._back, 0)]

    def read(self, units: Sequence[int]) -> Samples:
        """Return the newest samples of some containers."""
        rows = np.array(units, dtype=np.int64)
        nothing = np.zeros(len(rows))
        pair = self._pair()
        if pair is None:
            return Samples(0.0, 0.0, nothing, nothing, np.zeros(len(rows), dtype=np.bool_))
        new, old = pair
        streams = self._world.units.rows["stream"][rows]
        known = rows < len(new.stream)
        at = np.where(known, rows, 0)
        present = known & (new.stream[at] == streams)
        before, start_s = self._starting_points(rows, streams, new, old)
        time_s = new.time_s - start_s
        present &= time_s > 1e-9
        cpu = np.where(present, (new.cpu_total[at] - before) / np.maximum(time_s, 1e-9), 0.0)
        if self._missing > 0.0:
            present &= ~self._lost(streams, new.number)
        window_s = new.time_s - old.time_s
        return Samples(new.time_s, window_s, cpu, new.memory[at], present)

    def _starting_points(
        self, rows: NDArray[np.int64], streams: NDArray[np.int64], new: Scrape, old: Scrape
    ) -> tuple[Floats, Floats]:
        """Return counter and time at the first scrape within the window that saw a container."""
        before = np.full(len(rows), np.inf)
        start_s = np.full(len(rows), np.inf)
        newest_since_s = new.since_s[np.where(rows < len(new.stream), rows, 0)]
        for scrape in self._kept:
            if not old.time_s <= scrape.time_s <= new.time_s:
                continue
            at = np.where(rows < len(scrape.stream), rows, 0)
            seen = (rows < len(scrape.stream)) & (scrape.stream[at] == streams)
            # Counters begin again with every start of a container (metrics-server: StartTime).
            seen &= scrape.since_s[at] == newest_since_s
            first = seen & np.isinf(start_s)
            before[first] = scrape.cpu_total[at[first]]
            start_s[first] = scrape.time_s
        return before, start_s

    def _lost(self, streams: NDArray[np.int64], number: int) -> Mask:
        chances = [
            draws.uniform(int(stream) ^ self._stream, number) < self._missing for stream in streams
        ]
        return np.array(chances, dtype=np.bool_)

    def request_rate(self, service: int) -> float | None:
        """Return the requests per second a service was offered over the window."""
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
