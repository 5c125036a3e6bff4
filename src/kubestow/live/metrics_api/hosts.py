"""Puts the metrics API together: book, sources of values, those who judge requests, routes."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from kubestow.live import telemetry
from kubestow.live.api import metadata_lists
from kubestow.live.api.clients import Client
from kubestow.live.metrics_api import apps, books, polls
from kubestow.live.metrics_api.answers import Answerer
from kubestow.live.metrics_api.authentications import Authenticator
from kubestow.live.metrics_api.authorizations import Authorizer
from kubestow.live.metrics_api.forecasts import Forecaster
from kubestow.live.metrics_api.kinds import Mapper
from kubestow.live.metrics_api.members import Members
from kubestow.live.metrics_api.rules import Rules
from kubestow.sources import prometheus, prometheus_settings

_SWEEP_S: Final = 60.0
# Forecasts outlive values that are too old to be served: a source may come back.
_FORGOTTEN_S: Final = 3600.0
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may want otherwise.

    Attributes:
        rules: What is asked of a Prometheus, and what is looked ahead.
        prometheus: How to reach it.
        writing: Whether values may be written here.
        ttl_s: Values older than this are not served.
        most: Most series.
    """

    rules: Rules = field(default_factory=Rules)
    prometheus: prometheus_settings.Settings | None = None
    writing: bool = True
    ttl_s: float = books.TTL_S
    most: int = books.MOST


class Host:
    """The metrics API of one cluster.

    Args:
        client: Asks the API server.
        options: What a user wants.
        trust: Takes the authorities of the front proxy, for TLS.
        metrics: Where to count.

    Raises:
        InputError: If the Prometheus cannot be reached as told.
    """

    def __init__(
        self,
        client: Client,
        options: Options,
        trust: Callable[[bytes], None],
        metrics: telemetry.Telemetry,
    ) -> None:
        self.book = books.Book(metrics, options.ttl_s, options.most)
        self._forecaster = Forecaster(options.rules.forecasts, self.book, metrics)
        self._mapper = Mapper(client)
        members = Members(functools.partial(metadata_lists.names, client))
        self._authenticator = Authenticator(client, trust, metrics)
        self.edge = apps.Edge(
            Answerer(self.book, self._mapper, members),
            self._authenticator,
            Authorizer(client, metrics),
            metrics,
            writing=options.writing,
        )
        self._pollers = self._make_pollers(options, metrics)

    def ready(self) -> str:
        """Return why it is not ready; empty if it is."""
        return "" if self._authenticator.ready else "the front proxy is not known yet"

    def background(self) -> list[Callable[[], Coroutine[Any, Any, None]]]:
        """Return what is to be done beside serving."""
        return [self._authenticator.keep, self._sweep, *(each.keep for each in self._pollers)]

    def _make_pollers(self, options: Options, metrics: telemetry.Telemetry) -> list[polls.Poller]:
        if options.prometheus is None:
            return []
        count = polls.counting(metrics)
        return [
            polls.Poller(
                rule,
                options.rules.forecast_of(rule),
                prometheus.Client(options.prometheus),
                self._mapper,
                self.book,
                count,
            )
            for rule in options.rules.polls
        ]

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_S)
            now_s = time.time()
            forgotten = self.book.sweep(now_s)
            self._forecaster.forget(now_s - _FORGOTTEN_S)
            if forgotten:
                _LOG.info("forgot %d series without values", forgotten)
