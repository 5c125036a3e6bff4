"""Asks a Prometheus for metrics, again and again, and puts the answers into the book.

Each rule has a client of its own, in a thread, so that a slow query holds up nobody else.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from typing import Final

from kubestow.live import servers
from kubestow.live.api import ApiError
from kubestow.live.metrics_api.kinds import Mapper, ResourceKind
from kubestow.live.metrics_api.values.rules import ForecastRule, PollRule
from kubestow.live.metrics_api.values.table import (
    FullError,
    Labels,
    MetricTable,
    MetricValue,
    Subject,
)
from kubestow.model import errors, quantities
from kubestow.sources import prometheus

_LOG = logging.getLogger(__name__)
_NAME: Final = "__name__"


class Poller:
    """Asks for one metric.

    Args:
        rule: What to ask.
        ahead: How the metric is looked ahead, for which its past is asked for; or ``None``.
        client: Asks the Prometheus.
        mapper: Knows kinds of objects.
        book: Where values go.
        count: Is told the result of every question.
        clock: Tells the time, in seconds since the epoch.
    """

    def __init__(
        self,
        rule: PollRule,
        ahead: ForecastRule | None,
        client: prometheus.PrometheusClient,
        mapper: Mapper,
        book: MetricTable,
        count: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._rule, self._ahead, self._client = rule, ahead, client
        self._mapper, self._book, self._count, self._clock = mapper, book, count, clock

    async def keep(self) -> None:
        """Ask again and again, until cancelled; the past at first, where it is needed."""
        filled = self._ahead is None
        while True:
            try:
                if not filled:
                    await self.fill()
                    filled = True
                await self.look()
            except (prometheus.ReadError, errors.InputError, ApiError) as err:
                self._count("failed")
                _LOG.warning("metric %s: %s", self._rule.name, err)
            await asyncio.sleep(self._rule.interval_s)

    async def look(self) -> None:
        """Ask once.

        Raises:
            ReadError: If Prometheus does not answer.
            ApiError: If the API server does not.
            InputError: If the rule makes no sense in this cluster.
        """
        kind = await self._kind()
        found = await asyncio.to_thread(self._client.query, self._rule.query)
        measured_s = await self._measured() if found.samples else {}
        kept = sum(
            self._put(
                kind,
                sample.labels,
                sample.value,
                measured_s.get(_unnamed(sample.labels), sample.time_s),
            )
            for sample in found.samples
        )
        self._count("answered" if kept else "empty")

    async def fill(self) -> None:
        """Ask for the past of the metric, oldest first.

        Raises:
            ReadError: If Prometheus does not answer.
            ApiError: If the API server does not.
            InputError: If the rule makes no sense in this cluster.
        """
        if self._ahead is None:
            return
        kind, now_s, step_s = await self._kind(), self._clock(), self._ahead.step_s
        found = await asyncio.to_thread(
            self._client.query_range,
            self._rule.query,
            now_s - self._ahead.history_s,
            now_s,
            step_s,
        )
        for row, labels in enumerate(found.labels):
            for column, value in enumerate(found.values[row]):
                time_s = found.steps.start_ms / 1000.0 + column * found.steps.step_ms / 1000.0
                self._put(kind, labels, float(value), time_s)
            await asyncio.sleep(0.0)  # others are answered in between

    async def _measured(self) -> dict[Labels, float]:
        """Return when the newest samples were measured, by labels."""
        if not self._rule.newest:
            return {}
        found = await asyncio.to_thread(self._client.query, self._rule.newest)
        return {
            _unnamed(sample.labels): sample.value
            for sample in found.samples
            if math.isfinite(sample.value) and sample.value <= sample.time_s
        }

    async def _kind(self) -> ResourceKind | None:
        if not self._rule.resource:
            return None
        kind = await self._mapper.find(self._rule.resource)
        if kind is None:
            place = f"metric {self._rule.name}: resource"
            raise errors.InputError(place, f"{self._rule.resource!r}: no such resource is known")
        return kind

    def _put(
        self, kind: ResourceKind | None, labels: prometheus.Labels, value: float, time_s: float
    ) -> bool:
        """Put one value into the book; return whether that was possible."""
        target = place(self._rule, kind, labels)
        if target is None or not math.isfinite(value):
            return False
        exact = quantities.Quantity(quantities.parse(f"{value:.9f}").nano)
        reading = MetricValue(exact, time_s, self._rule.window_s)
        try:
            self._book.put(*target, reading, self._clock())
        except FullError as err:
            _LOG.warning("metric %s: %s", self._rule.name, err)
            return False
        return True


def _unnamed(labels: prometheus.Labels) -> Labels:
    return tuple(each for each in labels if each[0] != _NAME)


def place(
    rule: PollRule, kind: ResourceKind | None, labels: prometheus.Labels
) -> tuple[Subject, Labels] | None:
    """Return what a series is about, and its further labels; ``None`` if a label is missing."""
    given = dict(labels)
    given.pop(_NAME, None)
    namespace = given.pop(rule.namespace_label, "") or rule.namespace
    if kind is None:
        subject = Subject("", namespace, "", rule.name)
        return (subject, tuple(sorted(given.items()))) if namespace else None
    name = given.pop(rule.object_label, "")
    if not name or (kind.namespaced and not namespace):
        return None
    subject = Subject(kind.resource, namespace if kind.namespaced else "", name, rule.name)
    return subject, tuple(sorted(given.items()))


def counting(metrics: servers.Telemetry) -> Callable[[str], None]:
    """Return what counts questions by result."""
    polls = metrics.counter("polls", "Questions to Prometheus, by result.", ("result",))
    return lambda result: polls.labels(result).inc()
