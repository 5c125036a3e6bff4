"""Who asks, and that no secret gets out."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubestow.model import errors
from kubestow.sources.prometheus import client as prometheus_client
from kubestow.sources.prometheus import errors as faults
from kubestow.sources.prometheus.settings import PrometheusSettings
from testenv import prometheus_servers
from tests.sources.prometheus_stubs import ONE, SECRET, URL, Server, problem, success


def sent_headers(settings: PrometheusSettings) -> httpx.Headers:
    server = Server(success(ONE))
    with server.client(settings) as client:
        client.query("up")
    return server.asked[0].headers


def write(folder: Path, text: str, name: str = "secret") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_token_is_read_anew_for_each_question(tmp_path: Path) -> None:
    path = write(tmp_path, "first\n")
    server = Server(success(ONE), success(ONE))
    with server.client(PrometheusSettings(URL, bearer_token_file=path)) as client:
        client.query("up")
        write(tmp_path, "second\n")
        client.query("up")
    shown = [request.headers["Authorization"] for request in server.asked]
    assert shown == ["Bearer first", "Bearer second"]


def test_name_and_password_come_from_file_or_address(tmp_path: Path) -> None:
    # echo -n me:s3cr3t-t0ken | base64
    expected = "Basic bWU6czNjcjN0LXQwa2Vu"
    path = write(tmp_path, SECRET)
    from_file = sent_headers(PrometheusSettings(URL, username="me", password_file=path))
    from_address = sent_headers(PrometheusSettings(f"http://me:{SECRET}@prometheus.test"))
    assert from_file["Authorization"] == from_address["Authorization"] == expected


def test_further_headers_are_sent() -> None:
    assert (
        sent_headers(PrometheusSettings(URL, headers={"X-Scope-OrgID": "a"}))["X-Scope-OrgID"]
        == "a"
    )


def test_secrets_stand_in_no_message_no_log_and_no_representation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    settings = PrometheusSettings(
        f"http://me:{SECRET}@prometheus.test:1", headers={"X-Key": SECRET}
    )
    with Server(httpx.Response(403)).client(settings) as client:
        text = client.place
        text += problem(client)[1]
    port = prometheus_servers.free_port()
    token = PrometheusSettings(
        f"http://127.0.0.1:{port}", bearer_token_file=write(tmp_path, SECRET), retries=0
    )
    text += problem(prometheus_client.PrometheusClient(token))[1]
    assert SECRET not in text + caplog.text + repr(settings) + repr(token)
    assert "http://prometheus.test:1: answered 403 Forbidden" in text


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"url": "prometheus.test"}, "prometheus: 'prometheus.test': expected http://HOST"),
        ({"url": "ftp://a"}, "prometheus: 'ftp://a': expected http://HOST"),
        ({"url": "http://a/?x=1"}, "prometheus: 'http://a/?x=1': expected http://HOST"),
        ({"url": f"http://me:{SECRET}@a:port"}, "prometheus: the address: expected http://HOST"),
        ({"username": "me", "bearer_token_file": Path("t")}, "prometheus: both a user name"),
        ({"password_file": Path("p")}, "prometheus: a password without a user name"),
        ({"key_file": Path("k")}, "prometheus: a key without a certificate"),
        ({"read_s": 0.0}, "prometheus: read_s: must be > 0"),
        ({"retries": -1}, "prometheus: retries: must be >= 0"),
        ({"headers": {"X-Key": f"{SECRET}\r\nX: y"}}, "prometheus: header 'X-Key': value must"),
        ({"headers": {"X: Y": "z"}}, "prometheus: header 'X: Y': expected letters"),
        ({"headers": {"Authorization": SECRET}, "username": "me"},
         "prometheus: header 'Authorization': conflicts with other credentials"),
        ({"ca_file": Path("missing.pem")},
         "missing.pem: cannot be used as certificate: No such file or directory"),
    ],
    ids=["no scheme", "scheme", "parameters", "port", "two ways", "password alone", "key alone",
         "no time", "attempts", "value of a header", "name of a header", "two headers", "no CA"],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], text: str) -> None:
    with pytest.raises(errors.InputError) as refused:
        prometheus_client.PrometheusClient(PrometheusSettings(**{"url": URL, **settings}))
    assert str(refused.value).startswith(text)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "No such file or directory"),
        ("", "expected one line of printable ASCII"),
        (f"{SECRET}\nmore", "expected one line of printable ASCII"),
        (f"{SECRET}é", "expected one line of printable ASCII"),
    ],
    ids=["missing", "empty", "two lines", "not ASCII"],
)
def test_a_token_that_cannot_be_sent_is_told(
    tmp_path: Path, content: str | None, text: str
) -> None:
    path = tmp_path / "secret"
    if content is not None:
        write(tmp_path, content)
    client = Server().client(PrometheusSettings(URL, bearer_token_file=path))
    assert problem(client) == (faults.CREDENTIALS, f"{path}: {text}")
