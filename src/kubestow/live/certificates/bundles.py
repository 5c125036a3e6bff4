"""Publishes the CAs to the API server: ``caBundle`` of webhooks and APIServices.

It is written only where it differs, so that replicas do not overwrite each other.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kubestow.live.api import CONFLICT, ApiError
from kubestow.live.certificates.clients import CertificateClient

JSON_PATCH: Final = "application/json-patch+json"
# cert-manager's injector writes the bundle of objects with one of these annotations.
_INJECTED: Final = (
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "cert-manager.io/inject-apiserver-ca",
)
_INVALID: Final = 422  # status for a JSON patch whose test fails
_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Webhooks:
    """All webhooks of a MutatingWebhookConfiguration."""

    name: str

    @property
    def path(self) -> str:
        """API path of the object."""
        return "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/" + self.name

    def changes(self, document: Mapping[str, Any], bundle: str) -> tuple[Any, str] | None:
        """Return a patch and its media type; ``None`` if nothing differs."""
        operations: list[dict[str, Any]] = []
        for index, hook in enumerate(document.get("webhooks") or ()):
            if (hook.get("clientConfig") or {}).get("caBundle") == bundle:
                continue
            # The order may have changed since it was read.
            operations += [
                {"op": "test", "path": f"/webhooks/{index}/name", "value": hook.get("name")},
                {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle},
            ]
        return (operations, JSON_PATCH) if operations else None


@dataclass(frozen=True, slots=True)
class ApiService:
    """An APIService, e.g. ``v1beta2.custom.metrics.k8s.io``."""

    name: str

    @property
    def path(self) -> str:
        """API path of the object."""
        return "/apis/apiregistration.k8s.io/v1/apiservices/" + self.name

    def changes(self, document: Mapping[str, Any], bundle: str) -> tuple[Any, str] | None:
        """Return a patch and its media type; ``None`` if nothing differs."""
        spec = document.get("spec") or {}
        if spec.get("caBundle") == bundle and not spec.get("insecureSkipTLSVerify"):
            return None
        # The two exclude each other.
        change = {"caBundle": bundle, "insecureSkipTLSVerify": None}
        return {"spec": change}, "application/merge-patch+json"


BundleTarget = Webhooks | ApiService


async def announce(client: CertificateClient, target: BundleTarget, bundle: bytes) -> bool:
    """Write the bundle into an object unless it is up to date.

    Returns:
        Whether the object was changed.

    Raises:
        ApiError: If the object does not exist, or cannot be read or written.
    """
    text = base64.b64encode(bundle).decode()
    for left in reversed(range(_ATTEMPTS)):
        document = await client.get(target.path)
        annotations = (document.get("metadata") or {}).get("annotations") or {}
        changes = target.changes(document, text)
        if changes is None or any(name in annotations for name in _INJECTED):
            return False
        try:
            await client.patch(target.path, changes[0], changes[1])
        except ApiError as err:
            if err.status not in (CONFLICT, _INVALID) or not left:
                raise
        else:
            return True
    return False
