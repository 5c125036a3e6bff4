"""Assembles the metrics API: table of values, pollers, authentication, authorization, routes."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from kubestow.live import api, servers
from kubestow.live.api import ApiClient
from kubestow.live.metrics_api import serving, values
from kubestow.live.metrics_api.auth import Authenticator, Authorizer
from kubestow.live.metrics_api.kinds import Mapper
from kubestow.live.metrics_api.serving import QueryService
from kubestow.live.metrics_api.values import Members, MetricForecaster, MetricRules
from kubestow.sources import prometheus

_SWEEP_S: Final = 60.0
# Forecasts are kept longer than values that are too old to be served: a source may come back.
_FORGOTTEN_S: Final = 3600.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MetricsApiOptions:
    """Options of the metrics API.

    Attributes:
        rules: Metrics to poll from Prometheus, and metrics to forecast.
        prometheus: Connection to Prometheus; ``None`` polls nothing.
        writing: Whether clients may write values.
        ttl_s: Values older than this are not served, seconds.
        most: Maximum number of series.
    """

    rules: MetricRules = field(default_factory=MetricRules)
    prometheus: prometheus.PrometheusSettings | None = None
    writing: bool = True
    ttl_s: float = values.TTL_S
    most: int = values.MAX_VALUES


class MetricsApiHost:
    """The metrics API of one cluster.

    Args:
        client: Client of the API server.
        options: Its options.
        trust: Receives the CAs of the front proxy, for TLS.
        metrics: Metrics to update.

    Raises:
        InputError: If the settings for Prometheus are invalid.
    """

    def __init__(
        self,
        client: ApiClient,
        options: MetricsApiOptions,
        trust: Callable[[bytes], None],
        metrics: servers.Telemetry,
    ) -> None:
        self.table = values.MetricTable(metrics, options.ttl_s, options.most)
        self._forecaster = MetricForecaster(options.rules.forecasts, self.table, metrics)
        self._mapper = Mapper(client)
        members = Members(functools.partial(api.list_names, client))
        self._authenticator = Authenticator(client, trust, metrics)
        self.edge = serving.MetricsApiApp(
            QueryService(self.table, self._mapper, members),
            self._authenticator,
            Authorizer(client, metrics),
            metrics,
            writing=options.writing,
        )
        self._pollers = self._make_pollers(options, metrics)

    def ready(self) -> str:
        """Return why it is not ready; empty if it is ready."""
        return "" if self._authenticator.ready else "the front proxy is not known yet"

    def background(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """Return the background tasks."""
        return [self._authenticator.keep, self._drop_old, *(each.keep for each in self._pollers)]

    def _make_pollers(
        self, options: MetricsApiOptions, metrics: servers.Telemetry
    ) -> list[values.Poller]:
        if options.prometheus is None:
            return []
        count = values.counting(metrics)
        return [
            values.Poller(
                rule,
                options.rules.forecast_of(rule),
                prometheus.PrometheusClient(options.prometheus),
                self._mapper,
                self.table,
                count,
            )
            for rule in options.rules.polls
        ]

    async def _drop_old(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            now_s = time.time()
            dropped = self.table.sweep(now_s)
            self._forecaster.forget(now_s - _FORGOTTEN_S)
            if dropped:
                _LOG.info("dropped %d series without recent values", dropped)
