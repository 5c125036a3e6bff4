"""A made-up API server on loopback: answers by a script, remembers what it was asked."""

from __future__ import annotations

import contextlib
import http.server
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

Answer = tuple[int, Any]
"""HTTP status, and a document, or lines of a stream."""


class Asked:
    """One request; ``client`` is the common name of the client certificate."""

    def __init__(
        self, method: str, target: str, headers: dict[str, str], body: bytes, client: str = ""
    ) -> None:
        parts = urlsplit(target)
        self.method, self.path, self.params = method, parts.path, dict(parse_qsl(parts.query))
        self.headers, self.body, self.client = headers, body, client


@contextlib.contextmanager
def serve(
    answer: Callable[[Asked], Answer], context: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[Asked]]]:
    """Give the address of a server, and the list of what it is asked.

    Args:
        answer: What it answers.
        context: Serve TLS with this context.
    """
    asked: list[Asked] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body, client = self.rfile.read(length), _common_name(self.connection)
            result = Asked(self.command, self.path, headers, body, client)
            asked.append(result)
            status, document = answer(result)
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
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "https" if context else "http"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _common_name(connection: socket.socket) -> str:
    shown = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    subject: Any = (shown or {}).get("subject", ())
    return str(dict(pair for part in subject for pair in part).get("commonName", ""))


def describe(
    url: str, user: dict[str, Any], cluster: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the document of a kubeconfig for a server."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "shop"}}],
        "clusters": [{"name": "c", "cluster": {"server": url, **(cluster or {})}}],
        "users": [{"name": "u", "user": user}],
    }


def write(path: Path, document: object) -> Path:
    """Write a document as YAML."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def write_kubeconfig(folder: Path, url: str, token: str = "first") -> Path:  # noqa: S107
    """Return a kubeconfig for a server."""
    return write(folder / "kubeconfig", describe(url, {"token": token}))
