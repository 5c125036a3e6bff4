"""Watches and the cluster cache against the real API server, through its restarts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from kubestow.live.api import clients, watches
from kubestow.live.caches import cluster
from kubestow.policies.placing.profiles import versions
from testenv import clusters, nodes

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

QUICK = watches.Pauses(0.05, 0.5)


def _pod(name: str, cpu: str = "100m") -> dict[str, Any]:
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


@contextlib.asynccontextmanager
async def _cached(
    kubeconfig: Path,
) -> AsyncIterator[tuple[cluster.ClusterCache, dict[str, watches.ResourceWatch]]]:
    client = await clients.connect(str(kubeconfig))
    cache = cluster.ClusterCache(versions.scheduler_features("1.37"))
    result = {
        kind: watches.ResourceWatch(client, path, cache.sink(kind), pauses=QUICK)
        for kind, path in cluster.PATHS.items()
    }
    tasks = [asyncio.create_task(watch.run()) for watch in result.values()]
    try:
        await _until(lambda: all(watch.freshness.synced for watch in result.values()))
        yield cache, result
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await client.close()


async def _until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


async def _ask(cluster: clusters.Cluster, *what: Any, **how: Any) -> Any:
    return await asyncio.to_thread(cluster.request, *what, **how)


def _requested_m(cache: cluster.ClusterCache, node: str) -> int:
    state = cache.state
    return int(state.requested[state.rows[node], state.columns["cpu"]])


def test_pods_are_counted_where_they_run(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path
) -> None:
    async def run() -> None:
        async with _cached(kubeconfig) as (cache, _):
            await asyncio.to_thread(nodes.make, cluster, [nodes.document("only")])
            await _until(lambda: "only" in cache.state.rows)
            path = f"/api/v1/namespaces/{namespace}/pods"
            for name in ("a", "b"):
                await _ask(cluster, "POST", path, _pod(name))
            await _until(lambda: _requested_m(cache, "only") == 200)
            # In-place resize: 100m + 250m.
            resize = {"spec": {"containers": [{"name": "main", "resources": _requests("250m")}]}}
            patch = "application/strategic-merge-patch+json"
            await _ask(cluster, "PATCH", f"{path}/a/resize", resize, content=patch)
            await _until(lambda: _requested_m(cache, "only") == 350)
            await _ask(cluster, "DELETE", f"{path}/a")
            await _until(lambda: _requested_m(cache, "only") == 100)

    asyncio.run(run())


def _requests(cpu: str) -> dict[str, Any]:
    return {"requests": {"cpu": cpu}}


def test_nodes_come_change_and_go(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path
) -> None:
    async def run() -> None:
        async with _cached(kubeconfig) as (cache, _):
            await asyncio.to_thread(
                nodes.make, cluster, [nodes.document(name) for name in ("x", "y")]
            )
            await _until(lambda: set(cache.state.rows) == {"x", "y"})
            cordon = {"spec": {"unschedulable": True}}
            merge = "application/merge-patch+json"
            await _ask(cluster, "PATCH", "/api/v1/nodes/x", cordon, content=merge)
            await _until(lambda: bool(cache.state.marks.cordoned[cache.state.rows["x"]]))
            more = {"status": {"allocatable": {"cpu": "8"}, "capacity": {"cpu": "8"}}}
            await _ask(cluster, "PATCH", "/api/v1/nodes/y/status", more, content=merge)
            cpu = cache.state.columns["cpu"]
            await _until(lambda: cache.state.allocatable[cache.state.rows["y"], cpu] == 8000)
            await _ask(cluster, "DELETE", "/api/v1/nodes/x")
            await _until(lambda: set(cache.state.rows) == {"y"})

    asyncio.run(run())


@pytest.mark.parametrize("killed", [(clusters.API,), (clusters.API, clusters.ETCD)], ids="+".join)
def test_a_restart_of_the_api_server_is_survived(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path, killed: tuple[str, ...]
) -> None:
    async def run() -> None:
        async with _cached(kubeconfig) as (cache, result):
            await asyncio.to_thread(nodes.make, cluster, [nodes.document("only")])
            path = f"/api/v1/namespaces/{namespace}/pods"
            await _ask(cluster, "POST", path, _pod("before"))
            await _until(lambda: _requested_m(cache, "only") == 100)
            for name in killed:
                cluster.processes[name].kill()
            await _until(lambda: bool(result["Pod"].freshness.faults))
            await asyncio.to_thread(cluster.restart_api)
            await _ask(cluster, "POST", path, _pod("after"))
            await _until(lambda: _requested_m(cache, "only") == 200)
            # Everything that was known has been resumed, not read again from the start.
            assert result["Pod"].freshness.lists <= 2

    asyncio.run(run())
