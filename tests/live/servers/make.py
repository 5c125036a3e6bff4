"""A small server, and sockets that speak to it as badly as one likes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kubestow.live.certificates import authorities
from kubestow.live.certificates.pairs import KeyPair
from kubestow.live.servers import protocols, running, telemetry
from kubestow.live.servers.settings import ServerSettings

NAMES = ("127.0.0.1", "localhost")
QUICK = ServerSettings(drain_s=0.0, grace_s=2.0)


def authority() -> KeyPair:
    return authorities.make_authority(time.time(), 86400.0)


def serving(signer: KeyPair, *names: str) -> KeyPair:
    return authorities.make_serving(signer, names or NAMES, time.time(), 3600.0)


def trusting(*signers: KeyPair) -> ssl.SSLContext:
    pem = b"".join(each.certificate for each in signers)
    return ssl.create_default_context(cadata=pem.decode())


async def measure(request: Request) -> Response:
    """Answer how many bytes came."""
    return PlainTextResponse(str(len(await request.body())))


async def name(request: Request) -> Response:
    """Answer who the client is."""
    result = request.scope.get("extensions", {}).get(protocols.PEER)
    return PlainTextResponse(str(result["subject"]) if result else "nobody")


async def linger(_: Request) -> Response:
    """Answer late."""
    await asyncio.sleep(30.0)
    return PlainTextResponse("late")


async def swallow(request: Request) -> Response:
    """Answer whatever happens to the body."""
    try:
        await request.body()
    except Exception:  # noqa: BLE001 - such handlers exist
        return PlainTextResponse("fine")
    return PlainTextResponse("read")


ROUTES = [
    Route("/measure", measure, methods=["POST"]),
    Route("/name", name),
    Route("/linger", linger),
    Route("/swallow", swallow, methods=["POST"]),
]


def server(
    settings: ServerSettings = QUICK,
    context: ssl.SSLContext | None = None,
    reasons: list[str] | None = None,
) -> running.Server:
    """Return a server; the last of ``reasons`` says why it is not ready."""
    metrics = telemetry.Telemetry("test")
    return running.Server(
        ROUTES, settings, metrics, lambda: reasons[-1] if reasons else "", context
    )


@contextlib.contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", port), 10.0) as made:
        yield made


def read_all(connection: socket.socket) -> bytes:
    """Return everything until the other side closes."""
    result = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            result += part
    return result


class Steady:
    """Clients in threads that ask again and again, and note what fails."""

    def __init__(self, ask: object, width: int) -> None:
        self.failures: list[BaseException] = []
        self.count = 0
        self._ask, self._ending = ask, threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(width)]

    def __enter__(self) -> Steady:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join(20.0)

    def wait_for(self, more: int) -> None:
        """Wait until a number of further requests were answered, or one failed."""
        wanted, until_s = self.count + more, time.monotonic() + 30.0
        while self.count < wanted and not self.failures and time.monotonic() < until_s:
            time.sleep(0.002)

    def _run(self) -> None:
        assert callable(self._ask)
        while not self._ending.is_set() and not self.failures:
            try:
                self._ask()
            except BaseException as err:  # noqa: BLE001 - raised in the test
                self.failures.append(err)
            else:
                self.count += 1
