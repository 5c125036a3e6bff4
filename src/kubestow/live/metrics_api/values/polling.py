"""Polls metrics from Prometheus and stores them in the table.

Each rule has its own client, in a thread, so that a slow query delays no other.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

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
    """Polls one metric.

    Args:
        rule: The metric.
        forecast_rule: How the metric is forecast, which needs its history; or ``None``.
        client: Client of Prometheus.
        mapper: Finds kinds of objects.
        table: Receives the values.
        count: Called with the result of every query.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        rule: PollRule,
        forecast_rule: ForecastRule | None,
        client: prometheus.PrometheusClient,
        mapper: Mapper,
        table: MetricTable,
        count: Callable[[str], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._rule, self._forecast_rule, self._client = rule, forecast_rule, client
        self._mapper, self._table, self._count, self._clock = mapper, table, count, clock

    async def keep(self) -> None:
        """Poll periodically until cancelled; read the history first if it is needed."""
        filled = self._forecast_rule is None
        while True:
            try:
                if not filled:
                    await self.fill()
                    filled = True
                await self.poll()
            except (prometheus.ReadError, errors.InputError, ApiError) as err:
                self._count("failed")
                _LOG.warning("metric %s: %s", self._rule.name, err)
            await asyncio.sleep(self._rule.interval_s)

    async def poll(self) -> None:
        """Poll once.

        Raises:
            ReadError: If Prometheus fails.
            ApiError: If the API server fails.
            InputError: If the cluster has no such resource.
        """
        kind = await self._kind()
        result = await asyncio.to_thread(self._client.query, self._rule.query)
        self._check_clusters(kind, [sample.labels for sample in result.samples])
        measured_s = await self._measured() if result.samples else {}
        merged = prometheus.merge_copies(
            ((sample.labels, (sample.value, sample.time_s)) for sample in result.samples), _larger
        )
        kept = sum(
            self._put(kind, labels, value, measured_s.get(_unnamed(labels), time_s))
            for labels, (value, time_s) in merged.items()
        )
        self._count("answered" if kept else "empty")

    async def fill(self) -> None:
        """Read the history of the metric, oldest first.

        Raises:
            ReadError: If Prometheus fails.
            ApiError: If the API server fails.
            InputError: If the cluster has no such resource.
        """
        if self._forecast_rule is None:
            return
        kind, now_s, step_s = await self._kind(), self._clock(), self._forecast_rule.step_s
        history = await asyncio.to_thread(
            self._client.query_range,
            self._rule.query,
            now_s - self._forecast_rule.history_s,
            now_s,
            step_s,
        )
        self._check_clusters(kind, history.labels)
        merged = prometheus.merge_copies(zip(history.labels, history.values, strict=True), np.fmax)
        for labels, values in merged.items():
            for column, value in enumerate(values):
                time_s = history.steps.start_ms / 1000.0 + column * history.steps.step_ms / 1000.0
                self._put(kind, labels, float(value), time_s)
            await asyncio.sleep(0.0)  # lets other requests run

    async def _measured(self) -> dict[Labels, float]:
        """Return the times of the newest samples, by labels."""
        if not self._rule.newest:
            return {}
        result = await asyncio.to_thread(self._client.query, self._rule.newest)
        known = (
            (_unnamed(sample.labels), sample.value)
            for sample in result.samples
            if math.isfinite(sample.value) and sample.value <= sample.time_s
        )
        return prometheus.merge_copies(known, max)

    def _check_clusters(
        self, kind: ResourceKind | None, series: Iterable[prometheus.Labels]
    ) -> None:
        """Refuse objects of several clusters; labels of an external metric are its user's."""
        if kind is not None:
            prometheus.refuse_mixed_clusters(self._client.place, series)

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
        """Store one value; return whether that succeeded."""
        target = subject_of(self._rule, kind, labels)
        if target is None or not math.isfinite(value):
            return False
        exact = quantities.Quantity(quantities.parse(f"{value:.9f}").nano)
        sample = MetricValue(exact, time_s, self._rule.window_s)
        try:
            self._table.put(*target, sample, self._clock())
        except FullError as err:
            _LOG.warning("metric %s: %s", self._rule.name, err)
            return False
        return True


def _larger(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the larger of two values with their times; a missing one counts as the smaller."""
    return max(one, other, key=lambda each: (math.isfinite(each[0]), each[0]))


def _unnamed(labels: prometheus.Labels) -> Labels:
    return tuple(each for each in labels if each[0] != _NAME)


def subject_of(
    rule: PollRule, kind: ResourceKind | None, labels: prometheus.Labels
) -> tuple[Subject, Labels] | None:
    """Return the subject of a series, and its other labels; ``None`` if a label is missing."""
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
    """Return a function that counts queries by result."""
    polls = metrics.counter("polls", "Queries to Prometheus by result.", ("result",))
    return lambda result: polls.labels(result).inc()
