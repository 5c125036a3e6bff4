"""An HTTP proxy on loopback that tunnels, and remembers where to."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def serve() -> Iterator[tuple[str, list[str]]]:
    """Give the address of a proxy, and the heads of the requests it gets."""
    heads: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            lines = list(iter(self.rfile.readline, b"\r\n"))
            heads.append(b"".join(lines).decode())
            host, _, port = lines[0].split()[1].decode().rpartition(":")
            with socket.create_connection((host, int(port)), 10.0) as target:
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_relay, args=(target, self.connection), daemon=True)
                back.start()
                _relay(self.connection, target)
                back.join(10.0)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", heads
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _relay(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
