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

from kubestow.live import api, caches
from kubestow.live.api import ApiError
from kubestow.model import arrays, resources, states
from kubestow.policies.placing import terms

EVERY_S = 15.0
_RESOURCES = (resources.CPU, resources.MEMORY)
_MARK = {"key": terms.HIGH_LOAD_TAINT.key, "effect": terms.HIGH_LOAD_TAINT.effect}
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
        client: api.ApiClient,
        cache: caches.ClusterCache,
        book: caches.NodeLoads | None,
        parameters: terms.HighLoadParameters,
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
        _, changes = terms.update_high_load(
            self._memory(state), self._shares(state, now_s), now_s, self._parameters
        )
        for rows, marked in ((changes.added, True), (changes.removed, False)):
            for name in [state.names[row] for row in rows.tolist()]:
                try:
                    await self._mark(name, marked=marked)
                    self._since_s[name] = now_s
                except ApiError as err:  # somebody else was quicker, or the server is away
                    _LOG.warning("the taint of %s was not changed: %s", name, err)

    def _memory(self, state: states.ClusterState) -> terms.HighLoadMemory:
        tainted = [
            any(t.key == terms.HIGH_LOAD_TAINT.key for t in node.taints) for node in state.nodes
        ]
        since_s = [self._since_s.get(name, -np.inf) for name in state.names]
        return terms.HighLoadMemory(np.array(tainted, dtype=np.bool_), np.array(since_s))

    def _shares(self, state: states.ClusterState, now_s: float) -> arrays.Floats:
        if self._book is None:
            loads = terms.Loads.by_requests(state)
        else:
            loads = self._book.loads(state, now_s)
        return terms.load_shares(state, loads.used + loads.assumed, _RESOURCES)

    async def _mark(self, name: str, *, marked: bool) -> None:
        path = f"{caches.PATHS[caches.NODES]}/{name}"
        node = await self._client.get(path)
        found: list[dict[str, Any]] = node["spec"].get("taints") or []
        others = [taint for taint in found if taint["key"] != terms.HIGH_LOAD_TAINT.key]
        # With its version: a list is replaced as a whole, and others change it, too.
        await self._client.patch(
            path,
            {
                "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
                "spec": {"taints": [*others, _MARK] if marked else others},
            },
        )
        _LOG.info("%s %s the taint of high load", name, "got" if marked else "lost")
