"""TLS contexts whose certificate can be replaced while they serve.

A connection gets the context's certificate when it is opened; loading another one only affects
later connections. OpenSSL reads only files, so certificate and key are passed through a file in
memory that no other user can open: a key never touches a disk.
"""

from __future__ import annotations

import os
import ssl
from typing import Final

from kubestow.live.certificates import pairs
from kubestow.live.certificates.pairs import KeyPair
from kubestow.model import errors

_PRIVATE: Final = 0o600


def make_tls_context(
    client_authorities: bytes | None = None, *, required: bool = False
) -> ssl.SSLContext:
    """Return a context for a server, without a certificate.

    Args:
        client_authorities: CAs of client certificates, as PEM. A client with a certificate of
            another CA is refused.
        required: Also refuse clients without a certificate.

    Raises:
        InputError: If the CAs cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # A resumed session would keep the old certificate; idle connections are kept instead.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    if client_authorities is not None:
        pairs.read_certificates("client authorities", client_authorities)
        context.load_verify_locations(cadata=client_authorities.decode("ascii", "replace"))
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    elif required:
        raise errors.InputError("client authorities", "are missing; clients cannot be verified")
    return context


def load_certificate(context: ssl.SSLContext, pair: KeyPair) -> None:
    """Load or replace the certificate of a context.

    Call it where handshakes happen, in the event loop: between loading certificate and key the
    context has neither the old nor the new pair.

    Raises:
        InputError: If certificate and key do not match; the context keeps its present pair.
    """
    pairs.check("certificate", pair)
    handle = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.fchmod(handle, _PRIVATE)
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(pair.certificate + b"\n" + pair.key)
        place = f"/proc/self/fd/{handle}"
        # Tried on another context first: a failed load may leave only half of the pair.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(place)
        context.load_cert_chain(place)
    except ssl.SSLError as err:
        raise errors.InputError("certificate", f"OpenSSL rejects it: {err.reason}") from None
    finally:
        os.close(handle)
