"""Users as an API server knows them, and the front proxy that authenticates them.

As ``k8s.io/apiserver/pkg/authentication/request/headerrequest``: headers are only trusted from a
client whose certificate the front proxy's CAs signed and whose name is allowed.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import unquote

from kubestow.model import errors

CONFIG_PATH: Final = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
_NAME: Final = "ConfigMap kube-system/extension-apiserver-authentication"
_CA: Final = "requestheader-client-ca-file"
_ANONYMOUS: Final = "system:anonymous"
_AUTHENTICATED, _UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"

Headers = Iterable[tuple[bytes, bytes]]
"""Names in lower case, and values; a name may occur several times."""


@dataclass(frozen=True, slots=True)
class User:
    """A user.

    Attributes:
        name: Name of the user.
        groups: Its groups.
        uid: Unique identifier; may be empty.
        extra: Further attributes.
    """

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def authenticated(self) -> User:
        """Return the user with the group ``system:authenticated``.

        As ``AuthenticatedGroupAdder`` of ``k8s.io/apiserver``: the aggregator's own requests have
        a user without groups.
        """
        decided = {_AUTHENTICATED, _UNAUTHENTICATED} & set(self.groups)
        if decided or self.name == _ANONYMOUS:
            return self
        return replace(self, groups=(*self.groups, _AUTHENTICATED))

    def as_spec(self) -> dict[str, Any]:
        """Return the user in the form of a SubjectAccessReview."""
        return {
            "user": self.name,
            "groups": list(self.groups),
            "uid": self.uid,
            "extra": {key: list(values) for key, values in self.extra},
        }


@dataclass(frozen=True, slots=True)
class FrontProxy:
    """Configuration of the front proxy.

    Attributes:
        authorities: CAs of its client certificate, as PEM.
        allowed: Allowed common names of its certificate; empty allows any name.
        user_headers: Headers with the user's name; the first present one is used.
        group_headers: Headers with groups.
        uid_headers: Headers with the user's UID.
        extra_prefixes: Prefixes of headers with further attributes.
    """

    authorities: bytes
    allowed: frozenset[str] = frozenset()
    user_headers: tuple[str, ...] = ("x-remote-user",)
    group_headers: tuple[str, ...] = ("x-remote-group",)
    uid_headers: tuple[str, ...] = ("x-remote-uid",)
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)

    def matches(self, peer: Mapping[str, Any] | None, now_s: float) -> bool:
        """Return whether a client is the front proxy.

        Args:
            peer: Its certificate, verified by TLS against the CAs; ``None`` without one.
            now_s: Current time, since a connection may outlive the certificate.
        """
        if not peer or ssl.cert_time_to_seconds(peer["notAfter"]) < now_s:
            return False
        return not self.allowed or _common_name(peer) in self.allowed

    def read(self, headers: Headers) -> User | None:
        """Return the user in the headers; ``None`` if there is none."""
        given: dict[str, list[str]] = {}
        try:
            for header, value in headers:
                given.setdefault(header.decode("ascii").lower(), []).append(value.decode())
        except UnicodeDecodeError:
            return None
        name = _first(given, self.user_headers)
        if not name:
            return None
        groups = [group for key in self.group_headers for group in given.get(key, ())]
        return User(name, tuple(groups), _first(given, self.uid_headers), self._extra(given))

    def _extra(self, given: Mapping[str, list[str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        attributes: dict[str, list[str]] = {}
        for name, values in given.items():
            for prefix in self.extra_prefixes:
                if name.startswith(prefix) and len(name) > len(prefix):
                    attributes.setdefault(unquote(name[len(prefix) :]).lower(), []).extend(values)
        return tuple(sorted((key, tuple(values)) for key, values in attributes.items()))


def _first(given: Mapping[str, list[str]], names: Iterable[str]) -> str:
    return next((given[name][0] for name in names if given.get(name, [""])[0]), "")


def _common_name(peer: Mapping[str, Any]) -> str:
    for part in peer.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                return str(value)
    return ""


def read_front_proxy(document: Mapping[str, Any]) -> FrontProxy:
    """Read the ConfigMap in which an API server publishes its front proxy.

    Raises:
        InputError: If it is incomplete or malformed.
    """
    data = document.get("data") or {}
    authorities = str(data.get(_CA) or "")
    if not authorities.strip():
        raise errors.InputError(_NAME, f"has no {_CA}; expected an API server with aggregation")
    defaults = FrontProxy(authorities.encode())
    return FrontProxy(
        authorities.encode(),
        frozenset(_texts(data, "requestheader-allowed-names", ())),
        _lower(data, "requestheader-username-headers", defaults.user_headers),
        _lower(data, "requestheader-group-headers", defaults.group_headers),
        _lower(data, "requestheader-uid-headers", defaults.uid_headers),
        _lower(data, "requestheader-extra-headers-prefix", defaults.extra_prefixes),
    )


def _lower(data: Mapping[str, Any], key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text.lower() for text in _texts(data, key, default))


def _texts(data: Mapping[str, Any], key: str, default: tuple[str, ...]) -> tuple[str, ...]:
    if key not in data:
        return default
    try:
        texts = json.loads(data[key])
    except (TypeError, ValueError):
        texts = None
    if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
        raise errors.InputError(
            f"{_NAME}: {key}", f"{data[key]!r}: expected a JSON list of strings"
        )
    return tuple(texts)
