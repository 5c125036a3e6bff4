"""uvicorn connections with limits on headers, and with the client's certificate.

uvicorn waits without limit for the start and the end of a request, and accepts headers of any size.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class GatheringTransport:
    """A transport that gathers writes; everything else is delegated."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send data together with all other writes of this loop iteration."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        """Send pending data, and close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close without sending pending data."""
        self._waiting.clear()
        self._transport.abort()

    def _flush(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._transport.write(b"".join(waiting))


PEER: Final = "kubestow.peer"
"""Key of ``scope["extensions"]``: the client's verified certificate, as ``getpeercert`` has it."""


class HeaderLimitError(Exception):
    """The headers are too large; the parser turns this into a 400 response."""


class LimitedProtocol(HttpToolsProtocol):
    """A connection with time limits for the start and the headers of requests.

    Attributes:
        read_s: Maximum time for the headers of a request, and for the first request, seconds.
        most_header_bytes: Maximum size of request line and headers, bytes.
    """

    read_s = 5.0
    most_header_bytes = 64 * 1024

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._left = 0
        self._peer: Any = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the first request."""
        gathering = GatheringTransport(transport, self.loop)
        super().connection_made(cast("asyncio.Transport", gathering))
        self._peer = transport.get_extra_info("peercert") or None
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Start the timer for the headers."""
        super().on_message_begin()
        self._left = self.most_header_bytes
        if self._peer is not None:
            self.scope["extensions"] = {PEER: self._peer}
        self._wait()

    def on_url(self, url: bytes) -> None:
        """Count a part of the request line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Stop the timer; ``limits`` bounds the time of the body."""
        self._stop_waiting()
        super().on_headers_complete()

    def _count(self, length: int) -> None:
        self._left -= length
        if self._left < 0:
            raise HeaderLimitError

    def _wait(self) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(self.read_s, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()


def make_protocol(read_s: float, most_header_bytes: int) -> type[LimitedProtocol]:
    """Return a protocol class with these limits."""
    attributes = {"read_s": read_s, "most_header_bytes": most_header_bytes}
    return type("OwnProtocol", (LimitedProtocol,), attributes)
