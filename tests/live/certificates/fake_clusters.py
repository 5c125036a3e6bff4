"""A few objects with resource versions, as an API server keeps them; enough for our own code."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from typing import Any

from kubestow.live.api.errors import ApiError
from tests.live.patching import apply


class FakeCluster:
    """Objects by path. Every call lets others run first, so that callers overtake each other."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.writes: list[tuple[str, str]] = []
        self.refused: set[str] = set()
        self._version = 0

    def add(self, path: str, content: dict[str, Any]) -> None:
        self._version += 1
        kept = copy.deepcopy(content)
        kept.setdefault("metadata", {})["resourceVersion"] = str(self._version)
        self.objects[path] = kept

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        assert params is None, "nothing here is a list"
        await self._begin(path)
        if path not in self.objects:
            raise ApiError(404, "NotFound", path)
        return copy.deepcopy(self.objects[path])

    async def post(self, path: str, body: Any) -> dict[str, Any]:
        await self._begin(path)
        whole = f"{path}/{body['metadata']['name']}"
        if whole in self.objects:
            raise ApiError(409, "AlreadyExists", whole)
        return self._write("POST", whole, body)

    async def put(self, path: str, body: Any) -> dict[str, Any]:
        await self._begin(path)
        if path not in self.objects:
            raise ApiError(404, "NotFound", path)
        present = self.objects[path]["metadata"]["resourceVersion"]
        if body["metadata"].get("resourceVersion", present) != present:
            raise ApiError(409, "Conflict", path)
        return self._write("PUT", path, body)

    async def patch(
        self, path: str, body: Any, content_type: str = "application/merge-patch+json"
    ) -> dict[str, Any]:
        await self._begin(path)
        if path not in self.objects:
            raise ApiError(404, "NotFound", path)
        if content_type == "application/json-patch+json":
            try:
                return self._write("PATCH", path, apply(self.objects[path], body))
            except AssertionError:
                raise ApiError(422, "Invalid", path) from None
        return self._write("PATCH", path, _merge(self.objects[path], body))

    async def _begin(self, path: str) -> None:
        await asyncio.sleep(0.0)
        if any(path.startswith(each) for each in self.refused):
            raise ApiError(403, "Forbidden", path)

    def _write(self, verb: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.add(path, body)
        self.writes.append((verb, path))
        return copy.deepcopy(self.objects[path])


def _merge(present: Any, change: Any) -> Any:
    """RFC 7386."""
    if not isinstance(change, dict):
        return change
    merged = dict(present) if isinstance(present, dict) else {}
    for key, value in change.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merge(merged.get(key), value)
    return merged
