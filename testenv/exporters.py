"""A small exporter on loopback: serves a given text and waits until it was scraped."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator

_CONTENT = "text/plain; version=0.0.4"


class Exporter:
    """Serves metrics in the text format of Prometheus.

    Attributes:
        port: Port on loopback.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self._text: str | None = ""
        self._scrapes = 0
        self._turn = threading.Condition()

    def show(self, text: str | None) -> None:
        """Serve a text, or fail (``None``), and return once it was scraped and stored.

        Raises:
            TimeoutError: If it is not scraped in time.
        """
        with self._turn:
            self._text = text
            # Scrapes are sequential: when the second begins, the first has been stored.
            before = self._scrapes
            if not self._turn.wait_for(lambda: self._scrapes >= before + 2, timeout=20.0):
                raise TimeoutError("the exporter was not scraped within 20 s")

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
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        exporter = Exporter(server.server_address[1])
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield exporter
        finally:
            server.shutdown()
            thread.join(10.0)
