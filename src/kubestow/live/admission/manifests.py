"""The objects a cluster needs to call the webhook, as plain values for manifests and tests.

As in Böttcher 2023 (4.2), with additions: RBAC rules, one webhook per label so that pods without
a label are not sent at all, and no calls for the webhook's own namespace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubestow.live.admission import handler
from kubestow.live.admission.policy import MANAGED_LABEL

TIMEOUT_S: Final = 5  # longer than the webhook's own deadline
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


def webhook_configuration(
    name: str,
    namespace: str,
    service: str,
    labels: Sequence[str] = (MANAGED_LABEL,),
    port: int = 443,
) -> dict[str, Any]:
    """Return a MutatingWebhookConfiguration.

    An unreachable webhook does not block pods (``failurePolicy: Ignore``).

    Args:
        name: Its name.
        namespace: Namespace of the webhook.
        service: Its service.
        labels: Labels that namespaces and pods must have; one webhook per label.
        port: Port of the service.
    """
    target = {"name": service, "namespace": namespace, "path": handler.PATH, "port": port}
    elsewhere = {"key": _NAME_LABEL, "operator": "NotIn", "values": ["kube-system", namespace]}
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods"],
        "scope": "Namespaced",
    }
    hooks = [
        {
            "name": f"pods-{number}.kubestow.io",
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": target},
            "failurePolicy": "Ignore",
            "matchPolicy": "Equivalent",
            # A second call, after others changed the pod, is idempotent.
            "reinvocationPolicy": "IfNeeded",
            "sideEffects": "NoneOnDryRun",
            "timeoutSeconds": TIMEOUT_S,
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {label: "true"}, "matchExpressions": [elsewhere]},
            "objectSelector": {"matchLabels": {label: "true"}},
        }
        for number, label in enumerate(labels)
    ]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": hooks,
    }


def cluster_rules(webhook: str) -> list[dict[str, Any]]:
    """Return the webhook's cluster-wide RBAC rules: list objects, and update its CA bundle."""
    listed = ["namespaces", "limitranges", "resourcequotas", "nodes"]
    return [
        {"apiGroups": [""], "resources": listed, "verbs": ["list"]},
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["mutatingwebhookconfigurations"],
            "resourceNames": [webhook],
            "verbs": ["get", "patch"],
        },
    ]
