"""Names of the objects that a label selector matches, from the API server, with a cache."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final

from kubestow.live.metrics_api.kinds import ResourceKind

KEPT_S: Final = 2.0
_MOST: Final = 1000

Lister = Callable[[str, str], Awaitable[tuple[str, ...]]]
"""Returns the names of the objects at a path that a selector matches."""


class Members:
    """Names of objects by selector.

    Args:
        lister: Lists names from the API server.
        kept_s: Cache time, seconds: a new pod becomes visible that much later.
        clock: Monotonic clock, seconds.
    """

    def __init__(
        self,
        lister: Lister,
        kept_s: float = KEPT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lister, self._kept_s, self._clock = lister, kept_s, clock
        self._known: dict[tuple[str, str], tuple[float, tuple[str, ...]]] = {}

    async def names(self, kind: ResourceKind, namespace: str, selector: str) -> tuple[str, ...]:
        """Return the names of the objects that a selector matches.

        Raises:
            ApiError: If the API server fails or refuses.
        """
        key = (kind.listing(namespace), selector)
        until_s, names = self._known.get(key, (0.0, ()))
        if self._clock() < until_s:
            return names
        listed = await self._lister(*key)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = (self._clock() + self._kept_s, listed)
        return listed
