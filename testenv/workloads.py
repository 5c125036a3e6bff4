"""Pods and deployments for the test cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from testenv.clusters import Cluster, wait_for


def pod(name: str, requests: Mapping[str, str], **spec: Any) -> dict[str, Any]:
    """Return a pod of one container.

    Args:
        name: Its name.
        requests: Its requests; extended resources get equal limits, as required.
        spec: Further fields of its specification; ``labels`` go to its metadata.
    """
    labels = spec.pop("labels", {})
    extended = {key: value for key, value in requests.items() if "/" in key}
    resources = {"requests": dict(requests), "limits": extended}
    container = {"name": "main", "image": "pause", "resources": resources}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [container], **spec},
    }


def deployment(
    name: str, replicas: int, requests: Mapping[str, str], **spec: Any
) -> dict[str, Any]:
    """Return a deployment of such pods."""
    labels = {"app": name, **spec.pop("labels", {})}
    made = pod(name, requests, labels=labels, **spec)
    template = {"metadata": {"labels": labels}, "spec": made["spec"]}
    scale = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}}
    return {"metadata": {"name": name}, "spec": {**scale, "template": template}}


def create(cluster: Cluster, namespace: str, *objects: Mapping[str, Any]) -> None:
    """Create pods and deployments."""
    for made in objects:
        kind = "deployments" if "template" in made["spec"] else "pods"
        group = "/apis/apps/v1" if kind == "deployments" else "/api/v1"
        cluster.request("POST", f"{group}/namespaces/{namespace}/{kind}", made)


def pods(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    """Return the pods of a namespace."""
    items = cluster.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
    return list(items)


def placed(cluster: Cluster, namespace: str) -> dict[str, str]:
    """Return the node of every pod of a namespace that has one."""
    return {
        item["metadata"]["name"]: item["spec"]["nodeName"]
        for item in pods(cluster, namespace)
        if item["spec"].get("nodeName")
    }


def remind_kubelets(cluster: Cluster, candidates: Iterable[Mapping[str, Any]]) -> None:
    """Make KWOK retry pods that have a node and were not started.

    KWOK gives up a pod when the API server drops the request that would start it, and skips pods
    that were created before it took over a node from its predecessor. It retries only when the pod
    changes; a kubelet retries by itself.
    """
    content = "application/merge-patch+json"
    for pod in candidates:
        if pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending":
            metadata = pod["metadata"]
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            again = {"metadata": {"annotations": {"reminded-at": metadata["resourceVersion"]}}}
            cluster.request("PATCH", path, again, content=content, missing=True)


def remove_pods(cluster: Cluster, namespace: str) -> None:
    """Delete the pods of a namespace, and wait until they are gone."""
    cluster.request("DELETE", f"/api/v1/namespaces/{namespace}/pods?gracePeriodSeconds=0")
    wait_for(lambda: not pods(cluster, namespace), 120.0)


def wait_until_placed(cluster: Cluster, namespace: str, count: int, seconds: float = 60.0) -> None:
    """Wait until ``count`` pods of a namespace have a node."""
    wait_for(lambda: len(placed(cluster, namespace)) >= count, seconds)
