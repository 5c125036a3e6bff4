"""The objects a cluster needs to call the webhook; plain values, for charts and tests.

As in Böttcher 2023 (4.2), with what was missing there: who may read what, a webhook per label so
that pods without one are not even sent, and no calls for the namespace the webhook itself lives in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubestow.live.admission import handler
from kubestow.live.admission.policy import MANAGED_LABEL

TIMEOUT_S: Final = 5  # more than the webhook's own deadline, so that it can answer in time
_NAME_LABEL: Final = "kubernetes.io/metadata.name"


def webhook_configuration(
    name: str,
    namespace: str,
    service: str,
    labels: Sequence[str] = (MANAGED_LABEL,),
    port: int = 443,
) -> dict[str, Any]:
    """Return a MutatingWebhookConfiguration.

    A webhook that cannot be reached does not stand in the way (``failurePolicy: Ignore``).

    Args:
        name: Its name.
        namespace: Where the webhook lives.
        service: The service that leads to it.
        labels: Labels that namespaces and pods must have; one webhook each.
        port: Port of the service.
    """
    where = {"name": service, "namespace": namespace, "path": handler.PATH, "port": port}
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
            "clientConfig": {"service": where},
            "failurePolicy": "Ignore",
            "matchPolicy": "Equivalent",
            # The second call, after others changed the pod, changes nothing again.
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
    """Return what the webhook may do in the whole cluster: look around, and keep its bundle."""
    looks = ["namespaces", "limitranges", "resourcequotas", "nodes"]
    return [
        {"apiGroups": [""], "resources": looks, "verbs": ["list"]},
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["mutatingwebhookconfigurations"],
            "resourceNames": [webhook],
            "verbs": ["get", "patch"],
        },
    ]
