"""Paged lists, so that neither side holds all objects of a large cluster in one response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubestow.live.api import errors
from kubestow.live.api.clients import ApiClient

PAGE = 500  # objects; as client-go's pager
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Listing:
    """All objects of a list, and its resource version."""

    items: list[dict[str, Any]]
    version: str


async def read_list(
    client: ApiClient, path: str, params: Mapping[str, str] | None = None
) -> Listing:
    """Return all objects under a path.

    A page that has expired (410) starts the list again; the last attempt requests all objects at
    once, as client-go does.

    Raises:
        ApiError: If the server refuses or cannot be reached.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        limit = {} if attempt == _ATTEMPTS else {"limit": str(PAGE)}
        try:
            return await _pages(client, path, {**(params or {}), **limit})
        except errors.ApiError as err:
            if err.status != errors.GONE or attempt == _ATTEMPTS:
                raise
    raise AssertionError("unreachable")


def _named(page: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the objects of a page with kind and API version, which a list omits."""
    common = {"apiVersion": page.get("apiVersion"), "kind": str(page["kind"]).removesuffix("List")}
    return [{**common, **item} for item in page.get("items") or ()]


async def _pages(client: ApiClient, path: str, params: dict[str, str]) -> Listing:
    items: list[dict[str, Any]] = []
    while True:
        page = await client.get(path, params)
        items.extend(_named(page))
        metadata = page.get("metadata", {})
        if not metadata.get("continue"):
            return Listing(items, str(metadata.get("resourceVersion", "")))
        params = {**params, "continue": metadata["continue"]}
