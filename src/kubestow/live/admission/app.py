"""Assembles the webhook: store, cache of recommendations, journal, reviewer, server."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kubestow.live import caches, servers
from kubestow.live.admission import handler as admission_handler
from kubestow.live.admission import learned_reader
from kubestow.live.admission.learned_table import EVERY_S, LearnedCache
from kubestow.live.admission.policy import AdmissionPolicy
from kubestow.live.admission.reviewer import Reviewer
from kubestow.live.servers import Server, ServerSettings
from kubestow.live.stores import DeferredStore, Journal

COMPONENT = "admission"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook that is ready to be served.

    Attributes:
        server: Its HTTP server.
        recommendations: Cache of learned recommendations.
        journal: Decisions on their way to the store.
        metrics: Its metrics.
    """

    server: Server
    recommendations: LearnedCache
    journal: Journal
    metrics: servers.Telemetry


@dataclass(frozen=True, slots=True)
class AdmissionOptions:
    """Options of a webhook.

    Attributes:
        policy: Which pods it changes, and how.
        settings: Settings of the server.
        deadline_s: Maximum time from request to response, seconds.
        every_s: Pause between two reads of the store, seconds.
    """

    policy: AdmissionPolicy
    settings: ServerSettings
    deadline_s: float = admission_handler.DEADLINE_S
    every_s: float = EVERY_S


@contextlib.contextmanager
def assemble_admission(
    store: DeferredStore,
    options: AdmissionOptions,
    context: ssl.SSLContext | None = None,
    bounds: Callable[[], caches.NamespaceBounds] = caches.unknown_bounds,
    ready: Callable[[], str] = str,
    metrics: servers.Telemetry | None = None,
) -> Iterator[Webhook]:
    """Assemble a webhook; its background work runs until the context ends.

    Args:
        store: Source of learned values, and destination of decisions.
        options: Its options.
        context: TLS context; ``None`` for plain HTTP.
        bounds: Returns the known bounds of the cluster.
        ready: Returns why another part is not ready; empty if it is.
        metrics: Metrics to update.
    """
    metrics = metrics or servers.Telemetry(COMPONENT)
    recommendations = LearnedCache(learned_reader.StoredRows(store), metrics, options.every_s)
    journal = Journal(store.write, metrics)
    reviewer = Reviewer(options.policy, recommendations, bounds)
    handler = admission_handler.Handler(reviewer, journal, metrics, options.deadline_s)

    def why_not_ready() -> str:
        return "no learned values have been read yet" if recommendations.table is None else ready()

    server = Server((), options.settings, metrics, why_not_ready, context, handler.handlers())
    recommendations.start()
    journal.start()
    try:
        yield Webhook(server, recommendations, journal, metrics)
    finally:
        server.close()
        recommendations.stop()
        journal.stop()
        handler.close()
        store.close()
