"""Puts the extender together: watches, cache, loads, judge, server, and what runs beside them."""

from __future__ import annotations

import asyncio
import functools
import logging
import math
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import numpy as np

from kubestow.live import api, caches, servers
from kubestow.live.api import ApiError
from kubestow.live.extender import app, decisions, taints
from kubestow.model import clusters, nodes, pods, quantities, resources, states
from kubestow.policies.placing import profiles, terms

COMPONENT = "extender"
KINDS = (caches.NODES, caches.PODS)
# Pods that occupy a node. One that waits comes with the question about it.
SELECTED = {
    caches.PODS: {"fieldSelector": "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"}
}
_TIDY_S = 5.0
_LOG = logging.getLogger(__name__)

Background = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class ExtenderOptions:
    """How an extender works.

    Attributes:
        term: Name of the placing term.
        parameters: Its parameters.
        version: Kubernetes release whose rules count pods.
        loads_every_s: Pause between two looks at the metrics of nodes; 0 asks for none, and loads
            are what pods request.
        decision: How it takes part in the choice of a node (``catalogs.DECISIONS``).
        bind: Whether pods are bound here.
        taint: Taint nodes under high load; ``None`` leaves them alone.
    """

    term: str
    parameters: dict[str, Any]
    version: str = profiles.DEFAULT_VERSION
    loads_every_s: float = 15.0
    decision: str = profiles.SHORTLIST
    bind: bool = False
    taint: terms.HighLoadParameters | None = None


class ExtenderHost:
    """An extender and its surroundings.

    Args:
        client: Asks the API server.
        options: How it works.
        record: Takes decisions.
        metrics: Where it counts.
    """

    def __init__(
        self,
        client: api.ApiClient,
        options: ExtenderOptions,
        record: decisions.Record,
        metrics: servers.Telemetry,
    ) -> None:
        self._client, self._options = client, options
        self.cache = caches.ClusterCache(profiles.scheduler_features(options.version))
        term = terms.make_term(options.term, options.parameters)
        _warm(term)
        measured = terms.TERMS.get(options.term).measured and options.loads_every_s > 0
        self._book = caches.NodeLoads() if measured else None
        self.judge = decisions.TermDecider(
            self.cache, term, self._book, record, decision=options.decision
        )
        self.edge = app.ExtenderApp(self.judge, metrics, client if options.bind else None)
        self.watches = {
            kind: api.ResourceWatch(
                client, caches.PATHS[kind], self.cache.sink(kind), SELECTED.get(kind)
            )
            for kind in KINDS
        }
        self._looks = metrics.counter("load_looks", "Looks at the use of nodes.", ("result",))
        if self._book is not None:
            self.cache.on_placed, self.cache.on_removed = self._placed, self._book.remove
        self._watch_myself(metrics)

    def ready(self) -> str:
        """Return why it is not ready; empty if it is."""
        missing = [kind for kind, watch in self.watches.items() if not watch.freshness.synced]
        return f"no {' and '.join(missing)} objects were read yet" if missing else ""

    def background(self) -> list[Background]:
        """Return what has to run beside the server."""
        found: list[Background] = [watch.run for watch in self.watches.values()]
        found.append(self._tidy)
        if self._book is not None:
            found.append(self._measure)
        if self._options.taint is not None:
            found.append(
                taints.Tainter(self._client, self.cache, self._book, self._options.taint).keep
            )
        return found

    def _placed(self, uid: str, pod: pods.Pod) -> None:
        if self._book is not None and not self.ready():  # those of the first list are measured
            self._book.place(uid, pod, self.cache.state, time.time())

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY_S)
            self.judge.tidy()

    async def _measure(self) -> None:
        while self._book is not None:
            try:
                self._book.measure(await caches.read_node_metrics(self._client))
                self._looks.labels("read").inc()
            except ApiError as err:
                self._looks.labels("failed").inc()
                _LOG.warning("the use of nodes is not known: %s", err)
            await asyncio.sleep(self._options.loads_every_s)

    def _watch_myself(self, metrics: servers.Telemetry) -> None:
        book = self._book
        metrics.watch("nodes", "Nodes that are known.", lambda: float(len(self.cache.state)))
        metrics.watch("pods", "Pods that are known.", lambda: float(self.cache.pod_count))
        for kind, watch in self.watches.items():
            metrics.watch(
                f"{kind.lower()}_watch_age_seconds",
                f"Since when the watch of {kind} objects has said nothing.",
                functools.partial(_age_s, watch.freshness),
            )
            metrics.watch(
                f"{kind.lower()}_lists",
                f"How often all {kind} objects were read.",
                functools.partial(_lists, watch.freshness),
            )
        if book is not None:
            metrics.watch(
                "load_age_seconds",
                "Age of the oldest use of a node.",
                lambda: book.oldest_s(time.time()),
            )


def _warm(term: terms.Term) -> None:
    """Weigh something once: kernels are loaded at their first use, longer than callers wait."""
    offer = {resources.CPU: quantities.units(1), resources.PODS: quantities.units(9)}
    found = tuple(nodes.Node(name, offer, {}) for name in ("a", "b"))
    state = states.from_cluster(clusters.Cluster(nodes=found))
    pod = pods.Pod("p", pods.PodSpec((pods.Container("c", requests={**offer}),)))
    weighed = term.weigh(pod, state, terms.Loads.by_requests(state), np.arange(len(found)))
    terms.sent_scores(pod, state, np.arange(len(found)), weighed.scores)


def _age_s(fresh: api.Freshness) -> float:
    return fresh.age_s(time.monotonic()) if fresh.synced else math.inf


def _lists(fresh: api.Freshness) -> float:
    return float(fresh.lists)
