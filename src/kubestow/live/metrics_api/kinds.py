"""Discovery of resource kinds: their names and API paths.

Each API group is requested once and cached for a while.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kubestow.live.api import NOT_FOUND, ApiError

_KEPT_S: Final = 600.0
_MISSED_S: Final = 30.0
_MOST_GROUPS: Final = 200
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
# Groups searched for a resource without a group; core first, as in RESTMapper's priorities.
_USUAL: Final = ("", "apps", "batch", "networking.k8s.io")


class ResourceClient(Protocol):
    """The part of a Kubernetes client that the metrics API needs."""

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return an object or a list."""

    async def post(self, path: str, body: Any) -> dict[str, Any]:
        """Create an object."""


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """A kind of object.

    Attributes:
        group: API group; empty for the core group.
        version: Its preferred version.
        plural: Name of the resource.
        kind: Name of the kind.
        namespaced: Whether objects are in namespaces.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool

    @property
    def resource(self) -> str:
        """The resource with its group, such as ``deployments.apps``."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """API version as custom metrics write it; ``/v1`` for the core group."""
        return f"{self.group}/{self.version}"

    def listing(self, namespace: str) -> str:
        """Return the API path that lists such objects."""
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        inside = f"/namespaces/{namespace}" if self.namespaced else ""
        return f"{base}{inside}/{self.plural}"


_Kinds = dict[str, ResourceKind]


class Mapper:
    """Finds kinds by plural, singular, short name or kind."""

    def __init__(self, client: ResourceClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._client, self._clock = client, clock
        self._groups: dict[str, tuple[float, _Kinds]] = {}

    async def find(self, text: str) -> ResourceKind | None:
        """Return a kind, e.g. of ``pods``, ``deployment.apps`` or ``hpa.autoscaling``.

        Raises:
            ApiError: If the API server fails.
        """
        plural, dot, group = text.lower().partition(".")
        if not _NAME.fullmatch(plural) or (dot and not _NAME.fullmatch(group)):
            return None
        for each in (group,) if dot else _USUAL:
            if kind := (await self._group(each)).get(plural):
                return kind
        return None

    async def _group(self, group: str) -> _Kinds:
        until_s, known = self._groups.get(group, (0.0, {}))
        if self._clock() < until_s:
            return known
        kinds = await self._discover(group)
        if len(self._groups) >= _MOST_GROUPS:
            self._groups.clear()
        self._groups[group] = (self._clock() + (_KEPT_S if kinds else _MISSED_S), kinds)
        return kinds

    async def _discover(self, group: str) -> _Kinds:
        try:
            if not group:
                return _read(group, "v1", await self._client.get("/api/v1"))
            description = await self._client.get(f"/apis/{group}")
            version = str(description["preferredVersion"]["version"])
            return _read(group, version, await self._client.get(f"/apis/{group}/{version}"))
        except ApiError as err:
            if err.status == NOT_FOUND:
                return {}
            raise


def _read(group: str, version: str, listed: Mapping[str, Any]) -> _Kinds:
    kinds: _Kinds = {}
    for each in listed.get("resources") or ():
        if "/" in each["name"]:
            continue
        kind = ResourceKind(group, version, each["name"], each["kind"], bool(each["namespaced"]))
        names = [each["kind"].lower(), each.get("singularName") or "", *each.get("shortNames", ())]
        for name in filter(None, names):
            kinds.setdefault(name, kind)
        kinds[each["name"]] = kind
    return kinds
