"""Assembles the extender: watches, cache, loads, decider, HTTP handlers, background tasks."""

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
# Pods on a node. A pending pod comes with the scheduler's request.
SELECTED = {
    caches.PODS: {"fieldSelector": "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"}
}
_TIDY_S = 5.0
_LOG = logging.getLogger(__name__)

Background = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class ExtenderOptions:
    """Options of an extender.

    Attributes:
        term: Name of the placing term.
        parameters: Its parameters.
        version: Kubernetes release whose rules are applied.
        loads_every_s: Pause between two reads of node metrics, seconds; 0 reads none and uses
            requests as load.
        decision: How the term takes part in the choice of a node (``profiles.DECISIONS``).
        bind: Whether the extender binds pods.
        taint: Parameters for tainting nodes under high load; ``None`` taints none.
    """

    term: str
    parameters: dict[str, Any]
    version: str = profiles.DEFAULT_VERSION
    loads_every_s: float = 15.0
    decision: str = profiles.SHORTLIST
    bind: bool = False
    taint: terms.HighLoadParameters | None = None


class ExtenderHost:
    """An extender with its caches and background tasks.

    Args:
        client: Client of the API server.
        options: Its options.
        record: Receives decisions.
        metrics: Metrics to update.
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
        self._loads = caches.NodeLoads() if measured else None
        self.decider = decisions.TermDecider(
            self.cache, term, self._loads, record, decision=options.decision
        )
        self.edge = app.ExtenderApp(self.decider, metrics, client if options.bind else None)
        self.watches = {
            kind: api.ResourceWatch(
                client, caches.PATHS[kind], self.cache.sink(kind), SELECTED.get(kind)
            )
            for kind in KINDS
        }
        self._load_reads = metrics.counter(
            "load_reads", "Reads of node usage by result.", ("result",)
        )
        if self._loads is not None:
            self.cache.on_placed, self.cache.on_removed = self._placed, self._loads.remove
        self._add_metrics(metrics)

    def ready(self) -> str:
        """Return why it is not ready; empty if it is ready."""
        missing = [kind for kind, watch in self.watches.items() if not watch.freshness.synced]
        return f"no {' and '.join(missing)} objects have been read yet" if missing else ""

    def background(self) -> list[Background]:
        """Return the background tasks."""
        tasks: list[Background] = [watch.run for watch in self.watches.values()]
        tasks.append(self._tidy)
        if self._loads is not None:
            tasks.append(self._measure)
        if self._options.taint is not None:
            tasks.append(
                taints.Tainter(self._client, self.cache, self._loads, self._options.taint).keep
            )
        return tasks

    def _placed(self, uid: str, pod: pods.Pod) -> None:
        if (
            self._loads is not None and not self.ready()
        ):  # metrics already include the pods of the first list
            self._loads.place(uid, pod, self.cache.state, time.time())

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(_TIDY_S)
            self.decider.tidy()

    async def _measure(self) -> None:
        while self._loads is not None:
            try:
                self._loads.measure(await caches.read_node_metrics(self._client))
                self._load_reads.labels("read").inc()
            except ApiError as err:
                self._load_reads.labels("failed").inc()
                _LOG.warning("cannot read node usage: %s", err)
            await asyncio.sleep(self._options.loads_every_s)

    def _add_metrics(self, metrics: servers.Telemetry) -> None:
        loads = self._loads
        metrics.watch("nodes", "Known nodes.", lambda: float(len(self.cache.state)))
        metrics.watch("pods", "Known pods.", lambda: float(self.cache.pod_count))
        for kind, watch in self.watches.items():
            metrics.watch(
                f"{kind.lower()}_watch_age_seconds",
                f"Time since the last response of the watch of {kind} objects.",
                functools.partial(_age_s, watch.freshness),
            )
            metrics.watch(
                f"{kind.lower()}_lists",
                f"Number of full lists of {kind} objects.",
                functools.partial(_lists, watch.freshness),
            )
        if loads is not None:
            metrics.watch(
                "load_age_seconds",
                "Age of the oldest node usage in use.",
                lambda: loads.oldest_s(time.time()),
            )


def _warm(term: terms.Term) -> None:
    """Score once: loading kernels at their first use takes longer than callers wait."""
    offer = {resources.CPU: quantities.units(1), resources.PODS: quantities.units(9)}
    candidates = tuple(nodes.Node(name, offer, {}) for name in ("a", "b"))
    state = states.from_cluster(clusters.Cluster(nodes=candidates))
    pod = pods.Pod("p", pods.PodSpec((pods.Container("c", requests={**offer}),)))
    weighed = term.weigh(pod, state, terms.Loads.by_requests(state), np.arange(len(candidates)))
    terms.sent_scores(pod, state, np.arange(len(candidates)), weighed.scores)


def _age_s(fresh: api.Freshness) -> float:
    return fresh.age_s(time.monotonic()) if fresh.synced else math.inf


def _lists(fresh: api.Freshness) -> float:
    return float(fresh.lists)
