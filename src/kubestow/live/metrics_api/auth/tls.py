"""The TLS door: a client may show a certificate, and then one that the front proxy's CA signed.

Authorities cannot be taken out of a context, so another set means another context. Connections are
handed from the first context to the present one when they begin; those that are open stay as they
were judged.
"""

from __future__ import annotations

import ssl

from kubestow.live import certificates
from kubestow.live.certificates import KeyPair


class ClientCertificateContext:
    """A context for a server, whose certificate and client authorities may change.

    Attributes:
        context: What the server is given.
    """

    def __init__(self) -> None:
        self.context = certificates.make_tls_context()
        # Asks for a certificate also while nobody can vouch for one: then none is accepted.
        self.context.verify_mode = ssl.CERT_OPTIONAL
        self.context.sni_callback = self._hand_over
        self._current: ssl.SSLContext | None = None
        self._authorities: bytes | None = None
        self._pair: KeyPair | None = None

    @property
    def ready(self) -> bool:
        """Return whether there is a certificate, and someone who vouches for clients."""
        return self._current is not None

    def install(self, pair: KeyPair) -> None:
        """Show another certificate from now on; to be called in the event loop.

        Raises:
            InputError: If it is none; then nothing changes.
        """
        certificates.load_certificate(self.context, pair)
        self._pair = pair
        self._build()

    def trust(self, authorities: bytes) -> None:
        """Believe clients of these authorities from now on, and of no others.

        Raises:
            InputError: If there are none; then nothing changes.
        """
        if authorities == self._authorities:
            return
        certificates.make_tls_context(authorities)
        self._authorities = authorities
        self._build()

    def _build(self) -> None:
        if self._pair is None or self._authorities is None:
            return
        made = certificates.make_tls_context(self._authorities)
        certificates.load_certificate(made, self._pair)
        self._current = made

    def _hand_over(
        self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _: ssl.SSLContext
    ) -> None:
        if self._current is not None:
            connection.context = self._current
