"""Inventory of a cluster's workloads: requests, owners, nodes, autoscalers, namespace bounds.

The same inventory as from files and Prometheus, plus what only the API server knows: LimitRanges
and quotas.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubestow.live import api, caches
from kubestow.model import decoding, errors, usage
from kubestow.model.keys import ContainerKey, WorkloadKey, guess_job_owner
from kubestow.model.limit_ranges import PodBounds

_OWNED = {"ReplicaSet": "/apis/apps/v1/replicasets", "Job": "/apis/batch/v1/jobs"}
_HPAS = "/apis/autoscaling/v2/horizontalpodautoscalers"

PodName = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class ClusterInventory:
    """The inventory of a cluster.

    Attributes:
        inventory: Containers, replicas, labels, nodes and autoscalers.
        workloads: The workload of every pod.
        bounds: Bounds of namespaces.
        kills: Number of pods whose container was last OOM-killed.
    """

    inventory: usage.Inventory = field(default_factory=usage.Inventory)
    workloads: Mapping[PodName, WorkloadKey] = field(default_factory=dict)
    bounds: Mapping[str, PodBounds] = field(default_factory=dict)
    kills: Mapping[ContainerKey, int] = field(default_factory=dict)


async def read_inventory(
    client: api.ApiClient, namespaces: tuple[str, ...] = ()
) -> ClusterInventory:
    """Read the inventory of a cluster.

    Args:
        client: Client of the API server.
        namespaces: Namespaces to read; default: all.

    Raises:
        ApiError: If the server refuses or cannot be reached.
        InputError: If an object is malformed.
    """

    async def everything(path: str) -> list[dict[str, Any]]:
        """Return the objects of a kind in these namespaces."""
        paths = [_within(path, name) for name in namespaces] or [path]
        pages = [await api.read_list(client, each) for each in paths]
        return [item for page in pages for item in page.items]

    pods = await everything("/api/v1/pods")
    owners = {kind: await everything(path) for kind, path in _OWNED.items()}
    hpas = await everything(_HPAS)
    ranges, quotas = [await everything(f"/api/v1/{k}") for k in ("limitranges", "resourcequotas")]
    nodes = (await api.read_list(client, "/api/v1/nodes")).items
    bounds = await asyncio.to_thread(caches.read_bounds, [], ranges, quotas, nodes)
    return assemble(pods, owners, hpas, nodes, bounds.bounds)


def _within(path: str, namespace: str) -> str:
    base, _, kind = path.rpartition("/")
    return f"{base}/namespaces/{namespace}/{kind}"


def assemble(
    pods: Iterable[dict[str, Any]],
    owners: Mapping[str, Iterable[dict[str, Any]]],
    hpas: Iterable[dict[str, Any]],
    nodes: Iterable[dict[str, Any]],
    bounds: Mapping[str, PodBounds],
) -> ClusterInventory:
    """Build the inventory from lists of objects.

    Raises:
        InputError: If an object is malformed.
    """
    above = {kind: _controllers(documents) for kind, documents in owners.items()}
    living = [decoding.Field(pod, "Pod") for pod in pods if not _has_ended(pod)]
    living.sort(key=lambda pod: pod["metadata"]["creationTimestamp"].text(""))
    workloads: dict[PodName, WorkloadKey] = {}
    containers: dict[ContainerKey, usage.ContainerFacts] = {}
    replicas: dict[WorkloadKey, int] = {}
    labels: dict[WorkloadKey, Mapping[str, str]] = {}
    kills: dict[ContainerKey, int] = {}
    for pod in living:
        key = _workload(pod, above)
        metadata = pod["metadata"]
        workloads[key.namespace, metadata["name"].text()] = key
        replicas[key] = replicas.get(key, 0) + 1
        labels[key] = metadata["labels"].labels()
        for container in _containers(pod):  # of several pods the newest is used
            name = container["name"].text()
            containers[ContainerKey(*key, name)] = _facts(container)
        for name in _killed(pod):
            container_key = ContainerKey(*key, name)
            kills[container_key] = kills.get(container_key, 0) + 1
    inventory = usage.Inventory(
        containers=containers,
        replicas=replicas,
        labels=labels,
        nodes=dict(_nodes(nodes)),
        autoscaled=_autoscaled(hpas),
    )
    return ClusterInventory(inventory, workloads, bounds, kills)


def _has_ended(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _controllers(documents: Iterable[dict[str, Any]]) -> dict[PodName, tuple[str, str]]:
    """Return the controller of each object, by namespace and name."""
    above = {}
    for document in documents:
        metadata = decoding.Field(document, "owner")["metadata"]
        owner = _owner(metadata)
        if owner is not None:
            above[metadata["namespace"].text(), metadata["name"].text()] = owner
    return above


def _owner(metadata: decoding.Field) -> tuple[str, str] | None:
    for owner in metadata["ownerReferences"].items():
        if owner["controller"].truth():
            return owner["kind"].text(), owner["name"].text()
    return None


def _workload(
    pod: decoding.Field, above: Mapping[str, Mapping[PodName, tuple[str, str]]]
) -> WorkloadKey:
    """Return the workload of a pod; a pod without owner is its own workload."""
    metadata = pod["metadata"]
    namespace = metadata["namespace"].text()
    kind, name = _owner(metadata) or ("Pod", metadata["name"].text())
    if kind == "Node":  # a static pod
        kind, name = "Pod", metadata["name"].text()
    kind, name = above.get(kind, {}).get((namespace, name), (kind, name))
    if kind == "Job":
        kind, name = guess_job_owner(name)
    return WorkloadKey(namespace, kind, name)


def _containers(pod: decoding.Field) -> list[decoding.Field]:
    """Return containers that run as long as the pod: sidecars (init containers) and others."""
    sidecars = [
        container
        for container in pod["spec"]["initContainers"].items()
        if container["restartPolicy"].text("") == "Always"
    ]
    return [*sidecars, *pod["spec"]["containers"].items()]


def _killed(pod: decoding.Field) -> list[str]:
    """Return the names of containers that were last OOM-killed."""
    return [
        status["name"].text()
        for status in pod["status"]["containerStatuses"].items()
        for state in (status["lastState"], status["state"])
        if state["terminated"]["reason"].text("") == "OOMKilled"
    ]


def _facts(container: decoding.Field) -> usage.ContainerFacts:
    stated = container["resources"]
    return usage.ContainerFacts(
        requests=stated["requests"].quantities(),
        limits=stated["limits"].quantities(),
        image=container["image"].text(""),
        command=(*container["command"].texts(), *container["args"].texts()),
        variables={
            entry["name"].text(): entry["value"].text("")
            for entry in container["env"].items()
            if entry["valueFrom"].missing
        },
    )


def _nodes(documents: Iterable[dict[str, Any]]) -> Iterable[tuple[str, Any]]:
    for document in documents:
        node = decoding.Field(document, "Node")
        if not node["spec"]["unschedulable"].truth():
            yield node["metadata"]["name"].text(), node["status"]["allocatable"].quantities()


def _autoscaled(documents: Iterable[dict[str, Any]]) -> dict[WorkloadKey, dict[str, int]]:
    """Return target utilization in percent, by workload and resource."""
    targets: dict[WorkloadKey, dict[str, int]] = {}
    for document in documents:
        hpa = decoding.Field(document, "HorizontalPodAutoscaler")
        reference = hpa["spec"]["scaleTargetRef"]
        key = WorkloadKey(
            hpa["metadata"]["namespace"].text(),
            reference["kind"].text(),
            reference["name"].text(),
        )
        for metric in hpa["spec"]["metrics"].items():
            source = metric["resource"] if metric["type"].text("") == "Resource" else None
            if source is None or source["target"]["averageUtilization"].missing:
                continue
            percent = source["target"]["averageUtilization"].integer(least=1)
            targets.setdefault(key, {})[source["name"].text()] = percent
    return targets


def workload_path(key: WorkloadKey) -> str:
    """Return the API path of a workload; of a pod, its resize subresource.

    Raises:
        InputError: If its kind has no containers that can be changed.
    """
    if key.kind not in _PATHS:
        raise errors.InputError(str(key), f"{key.kind}: change it at its source")
    return _PATHS[key.kind].format(namespace=key.namespace, name=key.name)


_PATHS = {
    "Pod": "/api/v1/namespaces/{namespace}/pods/{name}/resize",
    "Deployment": "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
    "StatefulSet": "/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}",
    "DaemonSet": "/apis/apps/v1/namespaces/{namespace}/daemonsets/{name}",
    "ReplicaSet": "/apis/apps/v1/namespaces/{namespace}/replicasets/{name}",
    "CronJob": "/apis/batch/v1/namespaces/{namespace}/cronjobs/{name}",
}
