"""Creates objects at a steady pace, with as little work for each as can be.

Whoever makes the load shares the machine with what is measured, so requests are written beforehand
and answers are only looked at for their end. Requests are due at their time whether or not earlier
ones have been answered; what they wait for a free connection counts as time they took.
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
    """What became of a request.

    Attributes:
        status: HTTP status; 0 without an answer.
        answer: The answer's body.
        took_s: From when it was due to the end of the answer.
    """

    status: int
    answer: bytes
    took_s: float


class _Connection:
    """A connection that is opened when it is needed."""

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
        else:  # in pieces; an object of Kubernetes is one line, so that nothing else looks like it
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
    wanted: Sequence[bytes],
    rate: float,
    happening: Mapping[int, Callable[[], None]],
) -> list[Creation]:
    """Post bodies at a steady pace.

    Args:
        url: The server.
        path: Where to.
        trust: How the server is trusted, and who asks.
        wanted: The bodies.
        rate: How many are due in a second.
        happening: What is done, in a thread, when the request of that number is due.
    """
    host, found = urlsplit(url).netloc, []
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    begin_s, numbers = time.perf_counter() + 0.5, iter(range(len(wanted)))
    doing: list[asyncio.Future[None]] = []

    async def work() -> None:
        connection = _Connection(url, trust)
        for number in numbers:
            due_s = begin_s + number / rate
            await asyncio.sleep(max(due_s - time.perf_counter(), 0.0))
            if number in happening:
                doing.append(asyncio.ensure_future(asyncio.to_thread(happening[number])))
            body = wanted[number]
            request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
            try:
                async with asyncio.timeout(_TIMEOUT_S):
                    status, answer = await connection.ask(request)
            except (OSError, TimeoutError, asyncio.IncompleteReadError):
                status, answer = 0, b""
                connection.close()
            found.append(Creation(status, answer, time.perf_counter() - due_s))
        connection.close()

    await asyncio.gather(*(work() for _ in range(_CONNECTIONS)))
    await asyncio.gather(*doing)
    return found
