"""Options for Prometheus: what of them reaches the server, and what is never shown."""

from __future__ import annotations

import base64
import dataclasses
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubestow.cli.prometheus_options import BASIC_VARIABLE, BEARER_VARIABLE, PrometheusAccess
from kubestow.model import errors
from tests.sources.prometheus_stubs import ONE, SECRET, URL, Server, success

BASIC = f"Basic {base64.b64encode(f'me:{SECRET}'.encode()).decode()}"


def ask(access: PrometheusAccess, url: str = URL) -> httpx.Request:
    """Return the request of one query."""
    server = Server(success(ONE))
    with server.client(access.settings(url)) as client:
        client.query("up")
    return server.asked[0]


def test_headers_and_parameters_go_with_every_query_below_a_path() -> None:
    access = PrometheusAccess(
        headers=["X-Scope-OrgID: team:a"], parameters=["dedup=true", "partial_response=false"]
    )
    request = ask(access, f"{URL}/select/0/prometheus/")
    assert request.url.path == "/select/0/prometheus/api/v1/query"
    assert request.headers["X-Scope-OrgID"] == "team:a"
    assert b"dedup=true&partial_response=false&query=up" in request.content


@pytest.mark.parametrize(
    ("options", "variables", "expected"),
    [
        ({}, {BEARER_VARIABLE: f"{SECRET}\n"}, f"Bearer {SECRET}"),
        ({"username": "me"}, {BASIC_VARIABLE: SECRET}, BASIC),
        ({"username": "me"}, {BEARER_VARIABLE: "x", BASIC_VARIABLE: SECRET},
         BASIC),
        ({"headers": ["Authorization: Own x"]}, {BEARER_VARIABLE: SECRET}, "Own x"),
        ({}, {}, None),
    ],
    ids=["token", "password", "a user name goes before a token", "own header", "none"],
)  # fmt: skip
def test_secrets_of_the_environment_are_sent_and_never_shown(
    options: dict[str, Any],
    variables: dict[str, str],
    expected: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    access = PrometheusAccess(**options)
    assert ask(access).headers.get("Authorization") == expected
    assert SECRET not in repr(access.settings(URL))


def test_a_file_goes_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("from-file")
    monkeypatch.setenv(BEARER_VARIABLE, SECRET)
    access = PrometheusAccess(token_file=tmp_path / "token")
    assert ask(access).headers["Authorization"] == "Bearer from-file"


def test_a_token_of_two_lines_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(BEARER_VARIABLE, f"{SECRET}\nX: y")
    with pytest.raises(errors.InputError, match="one line of printable ASCII") as refused:
        ask(PrometheusAccess())
    assert SECRET not in str(refused.value)


def test_a_malformed_header_is_not_repeated_because_it_may_be_a_secret() -> None:
    with pytest.raises(errors.InputError) as refused:
        PrometheusAccess(headers=[SECRET]).settings(URL)
    assert str(refused.value) == "--prometheus-header: expected 'NAME: VALUE'"


def test_servers_that_take_get_alone_are_asked_by_get() -> None:
    server = Server(success(ONE))
    settings = dataclasses.replace(PrometheusAccess().settings(URL), only_get=True)
    with server.client(settings) as client:
        client.query("up")
    assert [each.method for each in server.asked] == ["GET"]
