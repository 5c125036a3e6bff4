"""uvicorn's connections with what it lacks: limits on headers, and who the client is.

uvicorn waits for ever for a request that was begun, or never was, and takes headers of any size.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class GatheringTransport:
    """Stands before a transport; all but writing and ending is the transport's own."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send data with whatever else is written before the loop goes on."""
        if not self._waiting:
            self._loop.call_soon(self._flush)
        self._waiting.append(data)

    def close(self) -> None:
        """Send what waits, and close."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._waiting.clear()
        self._transport.abort()

    def _flush(self) -> None:
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            self._transport.write(b"".join(waiting))


PEER: Final = "kubestow.peer"
"""Key of ``scope["extensions"]``: the client's verified certificate, as ``getpeercert`` has it."""


class HeaderLimitError(Exception):
    """Headers are too large; the parser turns it into 400."""


class LimitedProtocol(HttpToolsProtocol):
    """A connection whose requests have to begin, and to end their headers, in time.

    Attributes:
        read_s: Longest wait for the headers of a request, and for the first one to come.
        most_header_bytes: Largest request line with all headers.
    """

    read_s = 5.0
    most_header_bytes = 64 * 1024

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._left = 0
        self._peer: Any = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        gathering = GatheringTransport(transport, self.loop)
        super().connection_made(cast("asyncio.Transport", gathering))
        self._peer = transport.get_extra_info("peercert") or None
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to wait for the end of the headers."""
        super().on_message_begin()
        self._left = self.most_header_bytes
        if self._peer is not None:
            self.scope["extensions"] = {PEER: self._peer}
        self._wait()

    def on_url(self, url: bytes) -> None:
        """Take a part of the request line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._count(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Hand the request on; the time of its body is limited elsewhere."""
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
    """Return a class of connections with limits of its own."""
    own = {"read_s": read_s, "most_header_bytes": most_header_bytes}
    return type("OwnProtocol", (LimitedProtocol,), own)
