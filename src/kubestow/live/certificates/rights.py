"""What a server needs to be allowed in order to share certificates with its replicas."""

from __future__ import annotations

from typing import Any


def secret_rules(secret: str) -> list[dict[str, Any]]:
    """Return rights in a server's own namespace: make one Secret, and read and change that one."""
    return [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [secret],
            "verbs": ["get", "update"],
        },
    ]
