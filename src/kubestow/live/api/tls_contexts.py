"""TLS contexts for an API server: trusted CAs, expected name, client certificate.

OpenSSL reads a private key only from a path. The key is passed through a file in memory that no
other user can open and that ends with the call: it never touches a disk, and a read-only file
system works.
"""

from __future__ import annotations

import os
import ssl
from typing import Final

from kubestow.live.api.accesses import ServerAccess, read_pem
from kubestow.live.api.credentials import Credentials
from kubestow.model import errors

_PRIVATE: Final = 0o600


class _NamedContext(ssl.SSLContext):
    """A context that expects a certificate for another name than the host of the address.

    httpx has an option for that, but ignores it behind a proxy (encode/httpcore#934).
    """

    server_name: str

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,  # noqa: ARG002 - the one to replace
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Start TLS over buffers, as asynchronous transports do."""
        return super().wrap_bio(incoming, outgoing, server_side, self.server_name, session)


def make(cluster: ServerAccess, credentials: Credentials) -> ssl.SSLContext:
    """Return the context for connections to a cluster.

    Args:
        cluster: The server and its CAs.
        credentials: Credentials with the client certificate.

    Raises:
        InputError: If CAs, certificate or key cannot be read.
    """
    context = _begin(cluster.server_name)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if cluster.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif cluster.is_encrypted:
        _trust(context, cluster)
    if credentials.certificate:
        _load_pair(context, credentials)
    return context


def _begin(server_name: str) -> ssl.SSLContext:
    # Not create_default_context(): since Python 3.13 it refuses CAs that lack extensions
    # which Kubernetes does not require.
    if not server_name:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.server_name = server_name
    return context


def _trust(context: ssl.SSLContext, cluster: ServerAccess) -> None:
    if cluster.authority is None:
        context.load_default_certs()
        return
    place = f"{cluster.place}.certificate-authority"
    pem = read_pem(place, cluster.authority)
    # As in Go, an intermediate CA may be the only trusted one.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=pem.decode("ascii"))
    except (ssl.SSLError, ValueError):
        raise errors.InputError(place, "expected certificates in PEM") from None


def _load_pair(context: ssl.SSLContext, credentials: Credentials) -> None:
    handle = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
    try:
        os.fchmod(handle, _PRIVATE)
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(credentials.certificate + b"\n" + credentials.key)
        # Without a password argument, OpenSSL would prompt for one on the terminal.
        context.load_cert_chain(f"/proc/self/fd/{handle}", password="")
    except ssl.SSLError as err:
        problem = f"{err.reason or 'not PEM'}: expected a certificate and its key without password"
        raise errors.InputError(f"{credentials.place}: client certificate", problem) from None
    finally:
        os.close(handle)
