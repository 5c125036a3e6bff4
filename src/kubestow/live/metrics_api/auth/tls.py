"""TLS with optional client certificates, which the front proxy's CA must have signed.

CAs cannot be removed from a context, so another set needs another context. New connections are
switched from the first context to the current one by the SNI callback; open ones are not checked
again.
"""

from __future__ import annotations

import ssl

from kubestow.live import certificates
from kubestow.live.certificates import KeyPair


class ClientCertificateContext:
    """A server context whose certificate and client CAs may change.

    Attributes:
        context: The context for the server.
    """

    def __init__(self) -> None:
        self.context = certificates.make_tls_context()
        # Requests a client certificate even while no CA is known: then none is accepted.
        self.context.verify_mode = ssl.CERT_OPTIONAL
        self.context.sni_callback = self._switch_context
        self._current: ssl.SSLContext | None = None
        self._authorities: bytes | None = None
        self._pair: KeyPair | None = None

    @property
    def ready(self) -> bool:
        """Return whether there are a certificate and client CAs."""
        return self._current is not None

    def install(self, pair: KeyPair) -> None:
        """Replace the server's certificate; must be called in the event loop.

        Raises:
            InputError: If it is malformed; then nothing changes.
        """
        certificates.load_certificate(self.context, pair)
        self._pair = pair
        self._build()

    def trust(self, authorities: bytes) -> None:
        """Accept only client certificates of these CAs from now on.

        Raises:
            InputError: If they are malformed; then nothing changes.
        """
        if authorities == self._authorities:
            return
        certificates.make_tls_context(authorities)
        self._authorities = authorities
        self._build()

    def _build(self) -> None:
        if self._pair is None or self._authorities is None:
            return
        context = certificates.make_tls_context(self._authorities)
        certificates.load_certificate(context, self._pair)
        self._current = context

    def _switch_context(
        self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext
    ) -> None:
        if self._current is not None:
            connection.context = self._current
