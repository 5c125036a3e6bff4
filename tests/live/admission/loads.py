"""Sends reviews at a constant rate and measures the latency of responses.

    python -m tests.live.admission.loads --rate 200 --seconds 10 --containers 1000

starts a webhook in a process of its own, with a store of that many containers, and prints the
latencies as its callers see them, TLS included.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from kubestow.live.stores import engines, recommendations
from kubestow.model.keys import ContainerKey
from testenv.prometheus_servers import free_port
from tests.live.admission import make


class Connection:
    """One connection that is kept, as an API server keeps its."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, port: int, context: ssl.SSLContext) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port, ssl=context))

    async def post(self, body: bytes) -> tuple[int, bytes]:
        """Send a review; return status and body of the answer."""
        head = (
            f"POST {make.PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        await self._writer.drain()
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        length = next(
            int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length")
        )
        return int(lines[0].split()[1]), await self._reader.readexactly(length)

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def load(
    port: int, context: ssl.SSLContext, body: bytes, rate: float, seconds: float, width: int = 8
) -> list[float]:
    """Send reviews at a constant rate over some connections; return all latencies in seconds.

    A latency counts from when a review was due, so that a server that falls behind is not
    flattered by a client that waits for it.
    """
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(width):
        free.put_nowait(await Connection.open(port, context))
    loop = asyncio.get_running_loop()
    began_s = loop.time() + 0.05
    result: list[float] = []

    async def send(due_s: float) -> None:
        await asyncio.sleep(due_s - loop.time())
        connection = await free.get()
        status, _ = await connection.post(body)
        result.append(loop.time() - due_s)
        if status != 200:
            raise RuntimeError(f"answer {status}")
        free.put_nowait(connection)

    count = int(rate * seconds)
    await asyncio.gather(*(send(began_s + number / rate) for number in range(count)))
    while not free.empty():
        await free.get_nowait().close()
    return result


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def fill(url: str, containers: int) -> None:
    """Put recommendations for a number of containers into a store."""
    made = [make.learned(time_s=time.time())]
    with engines.open_store(url) as store:
        for number in range(containers):
            key = ContainerKey("default", "Deployment", f"web-{number}", "c")
            recommendations.insert(store, key if number else make.WEB, made)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Latency of the admission webhook.")
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--containers", type=int, default=1000)
    parser.add_argument("--log-level", default="info")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/store.db"
        fill(url, given.containers)
        signer = make.authority()
        pair = make.serving(signer)
        (folder / "tls.crt").write_bytes(pair.certificate)
        (folder / "tls.key").write_bytes(pair.key)
        (folder / "tls.key").chmod(0o600)
        port = free_port()
        script = "from kubestow.cli import main; main.main()"
        command = [sys.executable, "-c", script, "admission", "--store", url]
        command += ["--listen", f"127.0.0.1:{port}", "--certificates", "mounted", name]
        command += ["--no-cluster", "--drain", "1ms", "--log-level", given.log_level]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(command, stderr=log)
        try:
            _part(process.pid)
            body = json.dumps(make.managed()).encode()
            context = make.trusting(signer)
            asyncio.run(_wait(port, context, body))
            took = asyncio.run(load(port, context, body, given.rate, given.seconds))
        finally:
            process.terminate()
            process.wait(20.0)
    shown = {f"p{share:g}": quantile(took, share / 100.0) for share in (50, 90, 99, 99.9)}
    text = ", ".join(f"{name} {value * 1000:.2f} ms" for name, value in shown.items())
    sys.stdout.write(
        f"{len(took)} reviews at {given.rate:g}/s, {given.containers} containers: {text}, "
        f"most {max(took) * 1000:.2f} ms; server {resource_seconds():.2f} s of CPU\n"
    )


def _part(server: int) -> None:
    """Give the server one core for itself, and the client another one."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(server, {cores[0]})
        os.sched_setaffinity(0, {cores[1]})


def resource_seconds() -> float:
    """Return the CPU time of children that have ended, their start included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


async def _wait(port: int, context: ssl.SSLContext, body: bytes) -> None:
    """Wait until the webhook changes pods."""
    until_s = time.monotonic() + 30.0
    while time.monotonic() < until_s:
        try:
            connection = await Connection.open(port, context)
            _, answer = await connection.post(body)
            await connection.close()
        except OSError:
            answer = b""
        if b"JSONPatch" in answer:
            return
        await asyncio.sleep(0.1)
    raise RuntimeError("the webhook did not start")


if __name__ == "__main__":
    main()
