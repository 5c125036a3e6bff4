"""The service account of the pod this runs in, as client-go's ``InClusterConfig`` reads it."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kubestow.live.api.accesses import DEFAULT_NAMESPACE, Access, ServerAccess, UserAccess
from kubestow.model import errors

FOLDER = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where the kubelet mounts token, CA and namespace."""

_HOST: Final = "KUBERNETES_SERVICE_HOST"
_PORT: Final = "KUBERNETES_SERVICE_PORT"
_NAMESPACE: Final = "POD_NAMESPACE"


def find(environment: Mapping[str, str]) -> Access | None:
    """Return the access of the pod this runs in; ``None`` outside a pod.

    Args:
        environment: Variables of the process.

    Raises:
        InputError: If the variables do not name a server.
    """
    host, port = environment.get(_HOST, ""), environment.get(_PORT, "")
    token, authority = FOLDER / "token", FOLDER / "ca.crt"
    if not host or not port or not token.is_file():
        return None
    if not port.isdecimal():
        raise errors.InputError(_PORT, f"{port!r}: expected the port of the API server")
    place = str(FOLDER)
    cluster = ServerAccess(
        place=place,
        server=f"https://{_bracket(host)}:{port}",
        # Without it client-go falls back to the CAs of the system.
        authority=authority if authority.is_file() else None,
    )
    user = UserAccess(place=place, token_file=token)
    return Access(cluster, user, namespace=_find_namespace(environment))


def _find_namespace(environment: Mapping[str, str]) -> str:
    given = environment.get(_NAMESPACE)
    if given:
        return given
    try:
        return (FOLDER / "namespace").read_text("utf-8").strip() or DEFAULT_NAMESPACE
    except (OSError, UnicodeDecodeError):
        return DEFAULT_NAMESPACE


def _bracket(host: str) -> str:
    """Put an IPv6 address in brackets, as URLs require.

    >>> _bracket("fd00::1"), _bracket("10.0.0.1")
    ('[fd00::1]', '10.0.0.1')
    """
    try:
        return f"[{host}]" if ipaddress.ip_address(host).version == 6 else host
    except ValueError:
        return host
