"""Entries of a kubeconfig: one cluster and one user, read as client-go reads them.

Only the selected entries are read, since a kubeconfig often holds users for other programs.
Unsupported keys in them are refused: client-go ignores unknown keys, but a misspelt key would make
a user anonymous.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from kubestow.live.api.accesses import Pem, Plugin, ServerAccess, UserAccess
from kubestow.model import decoding, errors

PLUGIN_VERSIONS: Final = tuple(f"client.authentication.k8s.io/{v}" for v in ("v1", "v1beta1"))
_PLUGIN_SETTINGS: Final = "client.authentication.k8s.io/exec"
_ALWAYS, _IF_AVAILABLE, _NEVER = "Always", "IfAvailable", "Never"

# Everything else may be a secret, or contain one: passwords in addresses, secrets in arguments.
_QUOTED: Final = frozenset(
    {
        *("apiVersion", "kind", "name", "current-context", "context", "cluster", "namespace"),
        *("server", "tls-server-name", "insecure-skip-tls-verify", "disable-compression"),
        *("certificate-authority", "client-certificate", "client-key", "tokenFile", "username"),
        *("command", "installHint", "interactiveMode", "provideClusterInfo"),
    }
)
_CLUSTER_KEYS: Final = (
    *("server", "certificate-authority", "certificate-authority-data", "tls-server-name"),
    *("insecure-skip-tls-verify", "proxy-url", "disable-compression", "extensions"),
)
_USER_KEYS: Final = (
    *("client-certificate", "client-certificate-data", "client-key", "client-key-data"),
    *("token", "tokenFile", "username", "password", "exec", "extensions"),
)
_PLUGIN_KEYS: Final = (
    *("apiVersion", "command", "args", "env", "installHint", "interactiveMode"),
    "provideClusterInfo",
)


class Entry(decoding.Field):
    """A value inside a kubeconfig; errors do not quote what may be a secret."""

    __slots__ = ()

    def refuse(self, expectation: str) -> errors.InputError:
        """Return the error for this value; the caller raises it."""
        key = self.path.rpartition(".")[2]
        if key in _QUOTED and not isinstance(self.value, dict | list):
            return super().refuse(expectation)
        return errors.InputError(self.where, expectation)

    def __repr__(self) -> str:
        return f"Entry({self.where!r})"


def read_cluster(entry: Entry, folder: Path) -> ServerAccess:
    """Read a cluster.

    Args:
        entry: The member ``cluster`` of its entry.
        folder: Folder of the kubeconfig; relative paths start there.

    Raises:
        InputError: If a value is malformed or not supported.
    """
    _refuse_others(entry, _CLUSTER_KEYS)
    authority = _read_pem(entry, "certificate-authority", folder)
    insecure = entry["insecure-skip-tls-verify"].truth()
    if insecure and authority is not None:
        raise entry["insecure-skip-tls-verify"].refuse("expected false with certificate-authority")
    return ServerAccess(
        place=entry.where,
        server=_read_server(entry["server"]),
        authority=authority,
        server_name=entry["tls-server-name"].text(""),
        insecure=insecure,
        proxy=_read_proxy(entry["proxy-url"]),
        compressed=not entry["disable-compression"].truth(),
        plugin_settings=_read_plugin_settings(entry["extensions"]),
    )


def read_user(entry: Entry, folder: Path) -> UserAccess:
    """Read a user.

    Args:
        entry: The member ``user`` of its entry.
        folder: Folder of the kubeconfig; relative paths start there.

    Raises:
        InputError: If a value is malformed or not supported, or if methods conflict.
    """
    _refuse_others(entry, _USER_KEYS)
    certificate = _read_pem(entry, "client-certificate", folder)
    key = _read_pem(entry, "client-key", folder)
    if certificate is not None and key is None:
        problem = "expected client-key or client-key-data with client-certificate"
        raise errors.InputError(entry.where, problem)
    token, token_file = entry["token"].text(""), entry["tokenFile"].text("")
    username, password = entry["username"].text(""), entry["password"].text("")
    if (username or password) and (token or token_file):
        raise errors.InputError(entry.where, "expected either username and password or a token")
    if password and not username:
        raise entry["username"].refuse("expected a name with password")
    return UserAccess(
        place=entry.where,
        certificate=certificate,
        # As in client-go, a key without a certificate is not used.
        key=key if certificate is not None else None,
        token=token,
        token_file=folder / token_file if token_file else None,
        username=username,
        password=password,
        plugin=None if entry["exec"].missing else _read_plugin(entry["exec"], folder),
    )


def _read_plugin(entry: Entry, folder: Path) -> Plugin:
    _refuse_others(entry, _PLUGIN_KEYS)
    version = entry["apiVersion"].choice(PLUGIN_VERSIONS)
    # Version v1 requires the mode, v1beta1 has a default.
    default = _IF_AVAILABLE if version == PLUGIN_VERSIONS[1] else None
    mode = entry["interactiveMode"]
    if mode.choice((_NEVER, _IF_AVAILABLE, _ALWAYS), default) == _ALWAYS:
        raise mode.refuse(f"there is no terminal; expected {_NEVER} or {_IF_AVAILABLE}")
    command = entry["command"].text()
    return Plugin(
        place=entry.where,
        # A name without a slash is looked up in PATH.
        command=str(folder / command) if "/" in command else command,
        version=version,
        arguments=entry["args"].texts(),
        environment={item["name"].text(): item["value"].text("") for item in entry["env"].items()},
        hint=entry["installHint"].text(""),
        describes_cluster=entry["provideClusterInfo"].truth(),
    )


def _read_plugin_settings(extensions: Entry) -> Any:
    for item in extensions.items():
        if item["name"].text("") == _PLUGIN_SETTINGS:
            return item["extension"].value
    return None


def _read_pem(entry: Entry, key: str, folder: Path) -> Pem | None:
    """Return the data or, if there is none, the path of its file."""
    data, file = entry[f"{key}-data"], entry[key].text("")
    text = data.text("")
    if not text:
        return folder / file if file else None
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise data.refuse("expected base64") from None


def _read_server(entry: Entry) -> str:
    text = entry.text()
    if "@" in text:
        problem = "expected an address without username and password"
        raise errors.InputError(entry.where, problem)
    parts = _split(text)
    if parts is None or parts.scheme not in ("http", "https"):
        raise entry.refuse("expected https://HOST or http://HOST")
    return parts._replace(query="", fragment="").geturl().rstrip("/")


def _read_proxy(entry: Entry) -> str:
    text = entry.text("")
    if not text:
        return ""
    parts = _split(text)
    if parts is None or parts.scheme not in ("http", "https", "socks5"):
        raise entry.refuse("expected http://HOST, https://HOST or socks5://HOST")
    if parts.scheme == "socks5" and importlib.util.find_spec("socksio") is None:
        problem = "socks5 needs the package socksio; expected http or https, or pip install socksio"
        raise errors.InputError(entry.where, problem)
    return text


def _split(address: str) -> SplitResult | None:
    """Split an address; ``None`` if it names no host."""
    try:
        parts = urlsplit(address)
        # Reading the port checks it.
        return parts if parts.hostname and parts.port != 0 else None
    except ValueError:
        return None


def _refuse_others(entry: Entry, known: Collection[str]) -> None:
    for key, member in entry.members():
        if key not in known and not member.missing:
            problem = f"not supported: expected one of {', '.join(known)}"
            raise errors.InputError(member.where, problem)
