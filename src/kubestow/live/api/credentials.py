"""Credentials: what we show an API server, and where it comes from as it changes.

As in client-go: a token file is read again every minute and the last token that could be read
counts; a plugin runs again when its credentials expire. Over plain HTTP nothing is shown, unless
to this machine. Secrets never appear in representations, logs or errors.
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
_RETRY_S: Final = 10.0  # pause before a token file is tried again that could not be read

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What is shown to the server; nothing for an anonymous user.

    Attributes:
        place: Where they are configured, for errors.
        authorization: Value of the header ``Authorization``.
        certificate: Client certificate, with the chain behind it, in PEM.
        key: Its private key in PEM.
    """

    place: str
    authorization: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)

    def has_pair_of(self, other: Credentials) -> bool:
        """Tell whether both show the same client certificate."""
        return (self.certificate, self.key) == (other.certificate, other.key)


class Source(Protocol):
    """Where credentials come from."""

    async def current(self) -> Credentials:
        """Return what counts now.

        Raises:
            InputError: If there are no credentials, or they are malformed.
        """


class FixedCredentials:
    """Credentials that do not change."""

    def __init__(self, shown: Credentials) -> None:
        self._shown = shown

    async def current(self) -> Credentials:
        """Return the credentials."""
        return self._shown


class TokenFile:
    """A bearer token in a file that somebody exchanges, e.g. the kubelet.

    Args:
        path: The file.
        shown: What is shown besides, and instead while there is no token yet.
        clock: Seconds that only grow.
    """

    def __init__(self, path: Path, shown: Credentials, clock: Clock = time.monotonic) -> None:
        self._path, self._shown, self._clock = path, shown, clock
        self._due_s = float("-inf")

    async def current(self) -> Credentials:
        """Return the last token that could be read; reads the file from time to time."""
        if self._clock() >= self._due_s:
            await asyncio.to_thread(self._read)
        return self._shown

    def _read(self) -> None:
        try:
            token = self._path.read_text("ascii").strip()
            header = _bear(str(self._path), token)
        except (OSError, ValueError) as err:
            if not self._shown.authorization:
                raise errors.InputError(str(self._path), _explain(err)) from None
            _LOG.warning("%s: %s; the last token is used", self._path, _explain(err))
            self._due_s = self._clock() + _RETRY_S
        else:
            self._shown = replace(self._shown, authorization=header)
            self._due_s = self._clock() + _FRESH_S


class PluginRuns:
    """Credentials that a plugin prints, until they expire.

    Args:
        plugin: The program.
        cluster: The cluster to describe to it.
        clock: Seconds since the epoch.
    """

    def __init__(self, plugin: Plugin, cluster: ServerAccess, clock: Clock = time.time) -> None:
        self._plugin, self._cluster, self._clock = plugin, cluster, clock
        self._shown: Credentials | None = None
        self._expires_s = float("inf")
        self._lock = asyncio.Lock()

    async def current(self) -> Credentials:
        """Return credentials; runs the plugin if there are none or they have expired."""
        async with self._lock:
            if self._shown is None or self._clock() > self._expires_s:
                issued = await plugins.run(self._plugin, self._cluster)
                place = self._plugin.place
                header = _bear(f"{place}: token", issued.token) if issued.token else ""
                self._shown = Credentials(place, header, issued.certificate, issued.key)
                self._expires_s = issued.expires_s
            return self._shown


def make_source(access: Access) -> Source:
    """Return where the credentials of an access come from.

    Raises:
        InputError: If a certificate, a key or a token cannot be used.
    """
    user, cluster = access.user, access.cluster
    if not cluster.is_encrypted and not cluster.is_loopback:
        if user != UserAccess(user.place):
            _LOG.warning("%s: plain HTTP: no credentials are sent", cluster.server)
        return FixedCredentials(Credentials(user.place))
    shown = _read_fixed(user)
    if user.token_file is not None:
        return TokenFile(user.token_file, shown)
    # As in client-go, a plugin only counts where nothing else does.
    if user.plugin is not None and shown == Credentials(user.place):
        return PluginRuns(user.plugin, cluster)
    return FixedCredentials(shown)


def _read_fixed(user: UserAccess) -> Credentials:
    header = ""
    if user.token:
        header = _bear(f"{user.place}.token", user.token)
    elif user.username:
        pair = f"{user.username}:{user.password}".encode()
        header = f"Basic {base64.b64encode(pair).decode()}"
    if user.certificate is None or user.key is None:
        return Credentials(user.place, header)
    certificate = read_pem(f"{user.place}.client-certificate", user.certificate)
    key = read_pem(f"{user.place}.client-key", user.key)
    return Credentials(user.place, header, certificate, key)


def _bear(place: str, token: str) -> str:
    """Return the header of a token; errors of HTTP would quote one that does not fit a header."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise errors.InputError(place, "expected a token of printable ASCII characters")
    return f"Bearer {token}"


def _explain(err: OSError | ValueError) -> str:
    """Return what is wrong with a token file without quoting it."""
    if isinstance(err, OSError):
        return f"{err.strerror or type(err).__name__}: expected a file with a token"
    return "expected a file with a token of printable ASCII characters"
