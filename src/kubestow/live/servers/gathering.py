"""A transport that sends what is written at one moment in one piece.

uvicorn writes the head of an answer and its body one after the other. In two packets a client wakes
up twice for one answer, which kube-scheduler does twice for every pod.
"""

from __future__ import annotations

import asyncio
from typing import Any


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
