"""The short way for questions that come with every pod: a body in, bytes out, no routing between.

kube-scheduler and the API server wait for an answer with every pod, and the layers of a web
framework take longer than the answer. Limits are the same as on the long way (``limits``).
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
    """A question.

    Attributes:
        body: Its bytes.
        media: What kind of text it says it is, in small letters and without parameters.
        began_s: When it began to arrive, on ``time.perf_counter``.
    """

    body: bytes
    media: bytes
    began_s: float


@dataclass(frozen=True, slots=True)
class FastResponse:
    """An answer.

    Attributes:
        body: Its bytes.
        status: Its HTTP status.
        media: What kind of text it is.
        then: Called when the answer is on its way.
    """

    body: bytes
    status: int = 200
    media: bytes = JSON
    then: Callable[[], None] | None = None


Handler = Callable[[FastRequest], FastResponse | Awaitable[FastResponse]]
"""Answers at once, or says what has to be waited for."""


class Quick:
    """Answers POST requests to some paths, and hands on all others, as ASGI middleware.

    Args:
        app: Answers the others.
        handlers: Who answers, by path.
        most_body_bytes: Largest body.
        read_s: Longest time for the body to arrive.
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
        began_s, answer = time.perf_counter(), limits.Answer(send)
        if scope["method"] != "POST":
            await answer.refuse(405, _WRONG_METHOD)
            return
        try:
            body = await self._read(scope, receive, answer)
        except limits.RequestRefusedError:
            return
        if body is None:
            return
        found = handler(FastRequest(body, _media(scope), began_s))
        reply = found if isinstance(found, FastResponse) else await found
        length = str(len(reply.body)).encode()
        headers = [(b"content-type", reply.media), (b"content-length", length)]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})
        if reply.then is not None:
            # What was written is sent when the loop comes round, and this comes behind it.
            asyncio.get_running_loop().call_soon(reply.then)

    async def _read(self, scope: Scope, receive: Receive, answer: limits.Answer) -> bytes | None:
        """Return the body; nothing if the client is gone."""
        if limits.stated_length(scope) > self._most:
            await answer.refuse(*limits.TOO_LARGE)
            raise limits.RequestRefusedError("too large")
        body = limits.Body(receive, answer, self._most, self._read_s)
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
