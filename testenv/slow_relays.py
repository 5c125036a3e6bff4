"""A small relay on loopback that forwards requests at once and holds back responses."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Iterator

_PATIENCE_S = 30.0


@contextlib.contextmanager
def relay(port: int) -> Iterator[str]:
    """Run a relay in front of a port on loopback and yield its URL.

    Responses are held back until the relay ends, at most half a minute.
    """
    ending = threading.Event()
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        acceptor = threading.Thread(
            target=_accept, args=(listener, port, ending, threads), daemon=True
        )
        acceptor.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            ending.set()
            for thread in (acceptor, *threads):
                thread.join(10.0)


def _accept(
    listener: socket.socket, port: int, ending: threading.Event, threads: list[threading.Thread]
) -> None:
    while not ending.is_set():
        try:
            client, _ = listener.accept()
        except TimeoutError:
            continue
        thread = threading.Thread(target=_serve, args=(client, port, ending), daemon=True)
        thread.start()
        threads.append(thread)


def _serve(client: socket.socket, port: int, ending: threading.Event) -> None:
    """Forward everything to the server, and hold back its responses."""
    kept = b""
    until_s = time.monotonic() + _PATIENCE_S
    with client, socket.create_connection(("127.0.0.1", port), _PATIENCE_S) as server:
        while not ending.is_set() and time.monotonic() < until_s:
            for ready in select.select((client, server), (), (), 0.05)[0]:
                part = ready.recv(65536)
                if not part:
                    return
                if ready is client:
                    server.sendall(part)
                else:
                    kept += part
        with contextlib.suppress(OSError):
            client.sendall(kept)
