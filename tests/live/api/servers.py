"""A made-up API server on loopback: answers by a script, remembers what it was asked."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

Answer = tuple[int, Any]
"""HTTP status, and a document, or lines of a stream."""


class Asked:
    """One request."""

    def __init__(self, method: str, target: str, headers: dict[str, str], body: bytes) -> None:
        parts = urlsplit(target)
        self.method, self.path, self.params = method, parts.path, dict(parse_qsl(parts.query))
        self.headers, self.body = headers, body


@contextlib.contextmanager
def serve(answer: Callable[[Asked], Answer]) -> Iterator[tuple[str, list[Asked]]]:
    """Give the address of a server, and the list of what it is asked."""
    asked: list[Asked] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            found = Asked(self.command, self.path, headers, self.rfile.read(length))
            asked.append(found)
            status, document = answer(found)
            lines = isinstance(document, list)
            text = "".join(document) if lines else json.dumps(document)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - their names

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_kubeconfig(folder: Path, url: str, token: str = "first") -> Path:  # noqa: S107
    """Return a kubeconfig for a server."""
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": token}}],
    }
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path
