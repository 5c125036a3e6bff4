"""HTTP requests to Prometheus, bounded in time, attempts and size.

A failed connection and a server error (5xx) are retried; a response that has begun is not requested
again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn

import httpx

from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus import settings as settings_of

# Some servers and proxies support only GET (client_golang falls back in the same order).
_NO_POST = (405, 501)


class HttpReply(NamedTuple):
    """An HTTP response.

    Attributes:
        status: HTTP status.
        reason: Reason phrase.
        body: The body, decompressed.
    """

    status: int
    reason: str
    body: bytes


class Transport:
    """Sends requests to one server.

    Args:
        settings: Address, credentials and limits.
        wire: Transport that replaces the network; for tests.
        sleep: Waits between attempts.
        clock: Monotonic clock in seconds.
    """

    def __init__(
        self,
        settings: settings_of.PrometheusSettings,
        wire: httpx.BaseTransport | None,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
    ) -> None:
        self.address = settings_of.parse_address(settings.url)
        settings_of.check(settings, self.address)
        self._settings = settings
        self._sleep = sleep
        self._clock = clock
        self._http = httpx.Client(
            headers={**settings.headers, "Accept-Encoding": "gzip"},
            timeout=httpx.Timeout(settings.read_s, connect=settings.connect_s),
            verify=settings_of.tls_context(settings),
            follow_redirects=False,  # credentials go only to the configured address
            transport=wire,
            proxy=settings.proxy or None,
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def ask(self, path: str, form: Mapping[str, str]) -> HttpReply:
        """Send a form and return the response, whatever its status.

        Raises:
            ReadError: If there is no response, or it is too large.
        """
        until_s = self._clock() + self._settings.total_s
        form = {**self._settings.parameters, **form}
        if not self._settings.only_get:
            reply = self._ask("POST", path, form, until_s)
            if reply.status not in _NO_POST:
                return reply
        return self._ask("GET", path, form, until_s)

    def _ask(self, method: str, path: str, form: Mapping[str, str], until_s: float) -> HttpReply:
        settings = self._settings
        attempt = 0
        while True:
            pause_s = settings.backoff_s * 2.0**attempt
            last = attempt == settings.retries or self._clock() + pause_s >= until_s
            try:
                reply = self._send(method, path, form, until_s)
            except (httpx.ConnectError, httpx.ConnectTimeout) as err:
                if last:
                    self._raise_readable(err)
            else:
                if last or reply.status < 500 or reply.status in _NO_POST:
                    return reply
            self._sleep(pause_s)
            attempt += 1

    def _send(self, method: str, path: str, form: Mapping[str, str], until_s: float) -> HttpReply:
        auth = settings_of.authorize(self._settings, self.address)
        url = self.address.base + path
        if method == "GET":
            request = self._http.build_request(method, url, params=form)
        else:
            request = self._http.build_request(method, url, data=form)
        try:
            with contextlib.closing(self._http.send(request, auth=auth, stream=True)) as response:
                body = self._collect(response, until_s)
                return HttpReply(response.status_code, response.reason_phrase, body)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise
        except httpx.HTTPError as err:
            self._raise_readable(err)

    def _collect(self, response: httpx.Response, until_s: float) -> bytes:
        parts, size = [], 0
        for part in response.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > self._settings.most_bytes:
                problem = (
                    f"response is larger than {self._settings.most_bytes} bytes; "
                    "query fewer series, a shorter range or longer steps"
                )
                raise faults.ReadError(self.address.base, problem, faults.TOO_LARGE)
            if self._clock() > until_s:
                problem = f"no complete response within {self._settings.total_s:g} s"
                raise faults.ReadError(self.address.base, problem, faults.TIMEOUT)
        return b"".join(parts)

    def _raise_readable(self, err: httpx.HTTPError) -> NoReturn:
        """Raise a readable error; httpx' own texts contain no address and no header."""
        settings, kind = self._settings, faults.DOWN
        if isinstance(err, httpx.ConnectTimeout):
            problem = f"no connection within {settings.connect_s:g} s"
        elif isinstance(err, httpx.ConnectError):
            problem = f"no connection: {err}"
        elif isinstance(err, httpx.TimeoutException):
            problem, kind = f"no response within {settings.read_s:g} s", faults.TIMEOUT
        elif isinstance(err, httpx.DecodingError):
            problem, kind = "response cannot be decompressed", faults.UNREADABLE
        else:
            problem = f"connection failed: {type(err).__name__}"
        raise faults.ReadError(self.address.base, problem, kind) from None
