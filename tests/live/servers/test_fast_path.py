"""The fast path: the same limits as for other requests, which it does not affect."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Iterator

import httpx

from kubestow.live.servers import fast_path, running, telemetry
from tests.live.servers import make

LIMITED = dataclasses.replace(make.QUICK, most_body_bytes=100, read_s=0.3)


@contextlib.contextmanager
def _served(handler: fast_path.Handler) -> Iterator[running.Server]:
    server = running.Server(
        make.ROUTES, LIMITED, telemetry.Telemetry("test"), quick={"/count": handler}
    )
    with running.in_background(server):
        yield server


def _count(asked: fast_path.FastRequest) -> fast_path.FastResponse:
    return fast_path.FastResponse(str(len(asked.body)).encode())


def _post(server: running.Server, path: str, content: bytes) -> httpx.Response:
    return httpx.post(f"{server.url}{path}", content=content, trust_env=False)


def test_a_body_is_answered_and_counted() -> None:
    with _served(_count) as server:
        result = _post(server, "/count", b"x" * 100)
        metrics = httpx.get(f"{server.url}/metrics", trust_env=False).text
    assert (result.status_code, result.text) == (200, "100")
    assert result.headers["content-type"] == "application/json"
    assert 'kubestow_test_http_responses_total{status="200"} 1.0' in metrics


def test_what_comes_then_comes_behind_the_answer() -> None:
    done = threading.Event()
    with _served(lambda asked: fast_path.FastResponse(asked.body, then=done.set)) as server:
        assert _post(server, "/count", b"x").text == "x"
        assert done.wait(5.0)


def test_other_paths_and_methods_go_the_long_way() -> None:
    with _served(_count) as server:
        assert _post(server, "/measure", b"four").text == "4"
        assert httpx.get(f"{server.url}/count", trust_env=False).status_code == 405


def test_a_body_that_is_too_large_is_refused_stated_or_not() -> None:
    with _served(_count) as server:
        assert _post(server, "/count", b"x" * 101).status_code == 413
        chunked = b"POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        with make.connected(server.port) as sent:
            sent.sendall(chunked + b"65\r\n" + b"x" * 101 + b"\r\n")
            assert b" 413 " in make.read_all(sent)


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    with _served(_count) as server, make.connected(server.port) as sent:
        sent.sendall(b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
        assert b" 408 " in make.read_all(sent)


def test_a_client_that_leaves_is_not_answered() -> None:
    seen = []

    def handler(asked: fast_path.FastRequest) -> fast_path.FastResponse:
        seen.append(asked.body)
        return fast_path.FastResponse(b"")

    with _served(handler) as server:
        with make.connected(server.port) as sent:
            sent.sendall(b"POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf")
        assert _post(server, "/count", b"whole").status_code == 200
    assert seen == [b"whole"]
