"""Finds out who asks: told by the front proxy, or shown by a token; anyone else is nobody."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from kubestow.live import servers
from kubestow.live.api import ApiError
from kubestow.live.metrics_api.auth import users
from kubestow.live.metrics_api.auth.users import FrontProxy, Headers, User
from kubestow.live.metrics_api.kinds import Asker
from kubestow.model import errors

LOOK_S: Final = 30.0
_RETRY_S: Final = 1.0
# As DelegatingAuthenticationOptions of k8s.io/apiserver keep tokens.
_TOKEN_S: Final = 10.0
_MOST_TOKENS: Final = 4096
_LONGEST_TOKEN: Final = 16 * 1024
_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_BEARER: Final = b"bearer "
_LOG = logging.getLogger(__name__)


class Authenticator:
    """Tells who asks.

    Args:
        client: Asks the API server.
        trust: Takes the authorities of the front proxy, for TLS.
        metrics: Where to count.
        clock: Tells the time, in seconds since the epoch.
    """

    def __init__(
        self,
        client: Asker,
        trust: Callable[[bytes], None],
        metrics: servers.Telemetry,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._trust, self._clock = client, trust, clock
        self._proxy: FrontProxy | None = None
        self._tokens: dict[bytes, tuple[float, User | None]] = {}
        self._found = metrics.counter("authentications", "Who asked, by how we know.", ("means",))

    @property
    def ready(self) -> bool:
        """Return whether it is known whom to believe."""
        return self._proxy is not None

    async def look(self) -> None:
        """Read once whom to believe.

        Raises:
            ApiError: If the API server does not tell.
            InputError: If it tells something else.
        """
        proxy = users.read_front_proxy(await self._client.get(users.PLACE))
        if proxy != self._proxy:
            self._trust(proxy.authorities)
            self._proxy = proxy

    async def keep(self, every_s: float = LOOK_S) -> None:
        """Look again and again, until cancelled."""
        while True:
            try:
                await self.look()
            except (errors.InputError, ApiError) as err:
                _LOG.warning("it is not known whether the front proxy has changed: %s", err)
            await asyncio.sleep(every_s if self.ready else min(_RETRY_S, every_s))

    async def identify(self, peer: Mapping[str, Any] | None, headers: Headers) -> User | None:
        """Return who asks; ``None`` if nobody vouches for it.

        Args:
            peer: The client's certificate, verified by TLS.
            headers: Of the request.

        Raises:
            ApiError: If a token cannot be reviewed.
        """
        given = list(headers)
        user, means = None, "nobody"
        if self._proxy is not None and self._proxy.vouches(peer, self._clock()):
            user, means = self._proxy.read(given), "proxy"
        if user is None and (token := _token(given)):
            user, means = await self._review(token), "token"
        self._found.labels(means if user else "nobody").inc()
        return None if user is None else user.authenticated()

    async def _review(self, token: str) -> User | None:
        # Tokens themselves are not kept.
        key = hashlib.sha256(token.encode()).digest()
        until_s, known = self._tokens.get(key, (0.0, None))
        if self._clock() < until_s:
            return known
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        answer = await self._client.post(_REVIEWS, review)
        user = _read_review(answer.get("status") or {})
        if len(self._tokens) >= _MOST_TOKENS:
            self._tokens.clear()
        self._tokens[key] = (self._clock() + _TOKEN_S, user)
        return user


def _token(headers: Headers) -> str:
    found = [value for name, value in headers if name.lower() == b"authorization"]
    if len(found) != 1 or found[0][: len(_BEARER)].lower() != _BEARER:
        return ""
    text = found[0][len(_BEARER) :].strip()
    fits = 0 < len(text) <= _LONGEST_TOKEN and text.isascii()
    return text.decode("ascii") if fits else ""


def _read_review(status: Mapping[str, Any]) -> User | None:
    about = status.get("user") or {}
    if status.get("authenticated") is not True or status.get("error") or not about.get("username"):
        return None
    extra = about.get("extra") or {}
    return User(
        str(about["username"]),
        tuple(about.get("groups") or ()),
        str(about.get("uid") or ""),
        tuple(sorted((key, tuple(values)) for key, values in extra.items())),
    )
