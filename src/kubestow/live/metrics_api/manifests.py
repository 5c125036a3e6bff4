"""The objects a cluster needs to ask this server; plain values, for charts and tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubestow.live.metrics_api.paths import VERSIONS

GROUPS: Final = tuple(f"{version}.{group}" for group in VERSIONS for version in VERSIONS[group])
READER: Final = "extension-apiserver-authentication-reader"
"""Role in kube-system that is there already: to read of the front proxy."""


def api_services(namespace: str, service: str, port: int = 443) -> list[dict[str, Any]]:
    """Return the APIServices; their ``caBundle`` is filled in by the server.

    Args:
        namespace: Where the server lives.
        service: The service that leads to it.
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
                "versionPriority": 100 * (len(versions) - place),
                "service": {"name": service, "namespace": namespace, "port": port},
            },
        }
        for group, versions in VERSIONS.items()
        for place, version in enumerate(versions)
    ]


def cluster_rules(
    listed: Sequence[str] = ("pods", "nodes", "services", "namespaces"),
    names: Sequence[str] = GROUPS,
) -> list[dict[str, Any]]:
    """Return what the server may do in the whole cluster.

    Args:
        listed: Core resources that label selectors are asked for.
        names: APIServices whose bundle it keeps.
    """
    keeps = {
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
        *([keeps] if names else []),  # a rule without names would be one for all of them
    ]


def writer_rules(resource: str, metric: str) -> list[dict[str, Any]]:
    """Return what someone needs to write a metric: ``create`` on ``RESOURCE/METRIC``."""
    whole = f"{resource}/{metric}"
    return [{"apiGroups": ["custom.metrics.k8s.io"], "resources": [whole], "verbs": ["create"]}]
