"""A tiny exporter on loopback: shows the text it is given, and tells when it was scraped."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator

_CONTENT = "text/plain; version=0.0.4"


class Exporter:
    """Shows metrics in Prometheus' text format.

    Attributes:
        port: Where it listens.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._text: str | None = ""
        self._scrapes = 0
        self._turn = threading.Condition()

    def show(self, text: str | None) -> None:
        """Show a text from now on, or fail (``None``), and return once it was scraped and stored.

        Raises:
            TimeoutError: If nobody comes.
        """
        with self._turn:
            self._text = text
            # Scrapes come one after the other: when the second begins, the first has been stored.
            seen = self._scrapes
            if not self._turn.wait_for(lambda: self._scrapes >= seen + 2, timeout=20.0):
                raise TimeoutError("nobody scraped the exporter")

    def take(self) -> str | None:
        """Return the text for one scrape."""
        with self._turn:
            self._scrapes += 1
            self._turn.notify_all()
            return self._text


@contextlib.contextmanager
def export() -> Iterator[Exporter]:
    """Run an exporter."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            text = exporter.take()
            self.send_response(500 if text is None else 200)
            self.send_header("Content-Type", _CONTENT)
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        exporter = Exporter(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield exporter
        finally:
            server.shutdown()
            thread.join(10.0)
