"""Create objects at a steady rate, with as little work per request as possible.

The load generator shares the machine with what is measured, so requests are encoded beforehand and
responses are read only up to their end. Requests are due at fixed times whether or not earlier ones
have been answered; waiting for a free connection counts towards their duration.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

CREATED: Final = 201
_CONNECTIONS: Final = 32
_TIMEOUT_S: Final = 30.0
_MOST_BYTES: Final = 2**20


@dataclass(frozen=True, slots=True)
class Creation:
    """The outcome of a request.

    Attributes:
        status: HTTP status; 0 without a response.
        answer: Body of the response.
        took_s: Seconds from the due time to the end of the response.
    """

    status: int
    answer: bytes
    took_s: float


class _Connection:
    """A connection that is opened on first use."""

    def __init__(self, url: str, trust: ssl.SSLContext) -> None:
        self._address, self._trust = urlsplit(url), trust
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                self._address.hostname, self._address.port, ssl=self._trust, limit=_MOST_BYTES
            )
        reader, writer = self._streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        _, stated, rest = head.partition(b"content-length:")
        if stated:
            body = await reader.readexactly(int(rest.split(b"\r\n", 1)[0]))
        else:  # chunked; a Kubernetes object is one line, so this cannot occur inside it
            body = await reader.readuntil(b"\r\n0\r\n\r\n")
        return int(head.split(b" ", 2)[1]), body

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def create(
    url: str,
    path: str,
    trust: ssl.SSLContext,
    bodies: Sequence[bytes],
    rate: float,
    happening: Mapping[int, Callable[[], None]],
) -> list[Creation]:
    """Post bodies at a steady rate.

    Args:
        url: The server.
        path: Path of the requests.
        trust: TLS context with the CA of the server and the client certificate.
        bodies: The bodies.
        rate: Requests per second.
        happening: Functions to run in a thread when the request of that number is due.
    """
    host, outcomes = urlsplit(url).netloc, []
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    begin_s, numbers = time.perf_counter() + 0.5, iter(range(len(bodies)))
    doing: list[asyncio.Future[None]] = []

    async def work() -> None:
        connection = _Connection(url, trust)
        for number in numbers:
            due_s = begin_s + number / rate
            await asyncio.sleep(max(due_s - time.perf_counter(), 0.0))
            if number in happening:
                doing.append(asyncio.ensure_future(asyncio.to_thread(happening[number])))
            body = bodies[number]
            request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
            try:
                async with asyncio.timeout(_TIMEOUT_S):
                    status, answer = await connection.ask(request)
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                status, answer = 0, b""
                connection.close()
            outcomes.append(Creation(status, answer, time.perf_counter() - due_s))
        connection.close()

    await asyncio.gather(*(work() for _ in range(_CONNECTIONS)))
    await asyncio.gather(*doing)
    return outcomes
