"""Bodies too large or too slow, answers too late, headers without end."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from kubestow.live.servers import running
from kubestow.live.servers.settings import ServerSettings
from tests.live.servers import make

STRICT = ServerSettings(
    drain_s=0.0,
    grace_s=1.0,
    most_body_bytes=1000,
    read_s=0.3,
    request_s=0.8,
    most_header_bytes=4096,
)
SLACK_S = 3.0  # a busy machine


@pytest.fixture(scope="module")
def server() -> Iterator[running.Server]:
    with running.in_background(make.server(STRICT)) as running_server:
        yield running_server


@pytest.fixture
def client(server: running.Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=10.0) as made:
        yield made


def test_a_body_up_to_the_limit_is_read(client: httpx.Client) -> None:
    assert client.post("/measure", content=b"x" * 1000).text == "1000"


@pytest.mark.parametrize("path", ["/measure", "/swallow"])
def test_a_larger_body_is_refused_by_its_stated_length(client: httpx.Client, path: str) -> None:
    assert client.post(path, content=b"x" * 1001).status_code == 413


@pytest.mark.parametrize("path", ["/measure", "/swallow"])
def test_a_larger_body_is_refused_while_it_streams(client: httpx.Client, path: str) -> None:
    # In pieces its length is not stated; even a handler that hides errors cannot accept it.
    assert client.post(path, content=iter([b"x" * 600] * 2)).status_code == 413


@pytest.mark.parametrize("path", ["/measure", "/swallow"])
def test_a_body_that_does_not_arrive_is_not_waited_for(server: running.Server, path: str) -> None:
    began_s = time.monotonic()
    with make.connected(server.port) as connection:
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"
        connection.sendall(head.encode())
        answer = make.read_all(connection)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer
    assert time.monotonic() - began_s < STRICT.read_s + SLACK_S


def test_a_body_that_drips_is_not_waited_for_either(server: running.Server) -> None:
    # Each byte is quick enough; together they are not.
    with make.connected(server.port) as connection:
        connection.sendall(b"POST /measure HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n")
        connection.settimeout(0.05)
        answer = b""
        for _ in range(200):
            try:
                connection.sendall(b"x")
                answer = connection.recv(65536)
                break
            except TimeoutError:
                continue
            except OSError:
                break
    assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")


def test_an_answer_that_takes_too_long_is_given_up(client: httpx.Client) -> None:
    began_s = time.monotonic()
    assert client.get("/linger").status_code == 503
    assert STRICT.request_s <= time.monotonic() - began_s < STRICT.request_s + SLACK_S


@pytest.mark.parametrize(
    "beginning", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-"]
)
def test_a_request_that_does_not_come_is_not_waited_for(
    server: running.Server, beginning: bytes
) -> None:
    with make.connected(server.port) as connection:
        connection.sendall(beginning)
        connection.settimeout(STRICT.read_s + SLACK_S)
        assert make.read_all(connection) == b""


def test_headers_beyond_the_limit_are_refused(client: httpx.Client) -> None:
    assert client.get("/healthz", headers={"x": "y" * 3000}).status_code == 200
    assert client.get("/healthz", headers={"x": "y" * 5000}).status_code == 400


def test_junk_is_refused(server: running.Server) -> None:
    with make.connected(server.port) as connection:
        connection.sendall(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        assert make.read_all(connection).startswith(b"HTTP/1.1 400 ")


def test_refusals_are_counted_by_status(client: httpx.Client) -> None:
    client.post("/measure", content=b"x" * 2000)
    assert 'kubestow_test_http_responses_total{status="413"}' in client.get("/metrics").text
