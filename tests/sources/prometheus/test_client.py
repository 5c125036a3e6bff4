"""The client: its requests, the faults it tolerates, and its errors."""

from __future__ import annotations

import gzip
import json
from typing import Any
from urllib.parse import parse_qs

import httpx
import pytest

from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus import responses
from kubestow.sources.prometheus.settings import PrometheusSettings
from tests.sources.prometheus_stubs import ONE, URL, Server, packed, problem, success

NO_TIME = "response is not from Prometheus: Expected `float`, got `str` - at `$[0].value[0]`"
HISTOGRAMS = (
    "returned native histograms; expected numbers, e.g. of histogram_quantile or rate of _count"
)


def test_a_question_is_sent_as_a_form_with_its_time_and_the_servers_own_timeout() -> None:
    server = Server(success(ONE))
    with server.client(PrometheusSettings(f"{URL}/prom/", read_s=2.5)) as client:
        (sample,) = client.query("up", 1_700_000_000.25).samples
    assert sample == ((("a", "b"),), 5.25, 1.5)
    (request,) = server.asked
    assert (request.method, str(request.url)) == ("POST", f"{URL}/prom/api/v1/query")
    assert parse_qs(request.content.decode()) == {
        "query": ["up"], "time": ["1700000000.250"], "timeout": ["2500ms"],
    }  # fmt: skip


@pytest.mark.parametrize("status", [405, 501])
def test_a_server_that_takes_no_forms_is_asked_by_address(status: int) -> None:
    server = Server(httpx.Response(status), success(ONE))
    with server.client() as client:
        client.query("up")
    assert [request.method for request in server.asked] == ["POST", "GET"]
    assert server.asked[1].url.params["query"] == "up"
    assert server.pauses_s == []


def test_lost_connections_and_errors_of_the_server_are_tried_again_with_longer_pauses() -> None:
    lost, slow = httpx.ConnectError("refused"), httpx.ConnectTimeout("slow")
    server = Server(lost, httpx.Response(503), slow, success(ONE))
    with server.client(PrometheusSettings(URL, retries=3, backoff_s=0.5)) as client:
        assert len(client.query("up").samples) == 1
    assert server.pauses_s == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), faults.DOWN,
         "no connection: [Errno 111] Connection refused"),
        (httpx.ConnectTimeout("x"), faults.DOWN, "no connection within 5 s"),
        (httpx.Response(502), faults.REFUSED, "answered 502 Bad Gateway"),
        (httpx.Response(503, json={"status": "error", "errorType": "timeout",
                                   "error": "query timed out\nin expression evaluation"}),
         faults.REFUSED, "answered 503: timeout: query timed out in expression evaluation"),
    ],
    ids=["refused", "silent", "proxy", "overloaded"],
)  # fmt: skip
def test_attempts_end(answer: httpx.Response | Exception, kind: str, text: str) -> None:
    server = Server(answer, answer, answer)
    assert problem(server.client()) == (kind, f"{URL}: {text}")
    assert server.pauses_s == [0.25, 0.5]


def test_no_attempt_begins_after_the_time_is_up() -> None:
    server = Server(httpx.ConnectError("no"), httpx.ConnectError("no"))
    # The pauses are 10 s and 20 s of at most 25 s: the second would end too late.
    seconds = iter((0.0, 0.0, 0.0, 10.0))
    settings = PrometheusSettings(URL, retries=9, backoff_s=10.0, total_s=25.0)
    assert problem(server.client(settings, clock=lambda: next(seconds)))[0] == faults.DOWN
    assert server.pauses_s == [10.0]


@pytest.mark.parametrize(
    ("answer", "kind", "text"),
    [
        (httpx.ReadTimeout("x"), faults.TIMEOUT, "no response within 30 s"),
        (httpx.RemoteProtocolError("x"), faults.DOWN, "connection failed: RemoteProtocolError"),
        (httpx.Response(401, text="go away"), faults.REFUSED, "answered 401 Unauthorized"),
        (httpx.Response(302, headers={"Location": "https://elsewhere.test"}), faults.REFUSED,
         "answered 302 Found"),
        (httpx.Response(400, json={"status": "error", "errorType": "bad_data", "error": "no"}),
         faults.REFUSED, "answered 400: bad_data: no"),
        (httpx.Response(200, text="<html>log in</html>"), faults.UNREADABLE,
         "response is not from Prometheus; expected JSON with status and data"),
        (httpx.Response(200, json={"status": "success"}), faults.UNREADABLE,
         "response is not from Prometheus; expected JSON with status and data"),
        (packed(b"nonsense"),
         faults.UNREADABLE, "response cannot be decompressed"),
        (success({"resultType": "matrix", "result": []}), faults.REFUSED,
         "returned a matrix; expected a vector or a scalar"),
        (success({"resultType": "vector", "result": [{"metric": {}, "value": [0, "x"]}]}),
         faults.UNREADABLE, "'x': expected a number"),
        (success({"resultType": "vector", "result": [{"metric": {}, "value": ["now", "1"]}]}),
         faults.UNREADABLE, NO_TIME),
        (success({"resultType": "vector", "result": [{"metric": {}, "histogram": [0, {}]}]}),
         faults.REFUSED, HISTOGRAMS),
    ],
    ids=["slow", "broken", "unauthorised", "elsewhere", "bad question", "page", "no data",
         "not packed", "matrix", "no number", "no time", "histogram"],
)  # fmt: skip
def test_what_is_no_answer_is_told_at_once(
    answer: httpx.Response | Exception, kind: str, text: str
) -> None:
    server = Server(answer)
    assert problem(server.client()) == (kind, f"{URL}: {text}")
    assert server.pauses_s == []


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"resultType": "vector", "result": []}, "returned a vector; expected a matrix"),
        ({"resultType": "matrix", "result": [{"metric": {}, "histograms": []}]},
         HISTOGRAMS),
    ],
    ids=["vector", "histograms"],
)  # fmt: skip
def test_what_is_no_range_is_told(result: dict[str, Any], text: str) -> None:
    with Server(success(result)).client() as client, pytest.raises(faults.ReadError) as failed:
        client.query_range("up", 0.0, 60.0, 15.0)
    assert failed.value.problem == text


@pytest.mark.parametrize("is_packed", [False, True], ids=["plain", "packed"])
def test_an_answer_that_is_too_large_is_refused(is_packed: bool) -> None:
    body = json.dumps({"status": "success", "data": ONE, "pad": "x" * 5000}).encode()
    small = gzip.compress(body)
    assert len(small) < 200
    answer = packed(small) if is_packed else httpx.Response(200, content=body)
    kind, text = problem(Server(answer).client(PrometheusSettings(URL, most_bytes=4096)))
    assert kind == faults.TOO_LARGE
    assert text.startswith(f"{URL}: response is larger than 4096 bytes; query fewer series")


def test_an_answer_that_drips_is_given_up() -> None:
    def drip() -> Any:
        while True:
            yield b" "

    seconds = iter(range(1000))
    server = Server(httpx.Response(200, content=drip()))
    client = server.client(
        PrometheusSettings(URL, total_s=60.0), clock=lambda: float(next(seconds))
    )
    assert problem(client) == (faults.TIMEOUT, f"{URL}: no complete response within 60 s")


def test_warnings_of_all_pages_are_kept_once() -> None:
    empty = {"resultType": "matrix", "result": []}
    server = Server(
        success(empty, warnings=["store a is away"]),
        success(empty, warnings=["store a is away", "store b is away"]),
    )
    with server.client(page=3) as client:
        actual = client.query_range("up", 0.0, 75.0, 15.0)
    assert actual.warnings == ("store a is away", "store b is away")


def test_names_are_written_as_promql_writes_them() -> None:
    labels = (("__name__", "up"), ("a", "1"), ("b", "2"))
    assert responses.series_name(labels) == 'up{a="1",b="2"}'
    assert responses.series_name((("__name__", "up"),)) == "up"
    assert responses.series_name((), "sum(x)") == "sum(x)"


def test_a_servers_long_message_is_cut() -> None:
    assert responses.shorten_response("a\r\n\x1bb") == "a b"
    assert len(responses.shorten_response("x" * 5000)) == 300
