"""Access to a cluster: which API server, as which user, in which namespace.

It comes from a kubeconfig or a service account. Secrets never appear in a ``repr``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kubestow.model import errors

DEFAULT_NAMESPACE = "default"

Pem = bytes | Path
"""Certificates or a key in PEM: the data itself, or the file that contains it."""


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """An API server and how to verify it.

    Attributes:
        place: Where this is configured, for errors.
        server: Address, with a path if the API is served below one.
        authority: CAs that sign the server's certificate; ``None`` for those of the system.
        server_name: Name in the certificate, if it is not the host of the address.
        insecure: Accept any certificate.
        proxy: URL of the proxy, possibly with a password; if empty, the environment's applies.
        compressed: Accept compressed responses.
        plugin_settings: The cluster's settings for exec plugins, as plain values.
    """

    place: str
    server: str
    authority: Pem | None = field(default=None, repr=False)
    server_name: str = ""
    insecure: bool = False
    proxy: str = field(default="", repr=False)
    compressed: bool = True
    plugin_settings: Any = field(default=None, repr=False)

    @property
    def is_encrypted(self) -> bool:
        """Return whether the server is reached by TLS."""
        return urlsplit(self.server).scheme == "https"

    @property
    def is_loopback(self) -> bool:
        """Return whether the server runs on this machine."""
        host = urlsplit(self.server).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program that prints credentials, as ``client.authentication.k8s.io`` defines it.

    Attributes:
        place: Where it is configured, for errors.
        command: Program, as a path or a name in ``PATH``.
        version: API version of its input and output.
        arguments: Its arguments; some plugins take secrets there.
        environment: Variables to add.
        hint: How to install it.
        describes_cluster: Whether it receives a description of the cluster.
    """

    place: str
    command: str
    version: str
    arguments: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    hint: str = ""
    describes_cluster: bool = False


@dataclass(frozen=True, slots=True)
class UserAccess:
    """How to authenticate; anonymous if nothing is set.

    Attributes:
        place: Where this is configured, for errors.
        certificate: Client certificate with its chain.
        key: Its private key.
        token: Bearer token; with a token file, only used while the file cannot be read.
        token_file: File with a bearer token that is rotated.
        username: Name for basic authentication.
        password: Its password.
        plugin: Program that prints credentials; only used if there are no other credentials.
    """

    place: str
    certificate: Pem | None = field(default=None, repr=False)
    key: Pem | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    plugin: Plugin | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """A cluster, a user and a namespace.

    Attributes:
        cluster: The API server.
        user: The user to authenticate as.
        namespace: Default namespace.
        context: Name of the context in the kubeconfig; ``None`` for a service account.
    """

    cluster: ServerAccess
    user: UserAccess
    namespace: str = DEFAULT_NAMESPACE
    context: str | None = None


def read_pem(place: str, pem: Pem) -> bytes:
    """Return PEM data, read from its file if it is in one.

    Raises:
        InputError: If the file cannot be read.
    """
    if isinstance(pem, bytes):
        return pem
    try:
        return pem.read_bytes()
    except (OSError, ValueError) as err:
        reason = (isinstance(err, OSError) and err.strerror) or str(err)
        problem = f"{str(pem)!r}: {reason}: expected a readable file in PEM"
        raise errors.InputError(place, problem) from err
