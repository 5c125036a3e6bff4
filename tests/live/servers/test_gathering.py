"""What is written at one moment goes out in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from kubestow.live.servers.protocols import GatheringTransport


class Wire:
    """Remembers what was sent."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.ended = ""

    def write(self, data: bytes) -> None:
        self.sent.append(data)

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def is_closing(self) -> bool:
        return bool(self.ended)


def _run(do: Callable[[GatheringTransport], None]) -> Wire:
    wire = Wire()

    async def run() -> None:
        loop = asyncio.get_running_loop()
        do(GatheringTransport(cast("Any", wire), loop))
        await asyncio.sleep(0)

    asyncio.run(run())
    return wire


def test_writes_of_one_moment_are_one() -> None:
    def write(transport: GatheringTransport) -> None:
        transport.write(b"head ")
        transport.write(b"body")

    assert _run(write).sent == [b"head body"]


def test_writes_of_two_moments_are_two() -> None:
    wire = Wire()

    async def run() -> None:
        transport = GatheringTransport(cast("Any", wire), asyncio.get_running_loop())
        transport.write(b"one")
        await asyncio.sleep(0)
        transport.write(b"two")
        await asyncio.sleep(0)

    asyncio.run(run())
    assert wire.sent == [b"one", b"two"]


def test_nothing_is_lost_when_it_is_closed() -> None:
    def write(transport: GatheringTransport) -> None:
        transport.write(b"last words")
        transport.close()
        assert transport.is_closing()

    wire = _run(write)
    assert (wire.sent, wire.ended) == ([b"last words"], "closed")


def test_what_waits_is_dropped_when_it_is_aborted() -> None:
    def write(transport: GatheringTransport) -> None:
        transport.write(b"last words")
        transport.abort()

    wire = _run(write)
    assert (wire.sent, wire.ended) == ([], "aborted")
