"""The part of a Kubernetes client that certificates need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class CertificateClient(Protocol):
    """Reads and writes objects; errors are ``live.api.errors.ApiError``."""

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return an object or a list."""

    async def post(self, path: str, body: Any) -> dict[str, Any]:
        """Create an object."""

    async def put(self, path: str, body: Any) -> dict[str, Any]:
        """Replace an object."""

    async def patch(
        self, path: str, body: Any, content_type: str = "application/merge-patch+json"
    ) -> dict[str, Any]:
        """Patch an object."""
