"""Taints nodes under high load, and removes the taint again.

The taints themselves are only stored in the cluster, so that a restart or a second replica
continues from there; this module only remembers the time of the last change.
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
    """Keeps taints in sync with loads.

    Args:
        client: Client of the API server.
        cache: The cluster.
        loads: Measured loads; ``None`` uses requests as load.
        parameters: Thresholds for tainting.
    """

    def __init__(
        self,
        client: api.ApiClient,
        cache: caches.ClusterCache,
        loads: caches.NodeLoads | None,
        parameters: terms.HighLoadParameters,
    ) -> None:
        self._client, self._cache, self._loads = client, cache, loads
        self._parameters = parameters
        self._since_s: dict[str, float] = {}

    async def keep(self) -> None:
        """Update taints periodically until cancelled."""
        while True:
            await asyncio.sleep(EVERY_S)
            await self.update(time.time())

    async def update(self, now_s: float) -> None:
        """Update the taints of all nodes once."""
        state = self._cache.state
        _, changes = terms.update_high_load(
            self._memory(state), self._shares(state, now_s), now_s, self._parameters
        )
        for rows, marked in ((changes.added, True), (changes.removed, False)):
            for name in [state.names[row] for row in rows.tolist()]:
                try:
                    await self._mark(name, marked=marked)
                    self._since_s[name] = now_s
                except ApiError as err:  # a concurrent change, or the server is unavailable
                    _LOG.warning("cannot change the taint of node %s: %s", name, err)

    def _memory(self, state: states.ClusterState) -> terms.HighLoadMemory:
        tainted = [
            any(t.key == terms.HIGH_LOAD_TAINT.key for t in node.taints) for node in state.nodes
        ]
        since_s = [self._since_s.get(name, -np.inf) for name in state.names]
        return terms.HighLoadMemory(np.array(tainted, dtype=np.bool_), np.array(since_s))

    def _shares(self, state: states.ClusterState, now_s: float) -> arrays.Floats:
        if self._loads is None:
            loads = terms.Loads.by_requests(state)
        else:
            loads = self._loads.loads(state, now_s)
        return terms.load_shares(state, loads.used + loads.assumed, _RESOURCES)

    async def _mark(self, name: str, *, marked: bool) -> None:
        path = f"{caches.PATHS[caches.NODES]}/{name}"
        node = await self._client.get(path)
        present: list[dict[str, Any]] = node["spec"].get("taints") or []
        others = [taint for taint in present if taint["key"] != terms.HIGH_LOAD_TAINT.key]
        # With its version: the patch replaces the whole list, which others change, too.
        await self._client.patch(
            path,
            {
                "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
                "spec": {"taints": [*others, _MARK] if marked else others},
            },
        )
        _LOG.info("node %s: high-load taint %s", name, "added" if marked else "removed")
