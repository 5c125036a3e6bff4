"""The one way to a Kubernetes API server: kr8s for kubeconfig and credentials, JSON in and out.

Answers are plain values, errors are ``ApiError``. Nothing is tried again here but a request whose
credentials had run out; who asks decides what an error means.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import httpx
import msgspec
from kr8s._auth import KubeAuth

from kubestow.live.api.errors import UNAUTHORIZED, ApiError
from kubestow.model import errors

JSON, MERGE_PATCH = "application/json", "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_AGENT = "kubestow"
_TIMEOUT_S = 30.0
_RETIRED_MOST = 3  # sessions with old credentials; a stream lasts minutes, credentials an hour
_SHOWN = 300  # characters of an answer that is no Status


class ApiClient:
    """Asks one API server."""

    def __init__(self, auth: KubeAuth, session: httpx.AsyncClient) -> None:
        self._auth, self._session = auth, session
        self._retired: list[httpx.AsyncClient] = []

    async def __aenter__(self) -> ApiClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context, or of the pod this runs in."""
        return str(self._auth.namespace)

    @property
    def server(self) -> str:
        """The address of the API server."""
        return str(self._auth.server)

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, accept: str = JSON
    ) -> dict[str, Any]:
        """Return an object or a list, in the form that is accepted."""
        async with self._calling("GET", path, params=params, headers={"Accept": accept}) as answer:
            return _decode(await answer.aread())

    async def post(self, path: str, body: Any) -> dict[str, Any]:
        """Create something."""
        return await self.request("POST", path, body)

    async def put(self, path: str, body: Any) -> dict[str, Any]:
        """Replace something."""
        return await self.request("PUT", path, body)

    async def patch(self, path: str, body: Any, content_type: str = MERGE_PATCH) -> dict[str, Any]:
        """Change something."""
        return await self.request("PATCH", path, body, content_type=content_type)

    async def delete(self, path: str) -> dict[str, Any]:
        """Delete something."""
        return await self.request("DELETE", path)

    async def apply(self, path: str, body: Any, *, dry_run: bool = False) -> dict[str, Any]:
        """Create or change something by server-side apply; fields of others are taken over."""
        params = {"fieldManager": _AGENT, "force": "true"}
        if dry_run:
            params["dryRun"] = "All"
        return await self.request("PATCH", path, body, params=params, content_type=APPLY_PATCH)

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = JSON,
    ) -> dict[str, Any]:
        """Ask for anything.

        Args:
            method: Of HTTP.
            path: From the root of the server, e.g. ``/api/v1/nodes``.
            body: What to send, as plain values.
            params: Query parameters.
            content_type: Of the body.

        Raises:
            ApiError: If there is no answer, or one that says no.
        """
        content = None if body is None else msgspec.json.encode(body)
        async with self._calling(
            method, path, params=params, content=content, headers={"Content-Type": content_type}
        ) as answer:
            return _decode(await answer.aread())

    @contextlib.asynccontextmanager
    async def pieces(
        self, path: str, params: Mapping[str, str], silence_s: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Give the pieces of an answer that goes on, such as a watch, as they come.

        Args:
            path: What to ask for.
            params: Query parameters.
            silence_s: End with an error when nothing comes for so long.
        """
        timeout = httpx.Timeout(_TIMEOUT_S, read=silence_s)
        async with self._calling("GET", path, params=params, timeout=timeout) as found:
            yield found.aiter_bytes()

    async def close(self) -> None:
        """Close all connections."""
        for session in (*self._retired, self._session):
            await session.aclose()
        self._retired.clear()

    @contextlib.asynccontextmanager
    async def _calling(self, method: str, path: str, **how: Any) -> AsyncIterator[httpx.Response]:
        for renewed in (False, True):
            try:
                async with self._session.stream(method, path, **how) as answer:
                    if answer.status_code != UNAUTHORIZED or renewed:
                        await _check(answer)
                        yield answer
                        return
            except (httpx.HTTPError, OSError) as err:
                raise ApiError(0, "Unreachable", f"{self.server}: {_explain(err)}") from err
            await self._renew()

    async def _renew(self) -> None:
        """Read credentials anew: tokens of service accounts are exchanged while a pod runs.

        Streams that run on the session that was there before go on until they end.
        """
        await self._auth.reauthenticate()
        self._retired.append(self._session)
        self._session = await _open(self._auth)
        for idle in self._retired[:-_RETIRED_MOST]:
            await idle.aclose()
        del self._retired[:-_RETIRED_MOST]


async def connect(kubeconfig: str | None = None, context: str | None = None) -> ApiClient:
    """Return a client for the cluster of a kubeconfig, or for the one this runs in.

    Raises:
        InputError: If there is no kubeconfig and no service account.
    """
    try:
        # Only kr8s' credentials: its Api would ask for the version and warn of new ones.
        auth = KubeAuth(kubeconfig=kubeconfig, context=context)
        await auth.reauthenticate()
        return ApiClient(auth, await _open(auth))
    except (ValueError, OSError) as err:
        place = kubeconfig or "kubeconfig"
        raise errors.InputError(place, f"{err}: expected a kubeconfig of a cluster") from err


async def _open(auth: KubeAuth) -> httpx.AsyncClient:
    headers = {"User-Agent": _AGENT, "Accept": JSON}
    trust: Callable[[], Awaitable[ssl.SSLContext | bool]] = auth.ssl_context
    if auth.token:
        headers["Authorization"] = f"Bearer {auth.token}"
    return httpx.AsyncClient(
        base_url=str(auth.server),
        headers=headers,
        verify=await trust(),
        timeout=_TIMEOUT_S,
        proxy=auth.proxy,
    )


async def _check(answer: httpx.Response) -> None:
    if answer.is_success:
        return
    await answer.aread()
    try:
        status = msgspec.json.decode(answer.content)
        reason, message = str(status["reason"]), str(status["message"])
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
        reason, message = answer.reason_phrase, answer.text[:_SHOWN].strip()
    raise ApiError(answer.status_code, reason, message)


def _decode(content: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as err:
        raise ApiError(0, "Malformed", f"the answer is no JSON: {content[:_SHOWN]!r}") from err
    if not isinstance(found, dict):
        raise ApiError(0, "Malformed", "the answer is no object")
    return found


def _explain(err: Exception) -> str:
    return str(err) or type(err).__name__
