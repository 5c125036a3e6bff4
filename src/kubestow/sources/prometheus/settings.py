"""Settings of a Prometheus client: address, credentials, time-outs and limits.

Secrets are given as files, as Kubernetes mounts them, or as text from the environment; an address
may contain a user name and a password, which are removed from it at once. No message or ``repr``
contains a secret.
"""

from __future__ import annotations

import ssl
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from kubestow.model import errors
from kubestow.sources.prometheus import errors as prometheus_errors

_EXPECTED = "expected http://HOST[:PORT][/PATH] or https://HOST[:PORT][/PATH]"
_MOST_SECRET_BYTES = 64 * 1024
_QUERY = ("query", "time", "start", "end", "step", "timeout")


@dataclass(frozen=True, slots=True)
class PrometheusSettings:
    """Address, credentials, time-outs and limits.

    Attributes:
        url: Address of the server, with the path before ``/api/v1`` if there is one.
        bearer_token_file: File with a token; read for each query, because Kubernetes rotates
            mounted tokens.
        bearer_token: The token itself, if it is not in a file.
        username: User name for basic authentication.
        password_file: File with its password.
        password: The password itself, if it is not in a file.
        ca_file: CA certificates to verify the server with, instead of the default ones.
        certificate_file: Client certificate.
        key_file: Its key, if it is not in the same file.
        insecure: Do not verify the server's certificate.
        headers: Further headers, such as a tenant's name.
        parameters: Further parameters of every query, such as ``dedup`` of Thanos.
        proxy: Address of a proxy; by default those of the environment (``HTTPS_PROXY``).
        only_get: Whether to send queries by GET alone, where POST needs further rights.
        connect_s: Time-out of a connection.
        read_s: Time-out between two reads of a response; also the time-out of the query itself.
        total_s: Time-out of one query with all its attempts.
        most_bytes: Largest response, decompressed.
        retries: Number of retries after a failed connection or a server error (5xx).
        backoff_s: Pause before the first retry; doubles with each.
    """

    url: str = field(repr=False)
    bearer_token_file: Path | None = None
    bearer_token: str = field(default="", repr=False)
    username: str = ""
    password_file: Path | None = None
    password: str = field(default="", repr=False)
    ca_file: Path | None = None
    certificate_file: Path | None = None
    key_file: Path | None = None
    insecure: bool = False
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict)
    proxy: str = field(default="", repr=False)
    only_get: bool = False
    connect_s: float = 5.0
    read_s: float = 30.0
    total_s: float = 60.0
    most_bytes: int = 64 * 1024**2
    retries: int = 2
    backoff_s: float = 0.25


@dataclass(frozen=True, slots=True)
class Address:
    """An address and the credentials it contained.

    Attributes:
        base: The address without credentials and without a trailing slash.
        username: The user name it contained.
        password: The password it contained.
    """

    base: str
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)


def parse_address(url: str) -> Address:
    """Split an address into base and credentials.

    >>> parse_address("https://me:secret@example.org/prom/").base
    'https://example.org/prom'

    Raises:
        InputError: If it is not an address; a text that may contain a password is not repeated.
    """
    shown = "the address" if "@" in url else repr(url)
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError):
        raise errors.InputError("prometheus", f"{shown}: {_EXPECTED}") from None
    if parsed.scheme not in ("http", "https") or not parsed.host or parsed.query or parsed.fragment:
        raise errors.InputError("prometheus", f"{shown}: {_EXPECTED}")
    bare = parsed.copy_with(username=None, password=None)
    return Address(str(bare).rstrip("/"), parsed.username, parsed.password)


def check(settings: PrometheusSettings, address: Address) -> None:
    """Refuse settings that contradict each other or cannot be sent.

    Raises:
        InputError: If a setting is invalid; names the setting.
    """
    named = bool(settings.username or address.username)
    token = settings.bearer_token_file is not None or bool(settings.bearer_token)
    if named and token:
        raise errors.InputError(
            "prometheus", "both a user name and a bearer token; expected one of them"
        )
    if (settings.password_file is not None or settings.password) and not named:
        raise errors.InputError("prometheus", "a password without a user name")
    if not _is_sendable(settings.bearer_token):
        raise errors.InputError("prometheus", "token must be one line of printable ASCII")
    if settings.proxy:
        _check_proxy(settings.proxy)
    if settings.key_file is not None and settings.certificate_file is None:
        raise errors.InputError("prometheus", "a key without a certificate")
    for name in ("connect_s", "read_s", "total_s", "most_bytes"):
        if not getattr(settings, name) > 0:
            raise errors.InputError(f"prometheus: {name}", "must be > 0")
    if settings.retries < 0 or settings.backoff_s < 0:
        raise errors.InputError("prometheus: retries", "must be >= 0")
    for name, value in settings.headers.items():
        _check_header(name, value, named or token)
    for name in settings.parameters:
        if name in _QUERY:
            raise errors.InputError(f"prometheus: parameter {name!r}", "is part of the query")


def _check_proxy(url: str) -> None:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        parsed = httpx.URL("")
    if parsed.scheme not in ("http", "https", "socks5", "socks5h") or not parsed.host:
        shown = "the address" if "@" in url else repr(url)
        raise errors.InputError("prometheus: proxy", f"{shown}: expected http://HOST[:PORT]")


def _check_header(name: str, value: str, authorized: bool) -> None:
    place = f"prometheus: header {name!r}"
    if not name or not all(c.isascii() and (c.isalnum() or c in "-_") for c in name):
        raise errors.InputError(place, "expected letters, digits and dashes")
    if not _is_sendable(value):
        raise errors.InputError(place, "value must be one line of printable ASCII")
    if authorized and name.lower() == "authorization":
        raise errors.InputError(place, "conflicts with other credentials; expected one of them")


def _is_sendable(text: str) -> bool:
    return text.isascii() and text.isprintable()


def authorize(settings: PrometheusSettings, address: Address) -> httpx.Auth | None:
    """Return the authentication, with secrets read from their files now.

    Raises:
        ReadError: If a file with a secret cannot be read.
    """
    if settings.bearer_token_file is not None:
        return _Bearer(_read_secret(settings.bearer_token_file))
    if settings.bearer_token:
        return _Bearer(settings.bearer_token)
    name = settings.username or address.username
    if not name:
        return None
    password = settings.password or address.password
    if settings.password_file is not None:
        password = _read_secret(settings.password_file)
    return httpx.BasicAuth(name, password)


class _Bearer(httpx.Auth):
    """Bearer-token authentication."""

    def __init__(self, token: str) -> None:
        self._header = f"Bearer {token}"

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers["Authorization"] = self._header
        yield request


def _read_secret(path: Path) -> str:
    kind = prometheus_errors.CREDENTIALS
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_SECRET_BYTES).decode("ascii").strip()
    except OSError as err:
        raise prometheus_errors.ReadError(str(path), str(err.strerror), kind) from None
    except UnicodeDecodeError:
        text = ""
    if not text or not _is_sendable(text):
        problem = "expected one line of printable ASCII"
        raise prometheus_errors.ReadError(str(path), problem, kind)
    return text


def tls_context(settings: PrometheusSettings) -> ssl.SSLContext | bool:
    """Return the TLS context; ``True`` for the default one.

    Raises:
        InputError: If a file with certificates cannot be used.
    """
    if settings.ca_file is None and settings.certificate_file is None and not settings.insecure:
        return True
    ca_file = None if settings.ca_file is None else str(settings.ca_file)
    place = str(settings.ca_file)
    try:
        context = ssl.create_default_context(cafile=ca_file)
        if settings.certificate_file is not None:
            place = str(settings.certificate_file)
            context.load_cert_chain(settings.certificate_file, settings.key_file)
    except (OSError, ssl.SSLError) as err:
        problem = f"cannot be used as certificate: {err.strerror or err}"
        raise errors.InputError(place, problem) from None
    if settings.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
