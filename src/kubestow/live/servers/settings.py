"""Settings of a server: address and limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Final

from kubestow.model import errors

MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Address and limits of a server.

    Attributes:
        host: Address to listen on.
        port: Port; 0 chooses a free one.
        most_body_bytes: Maximum size of a request body, bytes; larger ones get 413.
        read_s: Maximum time for a request to arrive, seconds; slower ones get 408.
        request_s: Maximum time from the first byte to the response, seconds; then 503.
        keep_alive_s: How long idle connections are kept, seconds. Go clients, such as
            kube-apiserver and kube-scheduler, close theirs after 90 s; a server that closes first
            may lose a request that is on its way.
        drain_s: How long to keep serving after SIGTERM while not ready, seconds, so that clients
            notice before the port is closed.
        grace_s: How long running requests may take after that, seconds.
        most_header_bytes: Maximum size of request line and headers, bytes.
        most_connections: Maximum number of connections; further ones get 503.
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
        InputError: If it has neither form.
    """
    host, colon, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not colon or not bare or (":" in bare) != host.startswith("["):
        raise errors.InputError(place, f"{text!r}: expected HOST:PORT or [ADDRESS]:PORT")
    if not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise errors.InputError(place, f"{text!r}: expected a port from 0 to 65535")
    return bare, int(port)
