"""Keeps a running server's certificate up to date; no connection notices.

What goes wrong is counted and logged, and tried again later: the server goes on with what it has.
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

LOOK_S: Final = 30.0
_LOG = logging.getLogger(__name__)


class CertificateKeeper:
    """Hands a source's certificate to a server whenever it changes.

    Args:
        source: Where it comes from.
        install: Takes a new one; called in the event loop.
        metrics: Where to count.
        clock: Tells the time, seconds since the epoch.
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
            "certificate_expiry_timestamp_seconds", "When the served certificate ends."
        )
        self._looks = metrics.counter(
            "certificate_looks", "Looks for a newer certificate, by result.", ("result",)
        )

    @property
    def ready(self) -> bool:
        """Return whether there is a certificate."""
        return self._pair is not None

    async def look(self) -> None:
        """Look once for a newer certificate.

        Raises:
            InputError: If there is something that is none.
            ApiError: If the API server does not give it.
        """
        try:
            found = await self._source.current(self._clock())
        except RenewalError as err:
            found = err.pair
            self._looks.labels("not-renewed").inc()
            _LOG.warning("%s", err)
        if found == self._pair:
            self._looks.labels("same").inc()
            return
        self._install(found)
        certificate = pairs.read_certificates("served", found.certificate)[0]
        self._ends.set(certificate.not_valid_after_utc.timestamp())
        self._looks.labels("new").inc()
        _LOG.info(
            "serving certificate %x, good until %s",
            certificate.serial_number,
            certificate.not_valid_after_utc.isoformat(),
        )
        self._pair = found

    async def keep(self, every_s: float = LOOK_S) -> None:
        """Look again and again, until cancelled."""
        while True:
            try:
                await self.look()
            except (errors.InputError, ApiError, OSError) as err:
                self._looks.labels("failed").inc()
                _LOG.warning("no certificate: %s", err)
            await asyncio.sleep(every_s)
