"""Nodes for the test cluster: made, waited for until pods may go there, taken away."""

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
    """Return a node as it is sent to the API server."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {"allocatable": dict(offer), "capacity": dict(offer)},
    }


def make(cluster: Cluster, documents: Iterable[Mapping[str, Any]]) -> None:
    """Create nodes and wait until pods may go there.

    Ready is not enough: the taint of a node that is not ready goes a little later.
    """
    wanted = list(documents)
    in_parallel(lambda node: cluster.request("POST", "/api/v1/nodes", node), wanted)
    names = {node["metadata"]["name"] for node in wanted}
    asked = {node["metadata"]["name"]: node.get("spec", {}).get("taints", []) for node in wanted}

    def schedulable() -> bool:
        found = cluster.request("GET", "/api/v1/nodes?resourceVersion=0")["items"]
        ready = {
            node["metadata"]["name"]
            for node in found
            if len(node["spec"].get("taints", [])) <= len(asked.get(node["metadata"]["name"], []))
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
    found = cluster.request("GET", "/api/v1/nodes")["items"]
    remove(cluster, [node["metadata"]["name"] for node in found])


def in_parallel(task: Any, items: list[Any]) -> None:
    """Run a task for every item, some at a time; the first error is raised."""
    with futures.ThreadPoolExecutor(_PARALLEL) as pool:
        list(pool.map(task, items))
