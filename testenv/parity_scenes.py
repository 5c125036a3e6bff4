"""Creates the objects of a scheduling case on a control plane, then its pods, then cleans up.

Controllers and kubelets are stopped meanwhile, so that the cluster stays as the case states: no pod
is evicted, replaced or resized.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from testenv import clusters, nodes, parity_cases, parity_volumes, scheduling_logs
from testenv.parity_cases import Case, Json

_MERGE = "application/merge-patch+json"
_GROUPS = {
    "Service": "/api/v1/{}/services",
    "ReplicationController": "/api/v1/{}/replicationcontrollers",
    "ReplicaSet": "/apis/apps/v1/{}/replicasets",
    "StatefulSet": "/apis/apps/v1/{}/statefulsets",
}
# All overheads that the generator of cases uses: CPU and memory.
_OVERHEADS = (*itertools.product(("10m", "250m"), ("16Mi", "120Mi")), ("50m", "30Mi"))
_SEEN_S, _DECIDED_S = 30.0, 30.0
_POLL_S = 0.003
_STORED_S = 0.2  # until the scheduler has seen storage objects, which it does not log


class Refused(Exception):  # noqa: N818 - not an error: the case does not suit a real API server
    """The API server refuses an object of a case."""


def prepare(cluster: clusters.Cluster) -> None:
    """Create the objects that all cases share, and stop controllers and kubelets."""
    for name in parity_cases.NAMESPACES:
        labels = {"team": name[-1]}
        cluster.request(
            "POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}}
        )
        account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
        clusters.wait_for(functools.partial(_exists, cluster, account), 30)
    for cpu, memory in _OVERHEADS:
        overhead = {"cpu": cpu, "memory": memory}
        name = parity_cases.runtime_class(overhead)
        made = {"metadata": {"name": name}, "handler": "any", "overhead": {"podFixed": overhead}}
        cluster.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", made)
    for process in (clusters.CONTROLLERS, clusters.KUBELETS):
        cluster.processes[process].stop()


def _exists(cluster: clusters.Cluster, path: str) -> bool:
    return cluster.request("GET", path, missing=True) is not None


@contextlib.contextmanager
def laid_out(
    cluster: clusters.Cluster, log: scheduling_logs.SchedulingLog, case: Case
) -> Iterator[list[Json]]:
    """Create a case and yield its objects as the API server has them, without pending pods.

    Raises:
        Refused: If the API server refuses one of them.
    """
    try:
        for made in case.of_kind(*_GROUPS):
            _post(cluster, _path(made), made)
        stored = case.of_kind(*parity_volumes.KINDS)
        if stored:
            _store(cluster, stored)
        nodes.in_parallel(lambda node: _make_node(cluster, node), case.of_kind("Node"))
        bound = [pod for pod in case.of_kind("Pod") if pod["spec"].get("nodeName")]
        nodes.in_parallel(lambda pod: _make_bound(cluster, pod), bound)
        names = {node["metadata"]["name"] for node in case.of_kind("Node")}
        wait_until_read(log, lambda: names <= log.nodes["Update"])
        if stored:
            time.sleep(_STORED_S)
        yield _read_back(cluster, parity_volumes.listed() if stored else {})
    finally:
        _clear(cluster, log, case)


def _store(cluster: clusters.Cluster, objects: list[Json]) -> None:
    try:
        parity_volumes.create(cluster, objects)
    except RuntimeError as error:
        raise Refused(str(error)) from error


def ask(cluster: clusters.Cluster, pod: Json) -> Json:
    """Create a pending pod and return it as the API server has it.

    Raises:
        Refused: If the API server refuses it.
    """
    return _post(cluster, _pods_of(pod), pod)


def decision(cluster: clusters.Cluster, pod: Json) -> tuple[str | None, str]:
    """Return the node of a pod, or why it has none; a pod without a node is deleted."""
    path = f"{_pods_of(pod)}/{pod['metadata']['name']}"
    decisions: list[tuple[str | None, str]] = []

    def decided() -> bool:
        parity_volumes.complete(cluster, pod)
        now = cluster.request("GET", path)
        node = now["spec"].get("nodeName")
        if node:
            decisions.append((node, ""))
        decisions.extend(
            (None, f"{condition['reason']}: {condition['message']}")
            for condition in now["status"].get("conditions", [])
            if condition["type"] == "PodScheduled" and condition["status"] == "False"
        )
        return bool(decisions)

    clusters.wait_for(decided, _DECIDED_S, _POLL_S)
    if decisions[0][0] is None:
        cluster.request("DELETE", f"{path}?gracePeriodSeconds=0")
    return decisions[0]


def wait_until_read(log: scheduling_logs.SchedulingLog, condition: Callable[[], bool]) -> None:
    """Read a log until a condition holds."""

    def holds() -> bool:
        log.read()
        return condition()

    clusters.wait_for(holds, _SEEN_S, _POLL_S)


def _post(cluster: clusters.Cluster, path: str, body: Mapping[str, Any]) -> Json:
    try:
        created: Json = cluster.request("POST", path, body)
    except RuntimeError as error:
        raise Refused(str(error)) from error
    return created


def _path(made: Json) -> str:
    return _GROUPS[made["kind"]].format(f"namespaces/{made['metadata']['namespace']}")


def _pods_of(pod: Json) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods"


def _make_node(cluster: clusters.Cluster, node: Json) -> None:
    status = {**node["status"], "conditions": [{"type": "Ready", "status": "True"}]}
    status["capacity"] = status["allocatable"]
    _post(cluster, "/api/v1/nodes", {**node, "status": status})
    # The API server taints every new node as not ready; a controller would remove the taint.
    taints = {"spec": {"taints": node.get("spec", {}).get("taints")}}
    path = f"/api/v1/nodes/{node['metadata']['name']}"
    cluster.request("PATCH", path, taints, content=_MERGE)


def _make_bound(cluster: clusters.Cluster, pod: Json) -> None:
    path = f"{_pods_of(pod)}/{pod['metadata']['name']}"
    metadata = {
        key: value for key, value in pod["metadata"].items() if not key.startswith("deletion")
    }
    _post(cluster, _pods_of(pod), {**pod, "metadata": metadata})
    if pod["status"] != {"phase": "Running"}:
        try:
            cluster.request("PATCH", f"{path}/status", {"status": pod["status"]}, content=_MERGE)
        except RuntimeError as error:
            raise Refused(str(error)) from error
    if "deletionTimestamp" in pod["metadata"]:
        cluster.request("DELETE", f"{path}?gracePeriodSeconds=30")


def _read_back(cluster: clusters.Cluster, more: Mapping[str, str]) -> list[Json]:
    paths = {
        "Node": "/api/v1/nodes",
        "Namespace": "/api/v1/namespaces",
        "Pod": "/api/v1/pods",
        **{kind: path.format("").replace("//", "/") for kind, path in _GROUPS.items()},
        **more,
    }
    items = []
    for kind, path in paths.items():
        answer = cluster.request("GET", path)
        items += [
            {"apiVersion": answer["apiVersion"], "kind": kind, **item} for item in answer["items"]
        ]
    return items


def _clear(cluster: clusters.Cluster, log: scheduling_logs.SchedulingLog, case: Case) -> None:
    for made in case.of_kind(*_GROUPS):
        path = f"{_path(made)}/{made['metadata']['name']}?propagationPolicy=Background"
        cluster.request("DELETE", path, missing=True)
    for namespace in ("default", *parity_cases.NAMESPACES):
        cluster.request("DELETE", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")
    if case.of_kind(*parity_volumes.KINDS):
        parity_volumes.delete(cluster)
    cluster.request("DELETE", "/api/v1/nodes")
    log.read()
    wait_until_read(log, lambda: log.nodes["Add"] <= log.nodes["Delete"])
