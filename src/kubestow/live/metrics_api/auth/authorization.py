"""Authorizes requests by SubjectAccessReviews of the API server, with a cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kubestow.live import servers
from kubestow.live.metrics_api.auth.users import User
from kubestow.live.metrics_api.kinds import ResourceClient

# Denials are cached for less than upstream's 10 s, so that new permissions take effect soon.
ALLOWED_S: Final = 10.0
DENIED_S: Final = 5.0
_MOST: Final = 8192
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass(frozen=True, slots=True)
class ResourceAttributes:
    """The action to authorize.

    Attributes:
        verb: Verb, e.g. ``get``.
        path: Path of a non-resource request.
        group: API group of a resource.
        version: Its version.
        resource: The resource.
        subresource: The subresource, here the metric.
        namespace: Namespace of the object.
        name: Name of the object.
    """

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def as_spec(self) -> dict[str, Any]:
        """Return the attributes in the form of a SubjectAccessReview."""
        if self.path:
            return {"nonResourceAttributes": {"path": self.path, "verb": self.verb}}
        names = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
        return {"resourceAttributes": {name: getattr(self, name) for name in names}}

    def refusal(self, user: User, reason: str) -> str:
        """Return the message of an API server for a denied request."""
        why = f": {reason}" if reason else ""
        if self.path:
            return f'forbidden: User "{user.name}" cannot {self.verb} path "{self.path}"{why}'
        part = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        named = f' "{self.name}"' if self.name else ""
        where = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return (
            f'{self.resource}.{self.group}{named} is forbidden: User "{user.name}" cannot '
            f'{self.verb} resource "{part}" in API group "{self.group}" {where}{why}'
        )


class Authorizer:
    """Authorizes actions of users.

    Args:
        client: Client of the API server.
        metrics: Metrics to update.
        clock: Monotonic clock, seconds.
    """

    def __init__(
        self,
        client: ResourceClient,
        metrics: servers.Telemetry,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._clock = client, clock
        self._known: dict[tuple[User, ResourceAttributes], tuple[float, str | None]] = {}
        self._reviews = metrics.counter("access_reviews", "Access reviews by result.", ("result",))

    async def refuse(self, user: User, attributes: ResourceAttributes) -> str | None:
        """Return why an action is denied; ``None`` if it is allowed.

        Raises:
            ApiError: If the API server fails.
        """
        key = (user, attributes)
        until_s, known = self._known.get(key, (0.0, None))
        if self._clock() < until_s:
            return known
        reason = await self._review(user, attributes)
        if len(self._known) >= _MOST:
            self._known.clear()
        kept_s = ALLOWED_S if reason is None else DENIED_S
        self._known[key] = (self._clock() + kept_s, reason)
        return reason

    async def _review(self, user: User, attributes: ResourceAttributes) -> str | None:
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {**user.as_spec(), **attributes.as_spec()},
        }
        status = (await self._client.post(_REVIEWS, review)).get("status") or {}
        allowed = status.get("allowed") is True and status.get("denied") is not True
        self._reviews.labels("allowed" if allowed else "denied").inc()
        return None if allowed else str(status.get("reason") or "")
