"""Puts the webhook together: store, book, journal, reviewer, server."""

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
        server: Serves it.
        book: What was learned.
        journal: Decisions on their way to the store.
        metrics: What it counts.
    """

    server: Server
    book: LearnedCache
    journal: Journal
    metrics: servers.Telemetry


@dataclass(frozen=True, slots=True)
class AdmissionOptions:
    """How a webhook works.

    Attributes:
        policy: Whom it changes, and how.
        settings: How it listens.
        deadline_s: Longest time from arrival to answer.
        every_s: Pause between two readings of the store.
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
    around: Callable[[], caches.NamespaceBounds] = caches.unknown_bounds,
    ready: Callable[[], str] = str,
    metrics: servers.Telemetry | None = None,
) -> Iterator[Webhook]:
    """Make a webhook whose background work goes on as long as the context lasts.

    Args:
        store: Where learned values come from and decisions go.
        options: How it works.
        context: For TLS.
        around: Returns what is known of the cluster.
        ready: Returns why something else is not ready; empty if it is.
        metrics: Where to count.
    """
    metrics = metrics or servers.Telemetry(COMPONENT)
    book = LearnedCache(learned_reader.StoredRows(store), metrics, options.every_s)
    journal = Journal(store.write, metrics)
    reviewer = Reviewer(options.policy, book, around)
    handler = admission_handler.Handler(reviewer, journal, metrics, options.deadline_s)

    def why_not_ready() -> str:
        return "no learned values were read yet" if book.table is None else ready()

    server = Server((), options.settings, metrics, why_not_ready, context, handler.handlers())
    book.start()
    journal.start()
    try:
        yield Webhook(server, book, journal, metrics)
    finally:
        server.close()
        book.stop()
        journal.stop()
        handler.close()
        store.close()
