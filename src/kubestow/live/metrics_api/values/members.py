"""Which objects a label selector means: asked of the API server, and kept for a moment."""

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
        lister: Asks the API server.
        kept_s: How long an answer counts: a new pod is seen that much later.
        clock: Tells the time.
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
            ApiError: If the server cannot be asked, or says no.
        """
        key = (kind.listing(namespace), selector)
        until_s, names = self._known.get(key, (0.0, ()))
        if self._clock() < until_s:
            return names
        found = await self._lister(*key)
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = (self._clock() + self._kept_s, found)
        return found
