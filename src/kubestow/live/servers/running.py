"""Runs an ASGI application on uvicorn: TLS, limits, metrics, graceful shutdown.

Shutdown has three steps. The server first reports that it is not ready, and sends
``Connection: close`` with each response. After a while it stops listening. Then it waits for the
requests that are still running.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeVar

import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kubestow.live.servers import limits, observability, protocols, telemetry
from kubestow.live.servers.fast_path import Handler, Quick
from kubestow.live.servers.settings import ServerSettings
from kubestow.model import errors

_BACKLOG: Final = 1024
_START_S: Final = 30.0
# How long a background thread may hold the interpreter while a request waits for it. With Python's
# default of 5 ms the 99th percentile of a fast response doubles.
_SWITCH_S: Final = 0.001
_LOG = logging.getLogger(__name__)

Result = TypeVar("Result")


class Server:
    """One application on one port.

    Args:
        routes: Routes in addition to ``/healthz``, ``/readyz`` and ``/metrics``.
        settings: Address and limits.
        metrics: Metrics to update.
        ready: Returns why it is not ready; empty if it is ready.
        context: TLS context; without it, only loopback addresses are allowed.
        quick: Handlers of the fast path for POST requests, by path.

    Raises:
        InputError: If it cannot listen on the address.
    """

    def __init__(
        self,
        routes: Sequence[BaseRoute],
        settings: ServerSettings,
        metrics: telemetry.Telemetry,
        ready: observability.Ready = str,
        context: ssl.SSLContext | None = None,
        quick: Mapping[str, Handler] = MappingProxyType({}),
    ) -> None:
        if context is None and not settings.is_local:
            problem = f"{settings.host}: without TLS only loopback is allowed, such as 127.0.0.1"
            raise errors.InputError("listen", problem)
        self.settings, self._ready, self._context = settings, ready, context
        self._socket = _bind(settings)
        self._draining = False
        self._stopping: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._inner = _Inner(self._configure(self._assemble(routes, quick, metrics)))

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self._socket.getsockname()[1]) if self._socket.fileno() >= 0 else 0

    @property
    def url(self) -> str:
        """Its URL."""
        host = f"[{self.settings.host}]" if ":" in self.settings.host else self.settings.host
        return f"http{'s' if self._context else ''}://{host}:{self.port}"

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The event loop it runs in; certificates must be replaced there."""
        return self._loop

    @property
    def started(self) -> bool:
        """Return whether it accepts requests."""
        return self._inner.started

    async def run(self) -> None:
        """Serve until stopped."""
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        _LOG.info("listening on %s", self.url)
        ending = asyncio.create_task(self._end())
        try:
            await self._inner.serve(sockets=[self._socket])
        finally:
            ending.cancel()
            self._socket.close()

    def stop(self) -> None:
        """Start the shutdown; a second call skips draining. Thread-safe."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._stop)

    def close(self) -> None:
        """Close the socket of a server that was never run."""
        self._socket.close()

    @contextlib.contextmanager
    def stopping_on_signals(self) -> Iterator[list[signal.Signals]]:
        """Stop on SIGTERM and SIGINT; yields the received signals. Needs a running loop."""
        loop, received = asyncio.get_running_loop(), []

        def stop(which: signal.Signals) -> None:
            received.append(which)
            self.stop()

        for which in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(which, stop, which)
        try:
            yield received
        finally:
            for which in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(which)

    def _stop(self) -> None:
        if self._draining:
            self._inner.should_exit = True
        elif self._stopping is not None:
            self._stopping.set()

    async def _end(self) -> None:
        if self._stopping is None:
            return
        await self._stopping.wait()
        self._draining = True
        _LOG.info("shutting down: not ready, serving for another %g s", self.settings.drain_s)
        await asyncio.sleep(self.settings.drain_s)
        self._inner.should_exit = True

    def _why_not_ready(self) -> str:
        return "ending" if self._draining else self._ready()

    def _assemble(
        self,
        routes: Sequence[BaseRoute],
        quick: Mapping[str, Handler],
        metrics: telemetry.Telemetry,
    ) -> ASGIApp:
        own = observability.routes(self._why_not_ready, metrics)
        app: ASGIApp = Starlette(routes=[*routes, *own])
        chosen = self.settings
        app = limits.RequestLimits(app, chosen.most_body_bytes, chosen.read_s, chosen.request_s)
        if quick:
            app = Quick(app, quick, chosen.most_body_bytes, chosen.read_s)
        return self._closing_connections(observability.Counting(app, metrics))

    def _closing_connections(self, app: ASGIApp) -> ASGIApp:
        """Close connections after each response during shutdown."""

        async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
            async def closing(message: Message) -> None:
                if self._draining and message["type"] == "http.response.start":
                    headers = [*message.get("headers", ()), (b"connection", b"close")]
                    message = {**message, "headers": headers}
                await send(message)

            await app(scope, receive, closing)

        return wrapped

    def _configure(self, app: ASGIApp) -> uvicorn.Config:
        chosen, context = self.settings, self._context
        return uvicorn.Config(
            app,
            http=protocols.make_protocol(chosen.read_s, chosen.most_header_bytes),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_BACKLOG,
            limit_concurrency=chosen.most_connections,
            timeout_keep_alive=int(chosen.keep_alive_s),
            timeout_graceful_shutdown=max(int(chosen.grace_s), 1),
            ssl_context_factory=None if context is None else lambda *_: context,
        )


class _Inner(uvicorn.Server):
    """uvicorn's server without its signal handlers."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Capture no signals."""
        yield


async def serve(
    server: Server, *background: Callable[[], Coroutine[Any, Any, None]]
) -> signal.Signals | None:
    """Serve until a signal arrives; return it.

    Args:
        server: The server.
        background: Tasks to run until the server has ended.
    """
    settle_memory()
    sys.setswitchinterval(_SWITCH_S)
    with server.stopping_on_signals() as received:
        tasks = [asyncio.create_task(each()) for each in background]
        try:
            await server.run()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    return received[0] if received else None


def settle_memory() -> None:
    """Exempt all present objects from garbage collection, because they are long-lived.

    Otherwise each collection visits all modules and tables, and blocks requests: for 70 ms with
    10000 containers in a table.
    """
    gc.freeze()


def run(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on the compiled event loop."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


@contextlib.contextmanager
def in_background(server: Server) -> Iterator[Server]:
    """Serve in a thread until the context ends.

    Raises:
        RuntimeError: If it does not start.
    """
    failed: list[BaseException] = []

    def serve() -> None:
        try:
            run(server.run())
        except BaseException as err:  # noqa: BLE001 - raised below
            failed.append(err)

    thread = threading.Thread(target=serve, name="server", daemon=True)
    thread.start()
    pause = threading.Event()
    for _ in range(int(_START_S / 0.005)):
        if server.started or failed or not thread.is_alive():
            break
        pause.wait(0.005)
    try:
        if not server.started:
            raise RuntimeError("the server did not start") from (failed[0] if failed else None)
        yield server
    finally:
        server.stop()
        thread.join(server.settings.drain_s + server.settings.grace_s + 5.0)


def _bind(settings: ServerSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as err:
        listener.close()
        place = f"listen {settings.host}:{settings.port}"
        raise errors.InputError(place, f"cannot listen on this address: {err.strerror}") from err
    return listener
