"""An endless watch: list, then follow changes, through restarts and gaps.

As client-go's reflector (``tools/cache/reflector.go``): a paged list, then a watch with bookmarks
from the list's resource version; a watch that ends is resumed where it was; an expired version
(410) causes a new list; after errors it backs off exponentially up to a maximum, with jitter so
that many clients do not return at once.
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
_WATCH_S = 300  # the server ends a watch after this; client-go requests 5 to 10 minutes
_SILENCE_S = 360.0  # a connection that is silent for longer than a watch lasts is dead
_SHORT_S = 1.0  # a watch without events that ends sooner is an error, else we would spin
_FIRST_PAUSE_S, _MOST_PAUSE_S = 0.2, 30.0
_GATHER_S = 0.02  # too short to matter to any policy
_AT_ONCE_S = 0.0002  # buffered data arrives sooner than this


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
    """Receives the objects of one kind."""

    def replace(self, objects: list[dict[str, Any]]) -> None:
        """Replace all objects by a list."""

    def apply(self, change: str, text: bytes) -> None:
        """Apply one change: ``ADDED``, ``MODIFIED`` or ``DELETED``, and the object as JSON."""


@dataclass(slots=True)
class Freshness:
    """The state of a watch, for metrics and readiness.

    Attributes:
        synced: Whether a list has been read.
        last_response_s: Time of the server's last response, on the monotonic clock.
        version: Last known resource version.
        lists: Number of lists read.
        faults: Number of failed requests, by reason.
    """

    synced: bool = False
    last_response_s: float = 0.0
    version: str = ""
    lists: int = 0
    faults: dict[str, int] = field(default_factory=dict)

    def age_s(self, now_s: float) -> float:
        """Return the time since the server's last response, seconds."""
        return now_s - self.last_response_s


@dataclass(frozen=True, slots=True)
class Pauses:
    """Exponential backoff with jitter."""

    first_s: float = _FIRST_PAUSE_S
    most_s: float = _MOST_PAUSE_S

    def after(self, faults: int, chance: float) -> float:
        """Return the pause after the n-th consecutive error, seconds; ``chance`` is from 0 to 1.

        >>> Pauses(1.0, 30.0).after(3, 0.0), Pauses(1.0, 30.0).after(9, 1.0)
        (2.0, 30.0)
        """
        full_s = min(self.most_s, self.first_s * 2.0 ** min(faults - 1, 30))
        return full_s * (0.5 + 0.5 * chance)


class ResourceWatch:
    """Keeps a sink in sync with all objects of one kind."""

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
        """Follow changes until cancelled."""
        faults = 0
        while True:
            last_response_s = self.freshness.last_response_s
            try:
                if not self.freshness.version:
                    await self._list()
                await self._follow()
                continue
            except errors.ApiError as err:
                if err.status == errors.GONE:
                    self.freshness.version = ""
                self._count(err)
            # A response in between resets the count.
            faults = 1 if self.freshness.last_response_s != last_response_s else faults + 1
            await asyncio.sleep(self._pauses.after(faults, random.random()))

    async def _list(self) -> None:
        listing = await listings.read_list(self._client, self.path, self._params)
        self._sink.replace(listing.items)
        fresh = self.freshness
        fresh.version, fresh.synced, fresh.last_response_s = listing.version, True, self._clock()
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
            self.freshness.last_response_s = self._clock()
            async for line in _lines(pieces):
                events += 1
                self.freshness.last_response_s = self._clock()
                self._take(line)
                # Many changes come in one chunk; yield to tasks that serve requests.
                await asyncio.sleep(0)
        if not events and self._clock() - began_s < _SHORT_S:
            raise errors.ApiError(0, "ShortWatch", "the watch ended at once, without an event")

    def _take(self, line: bytes) -> None:
        try:
            event = _read_event(line)
            if event.type == ERROR:
                raise _status_error(msgspec.json.decode(event.object))
            version = _read_versioned(event.object).metadata.resource_version
        except (msgspec.MsgspecError, UnicodeDecodeError) as err:
            # A server that is killed may leave an incomplete line.
            raise errors.ApiError(0, "Malformed", f"a watch event cannot be read: {err}") from err
        if event.type != BOOKMARK:
            self._sink.apply(event.type, bytes(event.object))
        self.freshness.version = version

    def _count(self, err: errors.ApiError) -> None:
        self.freshness.faults[err.reason] = self.freshness.faults.get(err.reason, 0) + 1


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the lines of a chunked text.

    A chunk that had to be waited for is followed by a short pause, so that under load many changes
    arrive at once: waking up for each of them costs more than reading it.
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


def _status_error(status: dict[str, Any]) -> errors.ApiError:
    code = status.get("code", 0)
    return errors.ApiError(
        code if isinstance(code, int) else 0,
        str(status.get("reason", "Unknown")),
        str(status.get("message", "")),
    )
