"""Prometheus metrics of the servers, with one registry per server.

The global registry of prometheus-client is not used: several servers may run in one process, as in
tests, and must not share metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, exposition

CONTENT_TYPE: Final = exposition.CONTENT_TYPE_LATEST

# From 0.5 ms, the time of a fast response on loopback, to the longest timeout of a client.
BUCKETS_S: Final = (
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
)  # fmt: skip


class Telemetry:
    """Creates and exports the metrics of one server.

    Args:
        part: Name of the server; prefix of its metrics: ``kubestow_PART_``.
    """

    def __init__(self, part: str) -> None:
        self.registry = CollectorRegistry()
        self._prefix = f"kubestow_{part}_"

    def counter(self, name: str, meaning: str, labels: tuple[str, ...] = ()) -> Counter:
        """Return a new counter; ``_total`` is appended to its name."""
        return Counter(self._prefix + name, meaning, labels, registry=self.registry)

    def gauge(self, name: str, meaning: str, labels: tuple[str, ...] = ()) -> Gauge:
        """Return a new gauge."""
        return Gauge(self._prefix + name, meaning, labels, registry=self.registry)

    def watch(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Add a gauge whose value is read at each scrape."""
        self.gauge(name, meaning).set_function(read)

    def latency(self, name: str, meaning: str, labels: tuple[str, ...] = ()) -> Histogram:
        """Return a new histogram of seconds."""
        return Histogram(
            self._prefix + name, meaning, labels, registry=self.registry, buckets=BUCKETS_S
        )

    def write(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return exposition.generate_latest(self.registry)
