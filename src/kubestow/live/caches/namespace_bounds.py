"""What lies around a new pod: its namespace with LimitRanges and quotas, and the largest node.

Without it admission still works, and goes by the pod alone. With it no pod is given what its
namespace would refuse or no node has. All of it is read in the background; an admission looks at
what was read last.
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

LOOK_S: Final = 30.0
_PAGE: Final = 100  # objects a question; decoding a page must not hold up requests
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
    """What is known of the cluster; empty where nothing is.

    Attributes:
        namespaces: Labels and annotations by name.
        bounds: What namespaces allow, by name; those that allow everything are not in it.
        node: Largest CPU and memory any schedulable node can give.
    """

    namespaces: Mapping[str, NamespaceFacts] = field(default_factory=dict)
    bounds: Mapping[str, PodBounds] = field(default_factory=dict)
    node: Mapping[str, int] | None = None

    def allowed(self, namespace: str) -> PodBounds:
        """Return what a namespace allows."""
        return self.bounds.get(namespace, _ANYTHING)


_ANYTHING: Final = PodBounds()
_NOTHING: Final = NamespaceBounds()
Documents = Iterable[Mapping[str, Any]]


def unknown_bounds() -> NamespaceBounds:
    """Return what is known where nobody looks: nothing."""
    return _NOTHING


class BoundsReader(Protocol):
    """Reads objects; errors are ``live.api.errors.ApiError``."""

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return a list."""


def read_bounds(
    namespaces: Documents, ranges: Documents, quotas: Documents, nodes: Documents
) -> NamespaceBounds:
    """Read lists of objects.

    Raises:
        InputError: If one is not understood.
    """
    items: dict[str, list[decoding.Field]] = {}
    for document in ranges:
        found = decoding.Field(document, "LimitRange")
        items.setdefault(found["metadata"]["namespace"].text(), []).extend(
            found["spec"]["limits"].items()
        )
    left: dict[str, dict[str, int]] = {}
    for document in quotas:
        found = decoding.Field(document, "ResourceQuota")
        _add_quota(found, left.setdefault(found["metadata"]["namespace"].text(), {}))
    return NamespaceBounds(
        namespaces=dict(_namespace(decoding.Field(each, "Namespace")) for each in namespaces),
        bounds={name: _bounds(items.get(name, []), left.get(name, {})) for name in {*items, *left}},
        node=_largest(nodes),
    )


class BoundsWatcher:
    """Reads the surroundings again and again.

    Args:
        client: Asks the API server.
        count: Told ``ok`` or ``failed`` after each look.
    """

    def __init__(self, client: BoundsReader, count: Callable[[str], None] = lambda _: None) -> None:
        self._client, self._count = client, count
        self.current = NamespaceBounds()

    async def look(self) -> None:
        """Read everything once.

        Raises:
            ApiError: If the API server does not give it; what was known stays.
            InputError: If it is not understood.
        """
        paths = ("namespaces", "limitranges", "resourcequotas", "nodes")
        lists = [await self._list(f"/api/v1/{path}") for path in paths]
        self.current = await asyncio.to_thread(read_bounds, *lists)

    async def keep(self, every_s: float = LOOK_S) -> None:
        """Read again and again, until cancelled."""
        while True:
            try:
                await self.look()
            except (ApiError, errors.InputError) as err:
                self._count("failed")
                _LOG.warning("surroundings were not read: %s", err)
            else:
                self._count("ok")
            await asyncio.sleep(every_s)

    async def _list(self, path: str) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        params = {"limit": str(_PAGE)}
        for _ in range(_MOST_PAGES):
            page = await self._client.get(path, params)
            found.extend(page.get("items") or ())
            more = (page.get("metadata") or {}).get("continue")
            if not more:
                return found
            params["continue"] = str(more)
        raise ApiError(0, "TooLong", f"{path}: more than {_MOST_PAGES * _PAGE} objects")


def _namespace(found: decoding.Field) -> tuple[str, NamespaceFacts]:
    metadata = found["metadata"]
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


def _add_quota(found: decoding.Field, left: dict[str, int]) -> None:
    """Note what is left; of several quotas the tightest counts."""
    if not found["spec"]["scopes"].missing or not found["spec"]["scopeSelector"].missing:
        return  # it speaks of some pods only, and which is not worth knowing here
    hard, used = found["status"]["hard"], found["status"]["used"]
    for resource in _BOTH:
        for key in (f"requests.{resource}", f"limits.{resource}"):
            # A bare name means requests.
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
