"""Lists of metadata only: the objects a selector matches, at a tenth of the bytes."""

from __future__ import annotations

import msgspec

from kubestow.live.api.clients import ApiClient
from kubestow.live.api.errors import ApiError

# Servers without this media type return whole objects, which contain the same fields.
_ACCEPT = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"


class _Metadata(msgspec.Struct):
    name: str


class _Item(msgspec.Struct):
    metadata: _Metadata


class _List(msgspec.Struct):
    items: list[_Item] | None = None


async def list_names(client: ApiClient, path: str, selector: str) -> tuple[str, ...]:
    """Return the names of the objects at a path that a label selector matches, sorted.

    The response comes from the server's cache (``resourceVersion=0``), without paging.

    Raises:
        ApiError: If there is no response, or an error.
    """
    params = {"resourceVersion": "0"} | ({"labelSelector": selector} if selector else {})
    response = await client.get(path, params, accept=_ACCEPT)
    try:
        listing = msgspec.convert(response, _List)
    except msgspec.ValidationError as err:
        raise ApiError(0, "Malformed", f"{path}: response is not a list: {err}") from err
    return tuple(sorted(item.metadata.name for item in listing.items or ()))
