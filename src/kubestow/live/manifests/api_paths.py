"""API paths of objects."""

from __future__ import annotations

from typing import Any, Final

from kubestow.model import errors

# Plural names by kind.
_PLURALS: Final = {
    "APIService": "apiservices",
    "Certificate": "certificates",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "ConfigMap": "configmaps",
    "Deployment": "deployments",
    "Issuer": "issuers",
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "Namespace": "namespaces",
    "NetworkPolicy": "networkpolicies",
    "PodDisruptionBudget": "poddisruptionbudgets",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Service": "services",
    "ServiceAccount": "serviceaccounts",
}


def path_of(document: dict[str, Any]) -> str:
    """Return the path of an object.

    >>> path_of({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    '/api/v1/namespaces/shop'

    Raises:
        InputError: If its kind is not part of an installation.
    """
    kind, metadata = document["kind"], document["metadata"]
    if kind not in _PLURALS:
        raise errors.InputError(kind, f"expected one of {', '.join(sorted(_PLURALS))}")
    version = document["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = metadata.get("namespace")
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{within}/{_PLURALS[kind]}/{metadata['name']}"
