"""The current metric values: one sample per object, metric and set of labels.

The value with the latest measurement time wins, regardless of the order of arrival. Old samples
are not served; they are kept a little longer, to count requests for stale values.
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
_KEPT: Final = 3.0  # multiples of the TTL after which an old sample is dropped

Labels = tuple[tuple[str, str], ...]
"""Names and values, sorted by name."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A metric and the object it describes.

    Attributes:
        resource: E.g. ``pods`` or ``deployments.apps``; empty for an external metric.
        namespace: Namespace of the object; empty if it is cluster-scoped.
        name: Name of the object; empty for an external metric.
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
        window_s: Averaging window, seconds; ``None`` if not known.
        notes: Additional labels to show; selectors ignore them.
    """

    value: Quantity
    time_s: float
    window_s: float | None = None
    notes: Labels = ()


class FullError(Exception):
    """The table has no space for another series."""


Listener = Callable[[Subject, Labels, MetricValue], None]


class MetricTable:
    """Samples by subject and labels.

    Args:
        metrics: Metrics to update.
        ttl_s: Samples older than this are not served, seconds.
        most: Maximum number of series.
    """

    def __init__(
        self, metrics: servers.Telemetry, ttl_s: float = TTL_S, most: int = MAX_VALUES
    ) -> None:
        self.ttl_s, self._most, self._count = ttl_s, most, 0
        self._samples: dict[Subject, dict[Labels, MetricValue]] = {}
        self._known: dict[tuple[str, str], int] = {}
        self._listeners: list[Listener] = []
        self._stale = metrics.counter("stale_reads", "Requests for a value that was too old.")
        self._late = metrics.counter("late_values", "Values that were older than a known one.")
        metrics.watch("series", "Known series.", lambda: float(self._count))

    def __len__(self) -> int:
        return self._count

    def listen(self, listener: Listener) -> None:
        """Call a listener with every value, in order of arrival."""
        self._listeners.append(listener)

    def put(self, subject: Subject, labels: Labels, sample: MetricValue, now_s: float) -> bool:
        """Store a sample.

        Returns:
            Whether it is the newest of its series.

        Raises:
            FullError: If it is a new series, and the table is full.
        """
        newest = self._keep(subject, labels, sample, now_s)
        for listener in self._listeners:
            listener(subject, labels, sample)
        return newest

    def find(
        self, subject: Subject, selector: LabelSelector, now_s: float
    ) -> list[tuple[Labels, MetricValue]]:
        """Return the fresh samples of a subject whose labels match, newest first."""
        matches = [
            (labels, sample)
            for labels, sample in self._samples.get(subject, {}).items()
            if selector.matches(dict(labels))
        ]
        fresh = [each for each in matches if self._is_fresh(each[1], now_s)]
        if matches and not fresh:
            self._stale.inc()
        return sorted(fresh, key=lambda each: (-each[1].time_s, each[0]))

    def metrics_of(self, *, external: bool) -> Iterator[tuple[str, str]]:
        """Iterate over known resources and metrics."""
        return (each for each in sorted(self._known) if (not each[0]) == external)

    def sweep(self, now_s: float) -> int:
        """Drop samples that are far too old; return their number."""
        before, oldest_s = self._count, now_s - _KEPT * self.ttl_s
        for subject in list(self._samples):
            series = self._samples[subject]
            for labels in [key for key, kept in series.items() if kept.time_s < oldest_s]:
                del series[labels]
                self._tally(subject, -1)
            if not series:
                del self._samples[subject]
        return before - self._count

    def _keep(self, subject: Subject, labels: Labels, sample: MetricValue, now_s: float) -> bool:
        known = self._samples.get(subject, {}).get(labels)
        if known is not None and known.time_s > sample.time_s:
            self._late.inc()
            return False
        if known is None:
            if self._count >= self._most and not self.sweep(now_s):
                raise FullError(f"{self._most} series are known already")
            self._tally(subject, 1)
        self._samples.setdefault(subject, {})[labels] = sample
        return True

    def _tally(self, subject: Subject, change: int) -> None:
        key = (subject.resource, subject.metric)
        self._count += change
        self._known[key] = self._known.get(key, 0) + change
        if not self._known[key]:
            del self._known[key]

    def _is_fresh(self, sample: MetricValue, now_s: float) -> bool:
        return now_s - sample.time_s <= self.ttl_s
