"""Asks the API server whether someone may do something (SubjectAccessReview), and keeps answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kubestow.live import servers
from kubestow.live.metrics_api.auth.users import User
from kubestow.live.metrics_api.kinds import Asker

# Shorter than upstream's 10 s for a no as well: rights that were just given count soon.
ALLOWED_S: Final = 10.0
DENIED_S: Final = 5.0
_MOST: Final = 8192
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


@dataclass(frozen=True, slots=True)
class ResourceAttributes:
    """What someone wants to do.

    Attributes:
        verb: Such as ``get``.
        path: For what is no resource.
        group: API group of a resource.
        version: Its version.
        resource: The resource.
        subresource: The part of it, here the metric.
        namespace: Where it is.
        name: Of the object.
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
        """Return the attributes as a SubjectAccessReview has them."""
        if self.path:
            return {"nonResourceAttributes": {"path": self.path, "verb": self.verb}}
        names = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
        return {"resourceAttributes": {name: getattr(self, name) for name in names}}

    def refusal(self, user: User, reason: str) -> str:
        """Return the sentence of an API server that says no."""
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
    """Tells who may do what.

    Args:
        client: Asks the API server.
        metrics: Where to count.
        clock: Tells the time.
    """

    def __init__(
        self,
        client: Asker,
        metrics: servers.Telemetry,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._clock = client, clock
        self._known: dict[tuple[User, ResourceAttributes], tuple[float, str | None]] = {}
        self._reviews = metrics.counter("access_reviews", "Questions for rights.", ("result",))

    async def refuse(self, user: User, deed: ResourceAttributes) -> str | None:
        """Return why someone may not do something; ``None`` if they may.

        Raises:
            ApiError: If the API server does not say.
        """
        key = (user, deed)
        until_s, known = self._known.get(key, (0.0, None))
        if self._clock() < until_s:
            return known
        reason = await self._ask(user, deed)
        if len(self._known) >= _MOST:
            self._known.clear()
        kept_s = ALLOWED_S if reason is None else DENIED_S
        self._known[key] = (self._clock() + kept_s, reason)
        return reason

    async def _ask(self, user: User, deed: ResourceAttributes) -> str | None:
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {**user.as_spec(), **deed.as_spec()},
        }
        status = (await self._client.post(_REVIEWS, review)).get("status") or {}
        allowed = status.get("allowed") is True and status.get("denied") is not True
        self._reviews.labels("allowed" if allowed else "denied").inc()
        return None if allowed else str(status.get("reason") or "")
