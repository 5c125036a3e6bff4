"""Credentials for an API server, and the sources that renew them.

As in client-go: a token file is read again every minute, and the last readable token is used; a
plugin runs again when its credentials expire. Over plain HTTP no credentials are sent, except to
this machine. Secrets never appear in representations, logs or errors.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from kubestow.live.api import plugins
from kubestow.live.api.accesses import Access, Plugin, ServerAccess, UserAccess, read_pem
from kubestow.model import errors

_LOG = logging.getLogger(__name__)

_FRESH_S: Final = 50.0  # client-go: one minute, less ten seconds of leeway
_RETRY_S: Final = 10.0  # pause before an unreadable token file is tried again

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Credentials:
    """Credentials to send to the server; empty for an anonymous user.

    Attributes:
        place: Where they are configured, for errors.
        authorization: Value of the header ``Authorization``.
        certificate: Client certificate with its chain, in PEM.
        key: Its private key in PEM.
    """

    place: str
    authorization: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)

    def has_pair_of(self, other: Credentials) -> bool:
        """Return whether both have the same client certificate."""
        return (self.certificate, self.key) == (other.certificate, other.key)


class Source(Protocol):
    """A source of credentials."""

    async def current(self) -> Credentials:
        """Return the current credentials.

        Raises:
            InputError: If there are no credentials, or they are malformed.
        """


class FixedCredentials:
    """Credentials that do not change."""

    def __init__(self, credentials: Credentials) -> None:
        self._credentials = credentials

    async def current(self) -> Credentials:
        """Return the credentials."""
        return self._credentials


class TokenFile:
    """A bearer token in a file that is rotated, e.g. by the kubelet.

    Args:
        path: The file.
        fixed: Credentials to send with the token, or alone while there is no token yet.
        clock: Monotonic clock, seconds.
    """

    def __init__(self, path: Path, fixed: Credentials, clock: Clock = time.monotonic) -> None:
        self._path, self._credentials, self._clock = path, fixed, clock
        self._due_s = float("-inf")

    async def current(self) -> Credentials:
        """Return the last readable token; reads the file again every minute."""
        if self._clock() >= self._due_s:
            await asyncio.to_thread(self._read)
        return self._credentials

    def _read(self) -> None:
        try:
            token = self._path.read_text("ascii").strip()
            header = _bearer_header(str(self._path), token)
        except (OSError, ValueError) as err:
            if not self._credentials.authorization:
                raise errors.InputError(str(self._path), _explain(err)) from None
            _LOG.warning("%s: %s; using the last token", self._path, _explain(err))
            self._due_s = self._clock() + _RETRY_S
        else:
            self._credentials = replace(self._credentials, authorization=header)
            self._due_s = self._clock() + _FRESH_S


class PluginRuns:
    """Credentials that a plugin prints; valid until they expire.

    Args:
        plugin: The program.
        cluster: The cluster to describe to it.
        clock: Seconds since the epoch.
    """

    def __init__(self, plugin: Plugin, cluster: ServerAccess, clock: Clock = time.time) -> None:
        self._plugin, self._cluster, self._clock = plugin, cluster, clock
        self._credentials: Credentials | None = None
        self._expires_s = float("inf")
        self._lock = asyncio.Lock()

    async def current(self) -> Credentials:
        """Return credentials; runs the plugin if there are none or they have expired."""
        async with self._lock:
            if self._credentials is None or self._clock() > self._expires_s:
                issued = await plugins.run(self._plugin, self._cluster)
                place = self._plugin.place
                header = _bearer_header(f"{place}: token", issued.token) if issued.token else ""
                self._credentials = Credentials(place, header, issued.certificate, issued.key)
                self._expires_s = issued.expires_s
            return self._credentials


def make_source(access: Access) -> Source:
    """Return the source of an access's credentials.

    Raises:
        InputError: If a certificate, a key or a token cannot be used.
    """
    user, cluster = access.user, access.cluster
    if not cluster.is_encrypted and not cluster.is_loopback:
        if user != UserAccess(user.place):
            _LOG.warning("%s: plain HTTP: sending no credentials", cluster.server)
        return FixedCredentials(Credentials(user.place))
    fixed = _read_fixed(user)
    if user.token_file is not None:
        return TokenFile(user.token_file, fixed)
    # As in client-go, a plugin is only used without other credentials.
    if user.plugin is not None and fixed == Credentials(user.place):
        return PluginRuns(user.plugin, cluster)
    return FixedCredentials(fixed)


def _read_fixed(user: UserAccess) -> Credentials:
    header = ""
    if user.token:
        header = _bearer_header(f"{user.place}.token", user.token)
    elif user.username:
        userpass = f"{user.username}:{user.password}".encode()
        header = f"Basic {base64.b64encode(userpass).decode()}"
    if user.certificate is None or user.key is None:
        return Credentials(user.place, header)
    certificate = read_pem(f"{user.place}.client-certificate", user.certificate)
    key = read_pem(f"{user.place}.client-key", user.key)
    return Credentials(user.place, header, certificate, key)


def _bearer_header(place: str, token: str) -> str:
    """Return the header of a token; checked, because httpx would quote an invalid one."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise errors.InputError(place, "expected a token of printable ASCII characters")
    return f"Bearer {token}"


def _explain(err: OSError | ValueError) -> str:
    """Return the error of a token file without quoting its content."""
    if isinstance(err, OSError):
        return f"{err.strerror or type(err).__name__}: expected a file with a token"
    return "expected a file with a token of printable ASCII characters"
