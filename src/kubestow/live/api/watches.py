"""A watch that goes on for ever: list, then follow changes, through restarts and gaps.

As client-go's reflector (``tools/cache/reflector.go``): a paged list, then a watch from the list's
resource version with bookmarks; a watch that ends is resumed where it was; a version that the
server no longer has (410) means a new list; faults are answered by a pause that doubles up to a
most, with jitter so that many clients do not come back at once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from kubestow.live.api import errors, listings
from kubestow.live.api.clients import ApiClient

ADDED, MODIFIED, DELETED, BOOKMARK, ERROR = "ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"
_WATCH_S = 300  # the server ends a watch after so long; client-go asks for 5 to 10 minutes
_SILENCE_S = 360.0  # a connection that says nothing for longer than a watch lasts is dead
_SHORT_S = 1.0  # a watch that says nothing and ends sooner is a fault, else we would spin
_FIRST_PAUSE_S, _MOST_PAUSE_S = 0.2, 30.0
_GATHER_S = 0.02  # far below the time in which policies could tell the difference
_AT_ONCE_S = 0.0002  # what lies ready in a buffer is handed out sooner


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


class _Version(msgspec.Struct, rename="camel"):
    resource_version: str


class _Versioned(msgspec.Struct):
    metadata: _Version


_read_event = msgspec.json.Decoder(_Event).decode
_read_versioned = msgspec.json.Decoder(_Versioned).decode


class Sink(Protocol):
    """What wants to know of the objects of one kind."""

    def replace(self, found: list[dict[str, Any]]) -> None:
        """Take a whole list for what there is now."""

    def apply(self, change: str, text: bytes) -> None:
        """Take one change, ``ADDED``, ``MODIFIED`` or ``DELETED``, and the object as JSON."""


@dataclass(slots=True)
class Freshness:
    """How well a watch is doing, for metrics and readiness.

    Attributes:
        synced: Whether a list has been taken in.
        heard_s: When the server last said something, on the monotonic clock.
        version: Resource version that is known.
        lists: How many lists were taken.
        faults: How many times the server failed to answer, by reason.
    """

    synced: bool = False
    heard_s: float = 0.0
    version: str = ""
    lists: int = 0
    faults: dict[str, int] = field(default_factory=dict)

    def age_s(self, now_s: float) -> float:
        """Return for how long the server has said nothing."""
        return now_s - self.heard_s


@dataclass(frozen=True, slots=True)
class Pauses:
    """Pauses after faults: doubling, with jitter."""

    first_s: float = _FIRST_PAUSE_S
    most_s: float = _MOST_PAUSE_S

    def after(self, faults: int, chance: float) -> float:
        """Return how long to wait after the n-th fault in a row; ``chance`` is from 0 to 1.

        >>> Pauses(1.0, 30.0).after(3, 0.0), Pauses(1.0, 30.0).after(9, 1.0)
        (2.0, 30.0)
        """
        full_s = min(self.most_s, self.first_s * 2.0 ** min(faults - 1, 30))
        return full_s * (0.5 + 0.5 * chance)


class ResourceWatch:
    """Keeps a sink in step with all objects of one kind."""

    def __init__(
        self,
        client: ApiClient,
        path: str,
        sink: Sink,
        params: Mapping[str, str] | None = None,
        pauses: Pauses | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path, self.freshness = path, Freshness()
        self._client, self._sink, self._params = client, sink, dict(params or {})
        self._pauses, self._clock = pauses or Pauses(), clock

    async def run(self) -> None:
        """Follow for ever; ends only by being cancelled."""
        faults = 0
        while True:
            heard_s = self.freshness.heard_s
            try:
                if not self.freshness.version:
                    await self._list()
                await self._follow()
                continue
            except errors.ApiError as err:
                if err.status == errors.GONE:
                    self.freshness.version = ""
                self._count(err)
            # A server that answered in between starts the count anew.
            faults = 1 if self.freshness.heard_s != heard_s else faults + 1
            await asyncio.sleep(self._pauses.after(faults, random.random()))

    async def _list(self) -> None:
        found = await listings.read_list(self._client, self.path, self._params)
        self._sink.replace(found.items)
        fresh = self.freshness
        fresh.version, fresh.synced, fresh.heard_s = found.version, True, self._clock()
        fresh.lists += 1

    async def _follow(self) -> None:
        params = {
            **self._params,
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.freshness.version,
            "timeoutSeconds": str(_WATCH_S),
        }
        began_s, events = self._clock(), 0
        async with self._client.pieces(self.path, params, _SILENCE_S) as pieces:
            self.freshness.heard_s = self._clock()
            async for line in _lines(pieces):
                events += 1
                self.freshness.heard_s = self._clock()
                self._take(line)
                # Many changes come in one piece; whoever waits for an answer goes in between.
                await asyncio.sleep(0)
        if not events and self._clock() - began_s < _SHORT_S:
            raise errors.ApiError(0, "ShortWatch", "the watch ended at once, without a word")

    def _take(self, line: bytes) -> None:
        try:
            event = _read_event(line)
            if event.type == ERROR:
                raise _refusal(msgspec.json.decode(event.object))
            version = _read_versioned(event.object).metadata.resource_version
        except (msgspec.MsgspecError, UnicodeDecodeError) as err:
            # A server that is killed may leave half a line behind.
            raise errors.ApiError(0, "Malformed", f"a watch event cannot be read: {err}") from err
        if event.type != BOOKMARK:
            self._sink.apply(event.type, bytes(event.object))
        self.freshness.version = version

    def _count(self, err: errors.ApiError) -> None:
        self.freshness.faults[err.reason] = self.freshness.faults.get(err.reason, 0) + 1


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Give lines out of pieces of a text.

    A piece that had to be waited for is followed by a short pause, so that in busy times changes
    come many at once: waking up for each of them costs more than to read it.
    """
    rest, loop = b"", asyncio.get_running_loop()
    while True:
        began_s = loop.time()
        piece = await anext(pieces, None)
        if piece is None:
            break
        waited = loop.time() - began_s > _AT_ONCE_S
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line:
                yield line
        if waited:
            await asyncio.sleep(_GATHER_S)
    if rest:
        yield rest


def _refusal(status: dict[str, Any]) -> errors.ApiError:
    code = status.get("code", 0)
    return errors.ApiError(
        code if isinstance(code, int) else 0,
        str(status.get("reason", "Unknown")),
        str(status.get("message", "")),
    )
