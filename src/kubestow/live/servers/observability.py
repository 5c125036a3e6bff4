"""Health, readiness and metrics endpoints, and request metrics."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kubestow.live.servers import telemetry

Ready = Callable[[], str]
"""Returns why a server is not ready; empty if it is ready."""


def routes(ready: Ready, metrics: telemetry.Telemetry) -> list[Route]:
    """Return ``/healthz`` (alive), ``/readyz`` (ready) and ``/metrics``."""

    async def alive(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def is_ready(_: Request) -> Response:
        why = ready()
        return PlainTextResponse(f"not ready: {why}\n" if why else "ok\n", 503 if why else 200)

    async def write(_: Request) -> Response:
        return Response(metrics.write(), media_type=telemetry.CONTENT_TYPE)

    return [Route("/healthz", alive), Route("/readyz", is_ready), Route("/metrics", write)]


class Counting:
    """ASGI middleware that measures responses by status, and their latency.

    Args:
        app: The application.
        metrics: Metrics to update.
    """

    def __init__(self, app: ASGIApp, metrics: telemetry.Telemetry) -> None:
        self._app = app
        self._responses = metrics.counter(
            "http_responses", "Responses by HTTP status.", ("status",)
        )
        self._running = metrics.gauge("http_requests_running", "Requests in progress.")
        self._took = metrics.latency(
            "http_request_duration_seconds", "Time to the start of the response."
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection or request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_s = time.perf_counter()

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._responses.labels(str(message["status"])).inc()
                self._took.observe(time.perf_counter() - began_s)
            await send(message)

        with self._running.track_inprogress():
            await self._app(scope, receive, counted)
