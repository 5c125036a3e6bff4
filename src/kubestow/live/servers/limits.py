"""Limits on requests, as ASGI middleware: size, time to arrive, time to respond.

Bodies are counted while they stream, so nothing larger than the limit is ever held. The
application's response to a refused request is dropped.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOO_LARGE: Final = (413, b"the request is too large\n")
TOO_SLOW: Final = (408, b"the request took too long to arrive\n")
TOO_LATE: Final = (503, b"the answer took too long\n")


class RequestRefusedError(Exception):
    """A request exceeded a limit; the refusal was or will be sent."""


class RequestLimits:
    """Refuses requests that are too large, arrive too slowly or take too long.

    Args:
        app: The application.
        most_body_bytes: Maximum size of a body, bytes.
        read_s: Maximum time for the body to arrive, seconds.
        request_s: Maximum time for the whole request, seconds.
    """

    def __init__(self, app: ASGIApp, most_body_bytes: int, read_s: float, request_s: float) -> None:
        self._app = app
        self._most, self._read_s, self._request_s = most_body_bytes, read_s, request_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection or request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sender = ResponseSender(send)
        if stated_length(scope) > self._most:
            await sender.refuse(*TOO_LARGE)
            return
        body = Body(receive, sender, self._most, self._read_s)
        try:
            async with asyncio.timeout(self._request_s) as limit:
                await self._app(scope, body.receive, sender.send)
        except RequestRefusedError:
            pass
        except TimeoutError:
            if not limit.expired():
                raise
            await sender.refuse(*TOO_LATE)


class ResponseSender:
    """The response; drops the application's messages once a request was refused."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False
        self._refused = False

    async def send(self, message: Message) -> None:
        """Send a part of the application's response."""
        if not self._refused:
            self._begun = True
            await self._send(message)

    async def refuse(self, status: int, text: bytes) -> None:
        """Send a refusal; raises if the application's response has begun."""
        if self._refused:
            return
        self._refused = True
        if self._begun:  # the connection is closed before the end of the response
            raise RequestRefusedError(text.decode().strip())
        # The rest of the body is not read.
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(text)).encode()),
            (b"connection", b"close"),
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": text})


class Body:
    """The body of a request, with limits on size and time."""

    def __init__(self, receive: Receive, sender: ResponseSender, most: int, read_s: float) -> None:
        self._receive, self._sender = receive, sender
        self._left = most
        self._until_s = asyncio.get_running_loop().time() + read_s
        self._whole = False

    async def receive(self) -> Message:
        """Return the next part of the body, or a disconnect."""
        if self._whole:  # only a disconnect can follow
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until_s) as limit:
                message = await self._receive()
        except TimeoutError:
            if not limit.expired():
                raise
            await self._sender.refuse(*TOO_SLOW)
            raise RequestRefusedError("too slow") from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._left < 0:
                await self._sender.refuse(*TOO_LARGE)
                raise RequestRefusedError("too large")
        return message


def stated_length(scope: Scope) -> int:
    """Return the Content-Length of a request; 0 if there is none."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
