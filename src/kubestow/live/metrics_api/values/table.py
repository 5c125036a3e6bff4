"""What is known of metrics now: one reading per object, metric and set of labels.

The last value by the time of its measurement wins, whatever the order of arrival. Readings that
are too old are not served; they are kept a little longer, so that it can be told that they were
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from kubestow.live import servers
from kubestow.model.quantities import Quantity
from kubestow.model.selectors import LabelSelector

TTL_S: Final = 300.0
MAX_VALUES: Final = 100_000
_KEPT: Final = 3.0  # times to live after which an old reading is forgotten

Labels = tuple[tuple[str, str], ...]
"""Names and values, sorted by name."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a metric is about.

    Attributes:
        resource: Such as ``pods`` or ``deployments.apps``; empty for an external metric.
        namespace: Where the object is; empty if it is in none.
        name: Of the object; empty for an external metric.
        metric: Name of the metric.
    """

    resource: str
    namespace: str
    name: str
    metric: str


@dataclass(frozen=True, slots=True)
class MetricValue:
    """A measured value.

    Attributes:
        value: The value.
        time_s: When it was measured, in seconds since the epoch.
        window_s: Over how long; ``None`` if that is not known.
        notes: Labels to show beside those of the series; nobody can select by them.
    """

    value: Quantity
    time_s: float
    window_s: float | None = None
    notes: Labels = ()


class FullError(Exception):
    """There is no room for another series."""


Listener = Callable[[Subject, Labels, MetricValue], None]


class MetricTable:
    """Readings by subject and labels.

    Args:
        metrics: Where to count.
        ttl_s: Readings older than this are not served.
        most: So many series at most.
    """

    def __init__(
        self, metrics: servers.Telemetry, ttl_s: float = TTL_S, most: int = MAX_VALUES
    ) -> None:
        self.ttl_s, self._most, self._count = ttl_s, most, 0
        self._readings: dict[Subject, dict[Labels, MetricValue]] = {}
        self._known: dict[tuple[str, str], int] = {}
        self._listeners: list[Listener] = []
        self._stale = metrics.counter("stale_reads", "Questions for a value that was too old.")
        self._late = metrics.counter("late_values", "Values that were older than a known one.")
        metrics.watch("series", "Series that are known.", lambda: float(self._count))

    def __len__(self) -> int:
        return self._count

    def listen(self, listener: Listener) -> None:
        """Tell someone of every value that comes, in order of arrival."""
        self._listeners.append(listener)

    def put(self, subject: Subject, labels: Labels, reading: MetricValue, now_s: float) -> bool:
        """Take in a reading.

        Returns:
            Whether it is the newest of its series.

        Raises:
            FullError: If it is a new series, and there is no room.
        """
        newest = self._keep(subject, labels, reading, now_s)
        for listener in self._listeners:
            listener(subject, labels, reading)
        return newest

    def find(
        self, subject: Subject, selector: LabelSelector, now_s: float
    ) -> list[tuple[Labels, MetricValue]]:
        """Return the fresh readings of a subject whose labels match, newest first."""
        found = [
            (labels, reading)
            for labels, reading in self._readings.get(subject, {}).items()
            if selector.matches(dict(labels))
        ]
        fresh = [each for each in found if self._is_fresh(each[1], now_s)]
        if found and not fresh:
            self._stale.inc()
        return sorted(fresh, key=lambda each: (-each[1].time_s, each[0]))

    def metrics_of(self, *, external: bool) -> Iterator[tuple[str, str]]:
        """Iterate over resources and metrics that are known."""
        return (each for each in sorted(self._known) if (not each[0]) == external)

    def sweep(self, now_s: float) -> int:
        """Forget readings that have been too old for long; return how many."""
        before, oldest_s = self._count, now_s - _KEPT * self.ttl_s
        for subject in list(self._readings):
            series = self._readings[subject]
            for labels in [key for key, kept in series.items() if kept.time_s < oldest_s]:
                del series[labels]
                self._tally(subject, -1)
            if not series:
                del self._readings[subject]
        return before - self._count

    def _keep(self, subject: Subject, labels: Labels, reading: MetricValue, now_s: float) -> bool:
        known = self._readings.get(subject, {}).get(labels)
        if known is not None and known.time_s > reading.time_s:
            self._late.inc()
            return False
        if known is None:
            if self._count >= self._most and not self.sweep(now_s):
                raise FullError(f"{self._most} series are known already")
            self._tally(subject, 1)
        self._readings.setdefault(subject, {})[labels] = reading
        return True

    def _tally(self, subject: Subject, change: int) -> None:
        key = (subject.resource, subject.metric)
        self._count += change
        self._known[key] = self._known.get(key, 0) + change
        if not self._known[key]:
            del self._known[key]

    def _is_fresh(self, reading: MetricValue, now_s: float) -> bool:
        return now_s - reading.time_s <= self.ttl_s
