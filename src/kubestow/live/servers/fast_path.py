"""A fast path for requests that come with every pod: bytes in, bytes out, without routing.

kube-scheduler and the API server wait for a response with every pod, and the layers of a web
framework take longer than the response itself. The limits are those of other requests (``limits``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from kubestow.live.servers import limits

JSON, TEXT = b"application/json", b"text/plain; charset=utf-8"
_WRONG_METHOD: Final = b"expected POST\n"


@dataclass(frozen=True, slots=True)
class FastRequest:
    """A request.

    Attributes:
        body: Its body.
        media: Its media type, in lower case and without parameters.
        began_s: When it began to arrive, on ``time.perf_counter``.
    """

    body: bytes
    media: bytes
    began_s: float


@dataclass(frozen=True, slots=True)
class FastResponse:
    """A response.

    Attributes:
        body: Its body.
        status: Its HTTP status.
        media: Its media type.
        then: Called after the response is sent.
    """

    body: bytes
    status: int = 200
    media: bytes = JSON
    then: Callable[[], None] | None = None


Handler = Callable[[FastRequest], FastResponse | Awaitable[FastResponse]]
"""Returns a response, or an awaitable of one."""


class Quick:
    """ASGI middleware that handles POST requests to some paths, and passes on all others.

    Args:
        app: Application for all other requests.
        handlers: Handlers by path.
        most_body_bytes: Maximum size of a body, bytes.
        read_s: Maximum time for the body to arrive, seconds.
    """

    def __init__(
        self, app: ASGIApp, handlers: Mapping[str, Handler], most_body_bytes: int, read_s: float
    ) -> None:
        self._app, self._handlers = app, handlers
        self._most, self._read_s = most_body_bytes, read_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection or request."""
        handler = self._handlers.get(scope.get("path", ""))
        if handler is None or scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s, sender = time.perf_counter(), limits.ResponseSender(send)
        if scope["method"] != "POST":
            await sender.refuse(405, _WRONG_METHOD)
            return
        try:
            body = await self._read(scope, receive, sender)
        except limits.RequestRefusedError:
            return
        if body is None:
            return
        returned = handler(FastRequest(body, _media(scope), began_s))
        response = returned if isinstance(returned, FastResponse) else await returned
        length = str(len(response.body)).encode()
        headers = [(b"content-type", response.media), (b"content-length", length)]
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        await send({"type": "http.response.body", "body": response.body})
        if response.then is not None:
            # The loop sends what was written before it calls this.
            asyncio.get_running_loop().call_soon(response.then)

    async def _read(
        self, scope: Scope, receive: Receive, sender: limits.ResponseSender
    ) -> bytes | None:
        """Return the body; ``None`` if the client has disconnected."""
        if limits.stated_length(scope) > self._most:
            await sender.refuse(*limits.TOO_LARGE)
            raise limits.RequestRefusedError("too large")
        body = limits.Body(receive, sender, self._most, self._read_s)
        parts = []
        while True:
            message = await body.receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)


def _media(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"content-type":
            return bytes(value).partition(b";")[0].strip().lower()
    return b""
