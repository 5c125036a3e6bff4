"""One question to Prometheus over HTTP, bounded in time, attempts and size.

What may be tried again is a connection that was not made and an error of the server itself (5xx);
an answer that was begun is not asked for twice.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn

import httpx

from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus import settings as settings_of

# Some servers and proxies in front of them answer only GET (client_golang asks the same way).
_NO_POST = (405, 501)


class HttpReply(NamedTuple):
    """An answer as it came.

    Attributes:
        status: HTTP status.
        reason: Its name.
        body: What was sent, unpacked.
    """

    status: int
    reason: str
    body: bytes


class Transport:
    """Asks one server.

    Args:
        settings: How to reach it.
        wire: Carries requests instead of the network; for tests.
        sleep: Waits between attempts.
        clock: Seconds on a clock that only goes forward.
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
            verify=settings_of.trust(settings),
            follow_redirects=False,  # credentials go to the address that was given, nowhere else
            transport=wire,
        )

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def ask(self, path: str, form: Mapping[str, str]) -> HttpReply:
        """Send a form and return the answer, whatever its status.

        Raises:
            ReadError: If none came, or too large a one.
        """
        until_s = self._clock() + self._settings.total_s
        reply = self._ask("POST", path, form, until_s)
        if reply.status in _NO_POST:
            return self._ask("GET", path, form, until_s)
        return reply

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
                    self._complain(err)
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
            with contextlib.closing(self._http.send(request, auth=auth, stream=True)) as answer:
                body = self._collect(answer, until_s)
                return HttpReply(answer.status_code, answer.reason_phrase, body)
        except (httpx.ConnectError, httpx.ConnectTimeout):
            raise
        except httpx.HTTPError as err:
            self._complain(err)

    def _collect(self, answer: httpx.Response, until_s: float) -> bytes:
        parts, size = [], 0
        for part in answer.iter_bytes():
            parts.append(part)
            size += len(part)
            if size > self._settings.most_bytes:
                problem = (
                    f"the answer is larger than {self._settings.most_bytes} bytes; "
                    "ask for fewer series, a shorter range or longer steps"
                )
                raise faults.ReadError(self.address.base, problem, faults.TOO_LARGE)
            if self._clock() > until_s:
                problem = f"no whole answer within {self._settings.total_s:g} s"
                raise faults.ReadError(self.address.base, problem, faults.TIMEOUT)
        return b"".join(parts)

    def _complain(self, err: httpx.HTTPError) -> NoReturn:
        """Raise the error in words; httpx' own texts hold no address and no header."""
        settings, kind = self._settings, faults.DOWN
        if isinstance(err, httpx.ConnectTimeout):
            problem = f"no connection within {settings.connect_s:g} s"
        elif isinstance(err, httpx.ConnectError):
            problem = f"no connection: {err}"
        elif isinstance(err, httpx.TimeoutException):
            problem, kind = f"no answer within {settings.read_s:g} s", faults.TIMEOUT
        elif isinstance(err, httpx.DecodingError):
            problem, kind = "the answer cannot be unpacked", faults.UNREADABLE
        else:
            problem = f"the connection broke: {type(err).__name__}"
        raise faults.ReadError(self.address.base, problem, kind) from None
