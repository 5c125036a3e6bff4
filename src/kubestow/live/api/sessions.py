"""A session with one API server: connections and credentials, replaced as they change.

A token is sent with each request. A client certificate belongs to its connections, so a new one
needs new connections; running requests continue on the old ones.
"""

from __future__ import annotations

import asyncio
import os
from typing import Final

import httpx

from kubestow.live.api import credentials, kubeconfig, service_accounts, tls_contexts
from kubestow.live.api.accesses import Access, ServerAccess
from kubestow.live.api.credentials import Credentials, Source
from kubestow.live.api.errors import ApiError
from kubestow.model import errors

TIMEOUT_S: Final = 30.0
AGENT: Final = "kubestow"
_RETIRED_MOST: Final = 3  # old connections; a watch lasts minutes, credentials an hour
_REASON: Final = "CredentialsUnavailable"


class Session:
    """Connections and credentials for one API server.

    Args:
        path: The kubeconfig, if one was given.
        access: The cluster and the user.
        source: Source of credentials.
        current: The credentials that the connections were opened with.
        pool: Connections.
    """

    def __init__(
        self,
        path: str | None,
        access: Access,
        source: Source,
        current: Credentials,
        pool: httpx.AsyncClient,
    ) -> None:
        self._path, self.access = path, access
        self._source, self._credentials, self._pool = source, current, pool
        self._retired: list[httpx.AsyncClient] = []
        self._lock = asyncio.Lock()

    async def prepare(self) -> tuple[httpx.AsyncClient, dict[str, str]]:
        """Return connections and headers for one request.

        Raises:
            ApiError: If there are no credentials at the moment.
        """
        source = self._source
        try:
            current = await source.current()
            # Another task may have renewed the session: never send old credentials to its server.
            if source is not self._source or not current.has_pair_of(self._credentials):
                async with self._lock:
                    current = await self._follow()
        except (ValueError, OSError) as err:
            raise ApiError(0, _REASON, str(err)) from err
        headers = {"Authorization": current.authorization} if current.authorization else {}
        return self._pool, headers

    async def renew(self, refused: httpx.AsyncClient) -> None:
        """Read access and credentials again, after the server refused credentials.

        Args:
            refused: The connections that were used; if they differ from the current ones, another
                task has renewed them.

        Raises:
            ApiError: If they cannot be read.
        """
        async with self._lock:
            if self._pool is not refused:
                return
            try:
                access = await asyncio.to_thread(self._read_again)
                source = await asyncio.to_thread(credentials.make_source, access)
                current = await source.current()
                pool = await _open_pool(access.cluster, current)
            except (ValueError, OSError) as err:
                raise ApiError(0, _REASON, str(err)) from err
            self.access, self._source = access, source
            await self._exchange(pool, current)

    async def close(self) -> None:
        """Close all connections."""
        for pool in (*self._retired, self._pool):
            await pool.aclose()
        self._retired.clear()

    async def _follow(self) -> Credentials:
        """Return current credentials; opens connections for a new client certificate."""
        current = await self._source.current()
        if not current.has_pair_of(self._credentials):
            await self._exchange(await _open_pool(self.access.cluster, current), current)
        return current

    async def _exchange(self, pool: httpx.AsyncClient, current: Credentials) -> None:
        self._retired.append(self._pool)
        self._pool, self._credentials = pool, current
        idle = self._retired[:-_RETIRED_MOST]
        del self._retired[:-_RETIRED_MOST]
        for each in idle:
            await each.aclose()

    def _read_again(self) -> Access:
        """Return the same access; a change of the current context does not change the cluster."""
        if self.access.context is not None:
            return kubeconfig.find(self._path, self.access.context)
        return service_accounts.find(os.environ) or self.access


async def open_session(path: str | None = None, context: str | None = None) -> Session:
    """Open a session with the cluster of a kubeconfig, or with the one this runs in.

    Args:
        path: The kubeconfig; default: the usual ones.
        context: Name of the context; default: the current one.

    Raises:
        InputError: If there is no kubeconfig, it is malformed, or there are no credentials.
    """
    access = await asyncio.to_thread(kubeconfig.find, path, context)
    source = await asyncio.to_thread(credentials.make_source, access)
    current = await source.current()
    return Session(path, access, source, current, await _open_pool(access.cluster, current))


async def _open_pool(cluster: ServerAccess, current: Credentials) -> httpx.AsyncClient:
    context = await asyncio.to_thread(tls_contexts.make, cluster, current)
    headers = {"User-Agent": AGENT, "Accept": "application/json"}
    if not cluster.compressed:
        headers["Accept-Encoding"] = "identity"
    try:
        return httpx.AsyncClient(
            base_url=cluster.server,
            headers=headers,
            verify=context,
            timeout=TIMEOUT_S,
            proxy=cluster.proxy or None,
        )
    except (httpx.InvalidURL, ValueError):
        # The original message may quote the password of a proxy.
        problem = "expected valid addresses in server and proxy-url"
        raise errors.InputError(cluster.place, problem) from None
