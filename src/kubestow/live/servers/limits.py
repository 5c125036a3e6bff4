"""Limits on requests, as ASGI middleware: size, time to arrive, time to answer.

Bodies are counted while they stream, so that nothing larger than the limit is ever held. Whatever
the application makes of a request that was refused is thrown away.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOO_LARGE: Final = (413, b"the request is too large\n")
TOO_SLOW: Final = (408, b"the request took too long to arrive\n")
TOO_LATE: Final = (503, b"the answer took too long\n")


class RequestRefusedError(Exception):
    """A request went beyond a limit; it was answered already, or will be."""


class RequestLimits:
    """Refuses what is too large, arrives too slowly or takes too long to answer.

    Args:
        app: What is limited.
        most_body_bytes: Largest body.
        read_s: Longest time for the body to arrive.
        request_s: Longest time for the whole.
    """

    def __init__(self, app: ASGIApp, most_body_bytes: int, read_s: float, request_s: float) -> None:
        self._app = app
        self._most, self._read_s, self._request_s = most_body_bytes, read_s, request_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection or request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = Answer(send)
        if stated_length(scope) > self._most:
            await answer.refuse(*TOO_LARGE)
            return
        body = Body(receive, answer, self._most, self._read_s)
        try:
            async with asyncio.timeout(self._request_s) as limit:
                await self._app(scope, body.receive, answer.send)
        except RequestRefusedError:
            pass
        except TimeoutError:
            if not limit.expired():
                raise
            await answer.refuse(*TOO_LATE)


class Answer:
    """What is sent back; nothing more of the application once a request was refused."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False
        self._refused = False

    async def send(self, message: Message) -> None:
        """Send a part of the application's answer."""
        if not self._refused:
            self._begun = True
            await self._send(message)

    async def refuse(self, status: int, text: bytes) -> None:
        """Answer in the application's place; too late if it has begun to."""
        if self._refused:
            return
        self._refused = True
        if self._begun:  # the connection ends without an end of the answer
            raise RequestRefusedError(text.decode().strip())
        # What is left of the body is not waited for.
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(text)).encode()),
            (b"connection", b"close"),
        ]
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": text})


class Body:
    """What arrives, counted and timed."""

    def __init__(self, receive: Receive, answer: Answer, most: int, read_s: float) -> None:
        self._receive, self._answer = receive, answer
        self._left = most
        self._until_s = asyncio.get_running_loop().time() + read_s
        self._whole = False

    async def receive(self) -> Message:
        """Return the next part of the body, or the end of the connection."""
        if self._whole:  # only the end of the connection is left to hear of
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until_s) as limit:
                message = await self._receive()
        except TimeoutError:
            if not limit.expired():
                raise
            await self._answer.refuse(*TOO_SLOW)
            raise RequestRefusedError("too slow") from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            self._whole = not message.get("more_body", False)
            if self._left < 0:
                await self._answer.refuse(*TOO_LARGE)
                raise RequestRefusedError("too large")
        return message


def stated_length(scope: Scope) -> int:
    """Return how long a body is said to be; 0 if nothing is said."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0
