"""How a server listens and what it puts up with; the one place for these numbers."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final

from kubestow.model import errors

MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How a server listens and what it puts up with.

    Attributes:
        host: Address to listen on.
        port: Port; 0 takes a free one.
        most_body_bytes: Largest body of a request; beyond, the answer is 413.
        read_s: Longest time for a request to arrive; beyond, the answer is 408.
        request_s: Longest time for an answer from the first byte on; beyond, it is 503.
        keep_alive_s: How long idle connections are kept. Go's clients, kube-apiserver and
            kube-scheduler among them, drop theirs after 90 s; who drops first must not be us, or
            a request may be on its way.
        drain_s: How long to answer on after being told to end, not ready any more, so that
            whoever sends requests learns of it before the door is closed.
        grace_s: How long running requests may take after that.
        most_header_bytes: Largest request line with all headers.
        most_connections: Connections beyond get 503.
    """

    host: str = "127.0.0.1"
    port: int = 0
    most_body_bytes: int = 3 * MIB
    read_s: float = 5.0
    request_s: float = 10.0
    keep_alive_s: float = 120.0
    drain_s: float = 5.0
    grace_s: float = 10.0
    most_header_bytes: int = 64 * 1024
    most_connections: int = 1000

    @property
    def is_local(self) -> bool:
        """Return whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


def read_address(place: str, text: str) -> tuple[str, int]:
    """Read ``HOST:PORT`` or ``[ADDRESS]:PORT``.

    >>> read_address("listen", "[::1]:9443")
    ('::1', 9443)

    Raises:
        InputError: If it is neither.
    """
    host, colon, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not colon or not bare or (":" in bare) != host.startswith("["):
        raise errors.InputError(place, f"{text!r}: expected HOST:PORT or [ADDRESS]:PORT")
    if not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise errors.InputError(place, f"{text!r}: expected a port from 0 to 65535")
    return bare, int(port)
