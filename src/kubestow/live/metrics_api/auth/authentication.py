"""Authenticates clients: by the front proxy's headers, or by a bearer token."""

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
from kubestow.live.metrics_api.kinds import ResourceClient
from kubestow.model import errors

REFRESH_S: Final = 30.0
_RETRY_S: Final = 1.0
# Cache time of tokens in DelegatingAuthenticationOptions of k8s.io/apiserver.
_TOKEN_S: Final = 10.0
_MOST_TOKENS: Final = 4096
_LONGEST_TOKEN: Final = 16 * 1024
_REVIEWS: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
_BEARER: Final = b"bearer "
_LOG = logging.getLogger(__name__)


class Authenticator:
    """Authenticates clients.

    Args:
        client: Client of the API server.
        trust: Receives the CAs of the front proxy, for TLS.
        metrics: Metrics to update.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        client: ResourceClient,
        trust: Callable[[bytes], None],
        metrics: servers.Telemetry,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._trust, self._clock = client, trust, clock
        self._proxy: FrontProxy | None = None
        self._tokens: dict[bytes, tuple[float, User | None]] = {}
        self._authentications = metrics.counter(
            "authentications", "Authentications by means.", ("means",)
        )

    @property
    def ready(self) -> bool:
        """Return whether the front proxy's configuration is known."""
        return self._proxy is not None

    async def refresh(self) -> None:
        """Read the front proxy's configuration once.

        Raises:
            ApiError: If the API server fails.
            InputError: If the configuration is malformed.
        """
        proxy = users.read_front_proxy(await self._client.get(users.CONFIG_PATH))
        if proxy != self._proxy:
            self._trust(proxy.authorities)
            self._proxy = proxy

    async def keep(self, every_s: float = REFRESH_S) -> None:
        """Read the configuration periodically until cancelled."""
        while True:
            try:
                await self.refresh()
            except (errors.InputError, ApiError) as err:
                _LOG.warning("cannot read the configuration of the front proxy: %s", err)
            await asyncio.sleep(every_s if self.ready else min(_RETRY_S, every_s))

    async def identify(self, peer: Mapping[str, Any] | None, headers: Headers) -> User | None:
        """Return the user of a request; ``None`` if it is not authenticated.

        Args:
            peer: The client's certificate, verified by TLS.
            headers: Headers of the request.

        Raises:
            ApiError: If a token cannot be reviewed.
        """
        given = list(headers)
        user, means = None, "nobody"
        if self._proxy is not None and self._proxy.matches(peer, self._clock()):
            user, means = self._proxy.read(given), "proxy"
        if user is None and (token := _token(given)):
            user, means = await self._review(token), "token"
        self._authentications.labels(means if user else "nobody").inc()
        return None if user is None else user.authenticated()

    async def _review(self, token: str) -> User | None:
        # The tokens themselves are not stored.
        key = hashlib.sha256(token.encode()).digest()
        until_s, known = self._tokens.get(key, (0.0, None))
        if self._clock() < until_s:
            return known
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        response = await self._client.post(_REVIEWS, review)
        user = _read_review(response.get("status") or {})
        if len(self._tokens) >= _MOST_TOKENS:
            self._tokens.clear()
        self._tokens[key] = (self._clock() + _TOKEN_S, user)
        return user


def _token(headers: Headers) -> str:
    values = [value for name, value in headers if name.lower() == b"authorization"]
    if len(values) != 1 or values[0][: len(_BEARER)].lower() != _BEARER:
        return ""
    text = values[0][len(_BEARER) :].strip()
    fits = 0 < len(text) <= _LONGEST_TOKEN and text.isascii()
    return text.decode("ascii") if fits else ""


def _read_review(status: Mapping[str, Any]) -> User | None:
    account = status.get("user") or {}
    if (
        status.get("authenticated") is not True
        or status.get("error")
        or not account.get("username")
    ):
        return None
    extra = account.get("extra") or {}
    return User(
        str(account["username"]),
        tuple(account.get("groups") or ()),
        str(account.get("uid") or ""),
        tuple(sorted((key, tuple(values)) for key, values in extra.items())),
    )
