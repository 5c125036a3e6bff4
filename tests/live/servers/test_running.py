"""Servers from start to end: readiness, signals, no lost request."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

from kubestow.live.servers import running
from kubestow.live.servers.settings import ServerSettings
from kubestow.model import errors
from tests.live.servers import make

ROOT = Path(__file__).parents[3]


def test_a_server_reports_health_and_readiness() -> None:
    reasons = ["no data yet"]
    with (
        running.in_background(make.server(reasons=reasons)) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        assert client.get("/healthz").status_code == 200
        answer = client.get("/readyz")
        assert (answer.status_code, answer.text) == (503, "not ready: no data yet\n")
        reasons.append("")
        assert client.get("/readyz").status_code == 200


def test_without_tls_only_loopback_is_listened_on() -> None:
    with pytest.raises(errors.InputError, match="only loopback"):
        make.server(ServerSettings(host="0.0.0.0"))  # noqa: S104


def test_a_port_in_use_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(errors.InputError, match="in use"):
            make.server(ServerSettings(port=port))


def test_ten_clients_at_once_are_answered() -> None:
    with running.in_background(make.server()) as server:
        with httpx.Client(base_url=server.url) as client:

            def ask() -> None:
                assert client.post("/measure", content=b"x" * 5000).text == "5000"

            with make.Steady(ask, 10) as steady:
                steady.wait_for(200)
        assert steady.failures == []


def test_an_end_first_asks_clients_to_leave_and_loses_no_request() -> None:
    settings = ServerSettings(drain_s=1.0, grace_s=2.0)
    with (
        running.in_background(make.server(settings)) as server,
        httpx.Client(base_url=server.url) as client,
    ):
        assert "connection" not in client.get("/healthz").headers
        server.stop()
        while (ready := client.get("/readyz")).status_code == 200:
            pass
        assert ready.text == "not ready: ending\n"
        # Further requests are answered, with Connection: close.
        answer = client.post("/measure", content=b"abc")
        assert (answer.text, answer.headers["connection"]) == ("3", "close")
        server.stop()  # a second time: no more waiting


def test_a_request_that_runs_when_the_port_closes_is_answered() -> None:
    settings = ServerSettings(drain_s=0.0, grace_s=5.0, read_s=5.0)
    answers: list[bytes] = []
    with (
        running.in_background(make.server(settings)) as server,
        make.connected(server.port) as connection,
    ):
        connection.sendall(b"POST /measure HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc")
        with httpx.Client(base_url=server.url) as client:
            client.get("/healthz")  # by now the other request has begun
        port = server.port
        server.stop()
        _wait_until_refused(port)
        connection.sendall(b"def")
        answers.append(make.read_all(connection))
    assert answers[0].startswith(b"HTTP/1.1 200 ")
    assert answers[0].endswith(b"6")


def _wait_until_refused(port: int) -> None:
    pause = threading.Event()
    for _ in range(2000):
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            return
        pause.wait(0.005)
    raise AssertionError("the port stayed open")


SCRIPT = """
import sys
from kubestow.live.servers import running
from tests.live.servers import make
server = make.server()
print(server.port, flush=True)
came = running.run(running.serve(server))
print(came.name)
"""


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_in_order(which: signal.Signals) -> None:
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
            assert client.get("/healthz").status_code == 200
        process.send_signal(which)
        rest, _ = process.communicate(timeout=20.0)
    assert (rest.strip(), process.returncode) == (which.name, 0)
