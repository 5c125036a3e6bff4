"""A tiny relay on loopback that passes questions on at once and keeps the answers back."""

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
    """Run a relay in front of a port of loopback and give its address.

    Answers are kept until the relay ends, or half a minute.
    """
    ending = threading.Event()
    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as door:
        door.settimeout(0.1)
        keeper = threading.Thread(target=_accept, args=(door, port, ending, threads), daemon=True)
        keeper.start()
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            ending.set()
            for thread in (keeper, *threads):
                thread.join(10.0)


def _accept(
    door: socket.socket, port: int, ending: threading.Event, threads: list[threading.Thread]
) -> None:
    while not ending.is_set():
        try:
            guest, _ = door.accept()
        except TimeoutError:
            continue
        thread = threading.Thread(target=_serve, args=(guest, port, ending), daemon=True)
        thread.start()
        threads.append(thread)


def _serve(guest: socket.socket, port: int, ending: threading.Event) -> None:
    """Pass everything on to the server, and keep back what it answers."""
    kept = b""
    until_s = time.monotonic() + _PATIENCE_S
    with guest, socket.create_connection(("127.0.0.1", port), _PATIENCE_S) as server:
        while not ending.is_set() and time.monotonic() < until_s:
            for ready in select.select((guest, server), (), (), 0.05)[0]:
                part = ready.recv(65536)
                if not part:
                    return
                if ready is guest:
                    server.sendall(part)
                else:
                    kept += part
        with contextlib.suppress(OSError):
            guest.sendall(kept)
