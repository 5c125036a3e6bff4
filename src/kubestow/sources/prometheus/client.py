"""A client of Prometheus' query API: what is now, and what was over a range.

Anything that speaks the HTTP API v1 will do (Thanos, Mimir, VictoriaMetrics). Ranges of any length
are asked for in pages on one grid of steps, since a server refuses more than 11000 points.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import TracebackType

import httpx

from kubestow.sources.prometheus import pages, ranges, responses, settings, transport


class PrometheusClient:
    """Asks one Prometheus.

    Args:
        settings: How to reach it.
        wire: Carries requests instead of the network; for tests.
        sleep: Waits between attempts.
        clock: Seconds on a clock that only goes forward.
        page: Most points per series to ask for at once.

    Raises:
        InputError: If the settings make no sense.
    """

    def __init__(
        self,
        settings: settings.PrometheusSettings,
        *,
        wire: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        page: int = pages.PAGE,
    ) -> None:
        self._transport = transport.Transport(settings, wire, sleep, clock)
        self._timeout = f"{round(settings.read_s * 1000)}ms"
        self._clock = clock
        self._page = page
        self._asked = 0

    @property
    def place(self) -> str:
        """The server's address without credentials, for messages."""
        return self._transport.address.base

    @property
    def asked(self) -> int:
        """How many questions were sent, pages counted one by one."""
        return self._asked

    def __enter__(self) -> PrometheusClient:
        """Return the client; leaving closes it."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all connections."""
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._transport.close()

    def query(self, promql: str, time_s: float | None = None) -> responses.Vector:
        """Ask what is at one moment.

        Args:
            promql: The question.
            time_s: The moment, in seconds since the epoch; ``None`` takes the server's own now.

        Raises:
            ReadError: If no answer came, or one that is none.
        """
        form = {"query": promql, "timeout": self._timeout}
        if time_s is not None:
            form["time"] = pages.seconds(round(time_s * 1000.0))
        began_s = self._clock()
        self._asked += 1
        reply = self._transport.ask("/api/v1/query", form)
        vector = responses.read_vector(self.place, reply)
        return vector._replace(took_s=self._clock() - began_s)

    def query_range(
        self,
        promql: str,
        start_s: float,
        end_s: float,
        step_s: float,
        watch: Callable[[float], None] | None = None,
    ) -> ranges.Range:
        """Ask what was at every multiple of a step between two times.

        Args:
            promql: The question.
            start_s: From when, in seconds since the epoch.
            end_s: Until when, included.
            step_s: Distance of two moments.
            watch: Is told the share that has been read after each page.

        Raises:
            InputError: If there is no moment in the range, or too many.
            ReadError: If no answer came, or one that is none.
        """
        steps = pages.align_steps(start_s, end_s, step_s)
        answers = self._read(promql, steps, watch)
        return ranges.assemble(self.place, steps, answers)

    def _read(
        self,
        promql: str,
        steps: pages.Steps,
        watch: Callable[[float], None] | None,
    ) -> Iterator[responses.Matrix]:
        done = 0
        for page in steps.pages(self._page):
            form = {
                "query": promql,
                "start": pages.seconds(page.start_ms),
                "end": pages.seconds(page.end_ms),
                "step": pages.seconds(page.step_ms),
                "timeout": self._timeout,
            }
            self._asked += 1
            reply = self._transport.ask("/api/v1/query_range", form)
            yield responses.read_matrix(self.place, reply)
            done += page.count
            if watch is not None:
                watch(done / steps.count)
