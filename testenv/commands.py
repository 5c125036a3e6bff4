"""The servers of kubestow as processes, as they run in a cluster."""

from __future__ import annotations

import contextlib
import ssl
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from testenv import prometheus_servers
from testenv.processes import Process

_READY_S = 60.0


@contextlib.contextmanager
def serve(
    folder: Path, command: str, *arguments: str, port: int | None = None, tls: bool = False
) -> Iterator[tuple[Process, str]]:
    """Run a serving command until the end of the context; yield its process and URL.

    Args:
        folder: Folder of its log.
        command: Name of the command, such as ``extender``.
        arguments: Its options, without the listen address.
        port: Port to listen on; a free one by default.
        tls: Whether it serves TLS; its certificate is not verified here.
    """
    chosen = port or prometheus_servers.free_port()
    program = str(Path(sys.executable).parent / "kubestow")
    listen = (f"--listen=127.0.0.1:{chosen}", "--drain=100ms")
    process = Process(
        command, [program, command, *listen, *arguments], folder / f"{command}-{chosen}.log"
    )
    url = f"{'https' if tls else 'http'}://127.0.0.1:{chosen}"
    try:
        process.start()
        process.wait_until(is_ready(url), _READY_S)
        yield process, url
    finally:
        process.stop()


def is_ready(url: str) -> Callable[[], bool]:
    """Return a function that returns whether a server is ready."""
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE

    def ask() -> bool:
        with contextlib.suppress(httpx.HTTPError):
            response = httpx.get(f"{url}/readyz", verify=trust, trust_env=False, timeout=5.0)
            return response.status_code == httpx.codes.OK
        return False

    return ask
