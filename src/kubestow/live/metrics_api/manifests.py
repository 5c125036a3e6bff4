"""The objects a cluster needs to use this server, as plain values for manifests and tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubestow.live.metrics_api.paths import VERSIONS

GROUPS: Final = tuple(f"{version}.{group}" for group in VERSIONS for version in VERSIONS[group])
READER: Final = "extension-apiserver-authentication-reader"
"""Existing role in kube-system for reading the front proxy's configuration."""


def api_services(namespace: str, service: str, port: int = 443) -> list[dict[str, Any]]:
    """Return the APIServices; the server fills in their ``caBundle``.

    Args:
        namespace: Namespace of the server.
        service: Its service.
        port: Port of the service.
    """
    return [
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{group}"},
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100 * (len(versions) - index),
                "service": {"name": service, "namespace": namespace, "port": port},
            },
        }
        for group, versions in VERSIONS.items()
        for index, version in enumerate(versions)
    ]


def cluster_rules(
    listed: Sequence[str] = ("pods", "nodes", "services", "namespaces"),
    names: Sequence[str] = GROUPS,
) -> list[dict[str, Any]]:
    """Return the server's cluster-wide RBAC rules.

    Args:
        listed: Core resources that label selectors can select.
        names: APIServices whose CA bundle it updates.
    """
    bundles = {
        "apiGroups": ["apiregistration.k8s.io"],
        "resources": ["apiservices"],
        "resourceNames": list(names),
        "verbs": ["get", "patch"],
    }
    return [
        {"apiGroups": [""], "resources": list(listed), "verbs": ["list"]},
        {
            "apiGroups": ["authentication.k8s.io"],
            "resources": ["tokenreviews"],
            "verbs": ["create"],
        },
        {
            "apiGroups": ["authorization.k8s.io"],
            "resources": ["subjectaccessreviews"],
            "verbs": ["create"],
        },
        *([bundles] if names else []),  # a rule without names would match all objects
    ]


def writer_rules(resource: str, metric: str) -> list[dict[str, Any]]:
    """Return the RBAC rules for writing a metric: ``create`` on ``RESOURCE/METRIC``."""
    whole = f"{resource}/{metric}"
    return [{"apiGroups": ["custom.metrics.k8s.io"], "resources": [whole], "verbs": ["create"]}]
