"""Nodes of the test cluster: create, wait until schedulable, delete."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent import futures
from typing import Any

from testenv.clusters import Cluster, wait_for

OFFER: Mapping[str, str] = {"cpu": "4", "memory": "8Gi", "pods": "110"}
_PARALLEL = 8
_READY_S = 120.0


def document(
    name: str, offer: Mapping[str, str] = OFFER, labels: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the manifest of a node."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {"allocatable": dict(offer), "capacity": dict(offer)},
    }


def make(cluster: Cluster, documents: Iterable[Mapping[str, Any]]) -> None:
    """Create nodes and wait until they are schedulable.

    Ready is not enough: the not-ready taint is removed a little later.
    """
    created = list(documents)
    in_parallel(lambda node: cluster.request("POST", "/api/v1/nodes", node), created)
    names = {node["metadata"]["name"] for node in created}
    taints = {node["metadata"]["name"]: node.get("spec", {}).get("taints", []) for node in created}

    def schedulable() -> bool:
        listed = cluster.request("GET", "/api/v1/nodes?resourceVersion=0")["items"]
        ready = {
            node["metadata"]["name"]
            for node in listed
            if len(node["spec"].get("taints", [])) <= len(taints.get(node["metadata"]["name"], []))
        }
        return names <= ready

    wait_for(schedulable, _READY_S)


def remove(cluster: Cluster, names: Iterable[str]) -> None:
    """Delete nodes."""
    in_parallel(
        lambda name: cluster.request("DELETE", f"/api/v1/nodes/{name}", missing=True), list(names)
    )


def remove_all(cluster: Cluster) -> None:
    """Delete every node."""
    listed = cluster.request("GET", "/api/v1/nodes")["items"]
    remove(cluster, [node["metadata"]["name"] for node in listed])


def in_parallel(task: Any, items: list[Any]) -> None:
    """Run a task for every item in parallel; the first error is raised."""
    with futures.ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(task, items))
