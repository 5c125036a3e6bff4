"""Bounds for new pods: LimitRanges and quotas of their namespace, and the largest node.

Admission works without them, on the pod alone. With them, no pod gets requests that its namespace
would reject or no node can hold. They are read in the background; admission uses the last values.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from kubestow.live.api import ApiError
from kubestow.model import decoding, errors, limit_ranges, quantities, resources
from kubestow.model.limit_ranges import LimitRangeItem, PodBounds

REFRESH_S: Final = 30.0
_PAGE: Final = 100  # objects; decoding a page must not delay requests
_MOST_PAGES: Final = 1000
_BOTH: Final = (resources.CPU, resources.MEMORY)
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NamespaceFacts:
    """Labels and annotations of a namespace."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NamespaceBounds:
    """Known bounds of the cluster; empty if nothing is known.

    Attributes:
        namespaces: Labels and annotations by name.
        bounds: Bounds of namespaces by name; unbounded namespaces are not included.
        node: Largest allocatable CPU and memory of any schedulable node.
    """

    namespaces: Mapping[str, NamespaceFacts] = field(default_factory=dict)
    bounds: Mapping[str, PodBounds] = field(default_factory=dict)
    node: Mapping[str, int] | None = None

    def allowed(self, namespace: str) -> PodBounds:
        """Return the bounds of a namespace."""
        return self.bounds.get(namespace, _ANYTHING)


_ANYTHING: Final = PodBounds()
_NOTHING: Final = NamespaceBounds()
Documents = Iterable[Mapping[str, Any]]


def unknown_bounds() -> NamespaceBounds:
    """Return empty bounds, for hosts without a cluster."""
    return _NOTHING


class BoundsReader(Protocol):
    """Reads objects; errors are ``live.api.errors.ApiError``."""

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return a list."""


def read_bounds(
    namespaces: Documents, ranges: Documents, quotas: Documents, nodes: Documents
) -> NamespaceBounds:
    """Compute bounds from lists of objects.

    Raises:
        InputError: If an object is malformed.
    """
    items: dict[str, list[decoding.Field]] = {}
    for document in ranges:
        limit_range = decoding.Field(document, "LimitRange")
        items.setdefault(limit_range["metadata"]["namespace"].text(), []).extend(
            limit_range["spec"]["limits"].items()
        )
    left: dict[str, dict[str, int]] = {}
    for document in quotas:
        quota = decoding.Field(document, "ResourceQuota")
        _add_quota(quota, left.setdefault(quota["metadata"]["namespace"].text(), {}))
    return NamespaceBounds(
        namespaces=dict(_namespace(decoding.Field(each, "Namespace")) for each in namespaces),
        bounds={name: _bounds(items.get(name, []), left.get(name, {})) for name in {*items, *left}},
        node=_largest(nodes),
    )


class BoundsWatcher:
    """Reads the bounds periodically.

    Args:
        client: Client of the API server.
        count: Called with ``ok`` or ``failed`` after each read.
    """

    def __init__(self, client: BoundsReader, count: Callable[[str], None] = lambda _: None) -> None:
        self._client, self._count = client, count
        self.current = NamespaceBounds()

    async def refresh(self) -> None:
        """Read all bounds once.

        Raises:
            ApiError: If the API server fails; the last bounds are kept.
            InputError: If an object is malformed.
        """
        paths = ("namespaces", "limitranges", "resourcequotas", "nodes")
        lists = [await self._list(f"/api/v1/{path}") for path in paths]
        self.current = await asyncio.to_thread(read_bounds, *lists)

    async def keep(self, every_s: float = REFRESH_S) -> None:
        """Read periodically until cancelled."""
        while True:
            try:
                await self.refresh()
            except (ApiError, errors.InputError) as err:
                self._count("failed")
                _LOG.warning("cannot read the bounds of namespaces: %s", err)
            else:
                self._count("ok")
            await asyncio.sleep(every_s)

    async def _list(self, path: str) -> list[Mapping[str, Any]]:
        items: list[Mapping[str, Any]] = []
        params = {"limit": str(_PAGE)}
        for _ in range(_MOST_PAGES):
            page = await self._client.get(path, params)
            items.extend(page.get("items") or ())
            more = (page.get("metadata") or {}).get("continue")
            if not more:
                return items
            params["continue"] = str(more)
        raise ApiError(0, "TooLong", f"{path}: more than {_MOST_PAGES * _PAGE} objects")


def _namespace(document: decoding.Field) -> tuple[str, NamespaceFacts]:
    metadata = document["metadata"]
    facts = NamespaceFacts(metadata["labels"].labels(), metadata["annotations"].labels())
    return metadata["name"].text(), facts


def _bounds(items: list[decoding.Field], quota: Mapping[str, int]) -> PodBounds:
    listed = [_range(item) for item in items]
    ratios: dict[str, float] = {}
    for item in items:
        if item["type"].text("") == "Container":
            for name, ratio in item["maxLimitRequestRatio"].quantities().items():
                ratios[name] = min(float(ratio), ratios.get(name, float(ratio)))
    return PodBounds(limit_ranges.combine(filter(None, listed)), ratios, quota)


def _range(item: decoding.Field) -> LimitRangeItem | None:
    kind = item["type"].text("")
    if kind == "Container":
        return LimitRangeItem("Container", *_three(item))
    return LimitRangeItem("Pod", *_three(item)) if kind == "Pod" else None


def _three(item: decoding.Field) -> list[dict[str, quantities.Quantity] | None]:
    return [None if item[k].missing else item[k].quantities() for k in ("min", "max", "default")]


def _add_quota(quota: decoding.Field, left: dict[str, int]) -> None:
    """Add the remaining amounts of a quota; of several quotas the tightest applies."""
    if not quota["spec"]["scopes"].missing or not quota["spec"]["scopeSelector"].missing:
        return  # quotas with scopes apply to some pods only; they are ignored here
    hard, used = quota["status"]["hard"], quota["status"]["used"]
    for resource in _BOTH:
        for key in (f"requests.{resource}", f"limits.{resource}"):
            # A name without prefix means requests.
            stated = [
                name for name in (key, key.removeprefix("requests.")) if not hard[name].missing
            ]
            for name in stated:
                taken = used[name].quantity() if not used[name].missing else quantities.Quantity(0)
                room = resources.amount(resource, hard[name].quantity())
                room -= resources.amount(resource, taken)
                left[key] = min(room, left.get(key, room))


def _largest(nodes: Documents) -> dict[str, int] | None:
    largest: dict[str, int] = {}
    for document in nodes:
        node = decoding.Field(document, "Node")
        if node["spec"]["unschedulable"].truth():
            continue
        given = node["status"]["allocatable"]
        for name in _BOTH:
            if not given[name].missing:
                amount = resources.amount(name, given[name].quantity())
                largest[name] = max(amount, largest.get(name, 0))
    return largest or None
