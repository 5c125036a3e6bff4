"""Puts the webhook together: store, book, journal, reviewer, server."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kubestow.live import telemetry
from kubestow.live.admission import handlers, readings, surroundings
from kubestow.live.admission.books import EVERY_S, Book
from kubestow.live.admission.policies import Policy
from kubestow.live.admission.reviewers import Reviewer
from kubestow.live.journals import Journal
from kubestow.live.late_stores import LateStore
from kubestow.live.servers.running import Server
from kubestow.live.servers.settings import Settings

PART = "admission"


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
    book: Book
    journal: Journal
    metrics: telemetry.Telemetry


@dataclass(frozen=True, slots=True)
class Options:
    """How a webhook works.

    Attributes:
        policy: Whom it changes, and how.
        settings: How it listens.
        deadline_s: Longest time from arrival to answer.
        every_s: Pause between two readings of the store.
    """

    policy: Policy
    settings: Settings
    deadline_s: float = handlers.DEADLINE_S
    every_s: float = EVERY_S


@contextlib.contextmanager
def assemble(
    store: LateStore,
    options: Options,
    context: ssl.SSLContext | None = None,
    around: Callable[[], surroundings.Surroundings] = surroundings.unknown,
    ready: Callable[[], str] = str,
    metrics: telemetry.Telemetry | None = None,
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
    metrics = metrics or telemetry.Telemetry(PART)
    book = Book(readings.StoredRows(store), metrics, options.every_s)
    journal = Journal(store.write, metrics)
    reviewer = Reviewer(options.policy, book, around)
    handler = handlers.Handler(reviewer, journal, metrics, options.deadline_s)

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
