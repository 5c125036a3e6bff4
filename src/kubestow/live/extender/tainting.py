"""Marks nodes under high load by a taint, and takes it away again.

The truth about who has the taint is the cluster's, so that a restart or a second replica goes on
where the first one was; only since when is remembered here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any

import numpy as np

from kubestow.live.api import clients
from kubestow.live.api.errors import ApiError
from kubestow.live.caches import cluster_caches
from kubestow.live.loads import load_books
from kubestow.model import resources, states
from kubestow.policies.placing import high_loads, terms

EVERY_S = 15.0
_RESOURCES = (resources.CPU, resources.MEMORY)
_MARK = {"key": high_loads.TAINT.key, "effect": high_loads.TAINT.effect}
_LOG = logging.getLogger(__name__)


class Tainter:
    """Keeps taints in step with loads.

    Args:
        client: Asks the API server.
        cache: The cluster.
        book: Measured loads; without it, requests count as load.
        parameters: When nodes are marked.
    """

    def __init__(
        self,
        client: clients.Client,
        cache: cluster_caches.ClusterCache,
        book: load_books.LoadBook | None,
        parameters: high_loads.HighLoadParameters,
    ) -> None:
        self._client, self._cache, self._book = client, cache, book
        self._parameters = parameters
        self._since_s: dict[str, float] = {}

    async def keep(self) -> None:
        """Look at loads now and then, for ever."""
        while True:
            await asyncio.sleep(EVERY_S)
            await self.look(time.time())

    async def look(self, now_s: float) -> None:
        """Look at loads once and change what has to be changed."""
        state = self._cache.state
        _, changes = high_loads.step(
            self._memory(state), self._shares(state, now_s), now_s, self._parameters
        )
        for rows, marked in ((changes.added, True), (changes.removed, False)):
            for name in [state.names[row] for row in rows.tolist()]:
                try:
                    await self._mark(name, marked=marked)
                    self._since_s[name] = now_s
                except ApiError as err:  # somebody else was quicker, or the server is away
                    _LOG.warning("the taint of %s was not changed: %s", name, err)

    def _memory(self, state: states.ClusterState) -> high_loads.Memory:
        tainted = [any(t.key == high_loads.TAINT.key for t in node.taints) for node in state.nodes]
        since_s = [self._since_s.get(name, -np.inf) for name in state.names]
        return high_loads.Memory(np.array(tainted, dtype=np.bool_), np.array(since_s))

    def _shares(self, state: states.ClusterState, now_s: float) -> terms.Floats:
        if self._book is None:
            loads = terms.Loads.by_requests(state)
        else:
            loads = self._book.loads(state, now_s)
        return high_loads.shares_of(state, loads.used + loads.assumed, _RESOURCES)

    async def _mark(self, name: str, *, marked: bool) -> None:
        path = f"{cluster_caches.PATHS[cluster_caches.NODES]}/{name}"
        node = await self._client.get(path)
        found: list[dict[str, Any]] = node["spec"].get("taints") or []
        others = [taint for taint in found if taint["key"] != high_loads.TAINT.key]
        # With its version: a list is replaced as a whole, and others change it, too.
        await self._client.patch(
            path,
            {
                "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
                "spec": {"taints": [*others, _MARK] if marked else others},
            },
        )
        _LOG.info("%s %s the taint of high load", name, "got" if marked else "lost")
