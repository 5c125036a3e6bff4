"""Exec plugins: programs that print credentials, as ``client.authentication.k8s.io`` defines it.

A plugin has no terminal, limited time and limited output. Its standard error is shown if it fails;
its standard output never is.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import datetime as dt
import os
import re
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import msgspec

from kubestow.live.api.accesses import Plugin, ServerAccess, read_pem
from kubestow.model import errors

INFO: Final = "KUBERNETES_EXEC_INFO"
"""Environment variable with the request to the plugin, as JSON."""

TIMEOUT_S = 60.0  # enough for a plugin that calls a remote service
MOST_OUTPUT = 1 << 20  # bytes; a token and a chain of certificates are a few thousand
_MOST_SHOWN: Final = 500  # characters of standard error
_PIECE: Final = 1 << 16
_END_S: Final = 5.0  # wait for a killed process; a child in another session may hold the pipes
_KIND: Final = "ExecCredential"
_GROUP: Final = "client.authentication.k8s.io/"
_SECRET: Final = re.compile(r'[^\s"]{16,}')  # long words of the output may be secrets


@dataclass(frozen=True, slots=True)
class Issued:
    """Credentials that a plugin printed.

    Attributes:
        token: Bearer token, or empty.
        certificate: Client certificate in PEM, or empty.
        key: Its private key in PEM.
        expires_s: When it expires, in seconds since the epoch.
    """

    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    expires_s: float = float("inf")


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: Annotated[dt.datetime, msgspec.Meta(tz=True)] | None = None

    def __repr__(self) -> str:
        return "_Status(...)"


class _Output(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Status | None = None


_read_output = msgspec.json.Decoder(_Output).decode


async def run(plugin: Plugin, cluster: ServerAccess) -> Issued:
    """Run a plugin and return the credentials it issued.

    Args:
        plugin: The program.
        cluster: The cluster to describe to it, if so configured.

    Raises:
        InputError: If it is not installed, fails, takes too long or prints something else.
    """
    command = shutil.which(plugin.command)
    if command is None:
        hint = f"; {_one_line(plugin.hint)}" if plugin.hint else ""
        raise _refuse(plugin, f"not found: expected an executable{hint}")
    environment = {**os.environ, **plugin.environment, INFO: _describe(plugin, cluster)}
    try:
        code, output, stderr = await _execute([command, *plugin.arguments], environment)
    except TimeoutError:
        raise _refuse(plugin, f"still running after {TIMEOUT_S:g} s") from None
    except (OSError, ValueError) as err:
        # A null character in an argument is a ValueError.
        reason = (isinstance(err, OSError) and err.strerror) or str(err)
        raise _refuse(plugin, f"{reason}: expected an executable") from None
    if len(output) > MOST_OUTPUT:
        raise _refuse(plugin, f"more than {MOST_OUTPUT} bytes on standard output")
    if code:
        raise _refuse(plugin, f"exit code {code}: {_hide(stderr, output)}")
    return _decode(plugin, output)


def _describe(plugin: Plugin, cluster: ServerAccess) -> str:
    """Return the request to the plugin, as JSON."""
    spec: dict[str, Any] = {"interactive": False}
    if plugin.describes_cluster:
        spec["cluster"] = _describe_cluster(cluster)
    request = {"apiVersion": plugin.version, "kind": _KIND, "spec": spec}
    try:
        return msgspec.json.encode(request).decode()
    except (TypeError, ValueError):
        problem = "expected settings for plugins that JSON can express"
        raise errors.InputError(f"{cluster.place}.extensions", problem) from None


def _describe_cluster(cluster: ServerAccess) -> dict[str, Any]:
    authority = b""
    if cluster.authority is not None:
        authority = read_pem(f"{cluster.place}.certificate-authority", cluster.authority)
    optional = {
        "tls-server-name": cluster.server_name,
        "insecure-skip-tls-verify": cluster.insecure,
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": cluster.proxy,
        "disable-compression": not cluster.compressed,
    }
    given = {key: value for key, value in optional.items() if value}
    return {"server": cluster.server, **given, "config": cluster.plugin_settings}


async def _execute(command: list[str], environment: dict[str, str]) -> tuple[int, bytes, bytes]:
    """Return exit code, standard output and the beginning of standard error."""
    # Its own session, so that its children can be killed with it.
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environment, start_new_session=True
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            output, stderr = await asyncio.gather(
                _read(process.stdout, lambda: _kill(process)), _read(process.stderr)
            )
            return await process.wait(), output, stderr
    except BaseException:
        await _end(process)
        raise


async def _read(
    stream: asyncio.StreamReader | None, stop: Callable[[], None] | None = None
) -> bytes:
    """Return the beginning of a stream: slightly more than is accepted.

    Args:
        stream: Read until it ends.
        stop: Called when there is more output; without it, the rest is dropped.
    """
    content = bytearray()
    while stream is not None and (piece := await stream.read(_PIECE)):
        if len(content) <= MOST_OUTPUT:
            content += piece
        elif stop is not None:
            stop()
    return bytes(content)


async def _end(process: Process) -> None:
    """Kill a process with its children; read the remaining output, which closes the pipes."""
    _kill(process)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_END_S):
            await asyncio.gather(_read(process.stdout), _read(process.stderr), process.wait())


def _kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _decode(plugin: Plugin, output: bytes) -> Issued:
    try:
        credential = _read_output(output)
    except msgspec.ValidationError as err:
        raise _refuse(plugin, f"standard output: {err}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _refuse(plugin, f"standard output is not JSON: expected an {_KIND}") from None
    if credential.kind != _KIND:
        raise _refuse(plugin, f"printed another kind: expected an {_KIND}")
    if credential.api_version != plugin.version:
        version = (
            credential.api_version
            if credential.api_version.startswith(_GROUP)
            else "another version"
        )
        raise _refuse(plugin, f"printed {version}: expected {plugin.version}")
    return _check(plugin, credential.status or _Status())


def _check(plugin: Plugin, status: _Status) -> Issued:
    certificate, key = status.client_certificate_data or "", status.client_key_data or ""
    if bool(certificate) != bool(key):
        raise _refuse(plugin, "printed a certificate or a key: expected both or neither")
    if not status.token and not certificate:
        raise _refuse(plugin, "printed no credentials: expected a token or a client certificate")
    expires = status.expiration_timestamp
    return Issued(
        token=status.token or "",
        certificate=certificate.encode(),
        key=key.encode(),
        expires_s=expires.timestamp() if expires else float("inf"),
    )


def _hide(stderr: bytes, output: bytes) -> str:
    """Return standard error on one line, without secrets that also are on standard output."""
    text = stderr.decode("utf-8", "replace")
    for word in sorted(set(_SECRET.findall(output.decode("utf-8", "replace"))), key=len)[::-1]:
        text = text.replace(word, "...")
    return _one_line(text)[-_MOST_SHOWN:] or "nothing on standard error"


def _one_line(text: str) -> str:
    """Return a text on one line, without terminal control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _refuse(plugin: Plugin, problem: str) -> errors.InputError:
    return errors.InputError(plugin.place, f"{plugin.command!r}: {problem}")
