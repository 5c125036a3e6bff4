"""A client of Prometheus' query API: instant queries and range queries.

It works with any server of the HTTP API v1 (Thanos, Mimir, VictoriaMetrics). Ranges of any length
are read in pages on one grid of steps, because a server refuses more than 11000 points.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import TracebackType

import httpx

from kubestow.sources.prometheus import pages, ranges, responses, settings, transport


class PrometheusClient:
    """Queries one Prometheus server.

    Args:
        settings: Address, credentials and limits.
        wire: Transport that replaces the network; for tests.
        sleep: Waits between attempts.
        clock: Monotonic clock in seconds.
        page: Most points per series in one request.

    Raises:
        InputError: If the settings are invalid.
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
        self._queries_sent = 0

    @property
    def place(self) -> str:
        """The server's address without credentials, for messages."""
        return self._transport.address.base

    @property
    def queries_sent(self) -> int:
        """Number of queries sent; every page counts."""
        return self._queries_sent

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
        """Run an instant query.

        Args:
            promql: The query.
            time_s: Evaluation time in seconds since the epoch; ``None`` for the server's clock.

        Raises:
            ReadError: If there is no valid response.
        """
        form = {"query": promql, "timeout": self._timeout}
        if time_s is not None:
            form["time"] = pages.seconds(round(time_s * 1000.0))
        began_s = self._clock()
        self._queries_sent += 1
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
        """Run a range query at every multiple of a step between two times.

        Args:
            promql: The query.
            start_s: Start in seconds since the epoch.
            end_s: End, inclusive.
            step_s: Seconds between two points.
            watch: Called with the share read so far after each page.

        Raises:
            InputError: If the range has no point, or too many.
            ReadError: If there is no valid response.
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
            self._queries_sent += 1
            reply = self._transport.ask("/api/v1/query_range", form)
            yield responses.read_matrix(self.place, reply)
            done += page.count
            if watch is not None:
                watch(done / steps.count)
