"""Pods and deployments for the test cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from testenv.clusters import Cluster, wait_for


def pod(name: str, requests: Mapping[str, str], **spec: Any) -> dict[str, Any]:
    """Return a pod of one container.

    Args:
        name: Its name.
        requests: What it requests; extended resources are limited to the same, as they have to be.
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
    wanted = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}}
    return {"metadata": {"name": name}, "spec": {**wanted, "template": template}}


def create(cluster: Cluster, namespace: str, *objects: Mapping[str, Any]) -> None:
    """Create pods and deployments."""
    for made in objects:
        kind = "deployments" if "template" in made["spec"] else "pods"
        group = "/apis/apps/v1" if kind == "deployments" else "/api/v1"
        cluster.request("POST", f"{group}/namespaces/{namespace}/{kind}", made)


def pods(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    """Return the pods of a namespace."""
    found = cluster.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
    return list(found)


def placed(cluster: Cluster, namespace: str) -> dict[str, str]:
    """Return the node of every pod of a namespace that has one."""
    return {
        found["metadata"]["name"]: found["spec"]["nodeName"]
        for found in pods(cluster, namespace)
        if found["spec"].get("nodeName")
    }


def remind_kubelets(cluster: Cluster, found: Iterable[Mapping[str, Any]]) -> None:
    """Let KWOK look once more at pods that have a node and were not started.

    It gives a pod up when the API server breaks off the request that would start it, and passes
    over those that came before it took a node over from its predecessor. It looks again only when
    the pod changes. A kubelet tries again by itself.
    """
    content = "application/merge-patch+json"
    for pod in found:
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
    """Wait until so many pods of a namespace have a node."""
    wait_for(lambda: len(placed(cluster, namespace)) >= count, seconds)
