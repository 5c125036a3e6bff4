"""TLS contexts whose certificate can be changed while they serve.

A context hands its certificate to each connection when that begins; loading another one changes
what later connections get and nothing else. OpenSSL reads files only, so certificate and key go
through a file in memory that nobody else can open: a key never touches a disk.
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
    """Return a context for a server; it still needs a certificate.

    Args:
        client_authorities: Certificates, as PEM, of those who vouch for clients. A client that
            shows a certificate of anyone else is refused.
        required: Refuse clients that show none, too.

    Raises:
        InputError: If the authorities cannot be read.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # A resumed session would not see a new certificate; idle connections are kept instead.
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
    """Give a context a certificate, or another one.

    To be called where handshakes happen, in the event loop: between the two halves the context
    has neither the old nor the new certificate.

    Raises:
        InputError: If the halves do not belong together; the context keeps what it has.
    """
    pairs.check("certificate", pair)
    handle = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.fchmod(handle, _PRIVATE)
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(pair.certificate + b"\n" + pair.key)
        place = f"/proc/self/fd/{handle}"
        # Tried on a context of its own: one that refuses half of it would be left with that half.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(place)
        context.load_cert_chain(place)
    except ssl.SSLError as err:
        raise errors.InputError("certificate", f"OpenSSL refuses it: {err.reason}") from None
    finally:
        os.close(handle)
