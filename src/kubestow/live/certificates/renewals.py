"""Keeps a running server's certificate up to date without interrupting connections.

Errors are counted, logged and retried later; the server keeps its present certificate.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from kubestow.live import servers
from kubestow.live.api import ApiError
from kubestow.live.certificates import pairs
from kubestow.live.certificates.pairs import KeyPair
from kubestow.live.certificates.sources import CertificateSource, RenewalError
from kubestow.model import errors

REFRESH_S: Final = 30.0
_LOG = logging.getLogger(__name__)


class CertificateKeeper:
    """Installs a source's certificate in a server whenever it changes.

    Args:
        source: Source of the certificate.
        install: Installs a new certificate; called in the event loop.
        metrics: Metrics to update.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        source: CertificateSource,
        install: Callable[[KeyPair], None],
        metrics: servers.Telemetry,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._source, self._install, self._clock = source, install, clock
        self._pair: KeyPair | None = None
        self._ends = metrics.gauge(
            "certificate_expiry_timestamp_seconds", "When the served certificate expires."
        )
        self._checks = metrics.counter(
            "certificate_checks", "Checks for a newer certificate, by result.", ("result",)
        )

    @property
    def ready(self) -> bool:
        """Return whether there is a certificate."""
        return self._pair is not None

    async def refresh(self) -> None:
        """Check once for a newer certificate.

        Raises:
            InputError: If the certificate is malformed.
            ApiError: If the API server fails.
        """
        try:
            pair = await self._source.current(self._clock())
        except RenewalError as err:
            pair = err.pair
            self._checks.labels("not-renewed").inc()
            _LOG.warning("%s", err)
        if pair == self._pair:
            self._checks.labels("same").inc()
            return
        self._install(pair)
        certificate = pairs.read_certificates("served", pair.certificate)[0]
        self._ends.set(certificate.not_valid_after_utc.timestamp())
        self._checks.labels("new").inc()
        _LOG.info(
            "serving certificate %x, valid until %s",
            certificate.serial_number,
            certificate.not_valid_after_utc.isoformat(),
        )
        self._pair = pair

    async def keep(self, every_s: float = REFRESH_S) -> None:
        """Check periodically until cancelled."""
        while True:
            try:
                await self.refresh()
            except (errors.InputError, ApiError, OSError) as err:
                self._checks.labels("failed").inc()
                _LOG.warning("no certificate: %s", err)
            await asyncio.sleep(every_s)
