"""The client of a Kubernetes API server: JSON in and out.

Results are plain values, errors are ``ApiError``. Only a request whose credentials were refused is
retried here, once; the caller handles all other errors.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import msgspec

from kubestow.live.api import sessions
from kubestow.live.api.errors import UNAUTHORIZED, ApiError
from kubestow.live.api.sessions import Session

JSON, MERGE_PATCH = "application/json", "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
_SHOWN = 300  # characters of a response that is not a Status


class ApiClient:
    """Sends requests to one API server."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def __aenter__(self) -> ApiClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context, or of the pod this runs in."""
        return self._session.access.namespace

    @property
    def server(self) -> str:
        """The address of the API server."""
        return self._session.access.cluster.server

    async def get(
        self, path: str, params: Mapping[str, str] | None = None, accept: str = JSON
    ) -> dict[str, Any]:
        """Return an object or a list, in the media type ``accept``."""
        async with self._calling(
            "GET", path, params=params, headers={"Accept": accept}
        ) as response:
            return _decode(await response.aread())

    async def post(self, path: str, body: Any) -> dict[str, Any]:
        """Create an object."""
        return await self.request("POST", path, body)

    async def put(self, path: str, body: Any) -> dict[str, Any]:
        """Replace an object."""
        return await self.request("PUT", path, body)

    async def patch(self, path: str, body: Any, content_type: str = MERGE_PATCH) -> dict[str, Any]:
        """Patch an object."""
        return await self.request("PATCH", path, body, content_type=content_type)

    async def delete(self, path: str) -> dict[str, Any]:
        """Delete an object."""
        return await self.request("DELETE", path)

    async def apply(self, path: str, body: Any, *, dry_run: bool = False) -> dict[str, Any]:
        """Create or change an object by server-side apply; takes over fields of other managers."""
        params = {"fieldManager": sessions.AGENT, "force": "true"}
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
        """Send a request and return the object in its response.

        Args:
            method: HTTP method.
            path: Path from the root of the server, e.g. ``/api/v1/nodes``.
            body: Content to send, as plain values.
            params: Query parameters.
            content_type: Media type of the body.

        Raises:
            ApiError: If there is no response, or it is an error or malformed.
        """
        content = None if body is None else msgspec.json.encode(body)
        async with self._calling(
            method, path, params=params, content=content, headers={"Content-Type": content_type}
        ) as response:
            return _decode(await response.aread())

    @contextlib.asynccontextmanager
    async def pieces(
        self,
        path: str,
        params: Mapping[str, str],
        silence_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the chunks of a streamed response, such as a watch, as they arrive.

        Args:
            path: Path from the root of the server.
            params: Query parameters.
            silence_s: Fail when nothing arrives for this long, seconds.
            headers: Further headers.

        Raises:
            ApiError: If there is no response, it is an error, or it is interrupted.
        """
        timeout = httpx.Timeout(sessions.TIMEOUT_S, read=silence_s)
        async with self._calling(
            "GET", path, params=params, timeout=timeout, headers=headers
        ) as response:
            yield response.aiter_bytes()

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    @contextlib.asynccontextmanager
    async def _calling(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **options: Any
    ) -> AsyncIterator[httpx.Response]:
        for renewed in (False, True):
            pool, identity = await self._session.prepare()
            all_headers = {**(headers or {}), **identity}
            try:
                async with pool.stream(method, path, headers=all_headers, **options) as response:
                    if response.status_code != UNAUTHORIZED or renewed:
                        await _check(response)
                        yield response
                        return
            except (httpx.HTTPError, OSError) as err:
                raise ApiError(0, "Unreachable", f"{self.server}: {_explain(err)}") from err
            # Tokens of service accounts are rotated while a pod runs.
            await self._session.renew(pool)


async def connect(kubeconfig: str | None = None, context: str | None = None) -> ApiClient:
    """Return a client for the cluster of a kubeconfig, or for the one this runs in.

    Args:
        kubeconfig: Path of the kubeconfig; ``$KUBECONFIG`` or ``~/.kube/config`` by default.
        context: Name of the context; the current one by default.

    Raises:
        InputError: If there is neither a kubeconfig nor a service account, or it cannot be used.
    """
    return ApiClient(await sessions.open_session(kubeconfig, context))


async def _check(response: httpx.Response) -> None:
    if response.is_success:
        return
    await response.aread()
    try:
        status = msgspec.json.decode(response.content)
        reason, message = str(status["reason"]), str(status["message"])
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
        reason, message = response.reason_phrase, response.text[:_SHOWN].strip()
    raise ApiError(response.status_code, reason, message)


def _decode(content: bytes) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as err:
        raise ApiError(0, "Malformed", f"response is not JSON: {content[:_SHOWN]!r}") from err
    if not isinstance(document, dict):
        raise ApiError(0, "Malformed", "response is JSON but not an object")
    return document


def _explain(err: Exception) -> str:
    return str(err) or type(err).__name__
