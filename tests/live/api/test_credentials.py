"""Credentials: what is shown to a server, and when it is read again."""

# ruff: noqa: S106 - tokens here are made up

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.live.api import credentials
from kubestow.live.api.accesses import Access, ServerAccess, UserAccess
from kubestow.live.api.credentials import Credentials, PluginRuns, TokenFile
from kubestow.model import errors
from tests.live.api import scripts

SERVER = "https://10.0.0.1:6443"
CLUSTER = ServerAccess("file: cluster", SERVER)
NOBODY = Credentials("file: user")


class Clock:
    """A clock that a test sets."""

    def __init__(self, now_s: float = 0.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


def _show(source: credentials.Source) -> Credentials:
    return asyncio.run(source.current())


def _make(server: str = SERVER, **user: Any) -> Credentials:
    access = Access(ServerAccess("file: cluster", server), UserAccess("file: user", **user))
    return _show(credentials.make_source(access))


def test_a_token_is_borne() -> None:
    assert _make(token="hunter2").authorization == "Bearer hunter2"


def test_a_password_is_encoded_with_its_name() -> None:
    expected = base64.b64encode("alice:hünter2".encode()).decode()
    assert _make(username="alice", password="hünter2").authorization == f"Basic {expected}"


def test_nobody_shows_nothing() -> None:
    assert _make() == NOBODY


def test_a_certificate_is_read_from_data_or_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"k")
    result = _make(certificate=b"c", key=tmp_path / "key")
    assert (result.certificate, result.key, result.authorization) == (b"c", b"k", "")
    assert result.has_pair_of(_make(certificate=b"c", key=b"k", token="t"))
    assert not result.has_pair_of(_make(certificate=b"c", key=b"other"))


def test_a_missing_key_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.InputError) as caught:
        _make(certificate=b"c", key=tmp_path / "none")
    problem = "No such file or directory: expected a readable file in PEM"
    assert str(caught.value) == f"file: user.client-key: '{tmp_path}/none': {problem}"


@given(st.text(min_size=1).filter(lambda t: not (t.isascii() and t.isprintable() and " " not in t)))
@settings(max_examples=50)
def test_a_token_that_fits_no_header_is_refused_unquoted(token: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        _make(token=token)
    assert str(caught.value) == ("file: user.token: expected a token of printable ASCII characters")


def test_no_secret_is_represented(tmp_path: Path) -> None:
    secret = {"token": "hunter2", "password": "hunter2", "key": b"hunter2"}
    user = UserAccess("file: user", certificate=b"hunter2", **secret)  # type: ignore[arg-type]
    shown = Credentials("file: user", "hunter2", b"hunter2", b"hunter2")
    assert "hunter2" not in repr((user, Access(CLUSTER, user), shown))


@pytest.mark.parametrize("server", ["http://10.0.0.1:8080", "http://kubernetes:8080"])
def test_over_plain_http_nothing_is_shown(server: str, caplog: pytest.LogCaptureFixture) -> None:
    assert _make(server, token="hunter2", certificate=b"c", key=b"k") == NOBODY
    assert caplog.messages == [f"{server}: plain HTTP: sending no credentials"]


def test_nobody_is_not_warned_of_plain_http(caplog: pytest.LogCaptureFixture) -> None:
    assert _make("http://10.0.0.1") == NOBODY
    assert not caplog.messages


@pytest.mark.parametrize("server", ["http://127.0.0.1:1", "http://localhost", "http://[::1]:1"])
def test_this_machine_is_shown_a_token_over_plain_http(server: str) -> None:
    assert _make(server, token="t").authorization == "Bearer t"


def test_a_token_file_is_read_again_every_minute(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("first\n")
    source = TokenFile(path, NOBODY, clock)
    assert _show(source).authorization == "Bearer first"
    path.write_text("second")
    clock.now_s = 49.0
    assert _show(source).authorization == "Bearer first"
    clock.now_s = 60.0
    assert _show(source).authorization == "Bearer second"


@pytest.mark.parametrize("broken", [None, "", "hunter2\nhunter2", "hünter2"])
def test_the_last_token_counts_while_the_file_is_broken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, broken: str | None
) -> None:
    path, clock = tmp_path / "token", Clock()
    path.write_text("first")
    source = TokenFile(path, NOBODY, clock)
    _show(source)
    path.unlink()
    if broken is not None:
        path.write_text(broken, "utf-8")
    clock.now_s = 60.0
    assert _show(source).authorization == "Bearer first"
    assert len(caplog.messages) == 1
    assert caplog.messages[0].endswith("; using the last token")
    assert "nter2" not in caplog.text
    path.write_text("second")
    assert _show(source).authorization == "Bearer first"
    clock.now_s = 71.0
    assert _show(source).authorization == "Bearer second"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "No such file or directory: expected a file with a token"),
        (" \n", "expected a file with a token of printable ASCII characters"),
        ("hünter2", "expected a file with a token of printable ASCII characters"),
    ],
)
def test_without_any_token_a_broken_file_is_refused(
    tmp_path: Path, text: str | None, problem: str
) -> None:
    path = tmp_path / "token"
    if text is not None:
        path.write_text(text, "utf-8")
    with pytest.raises(errors.InputError) as caught:
        _make(token_file=path)
    assert str(caught.value) == f"{path}: {problem}"


def test_a_token_file_counts_before_a_token_unless_it_is_broken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "token"
    with caplog.at_level(logging.ERROR):
        assert _make(token="inline", token_file=path).authorization == "Bearer inline"
    path.write_text("file")
    result = _make(token="inline", token_file=path, certificate=b"c", key=b"k")
    assert (result.authorization, result.certificate) == ("Bearer file", b"c")


def _stamp(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).isoformat().replace("+00:00", "Z")


def test_a_plugin_runs_again_when_its_credentials_expire(tmp_path: Path) -> None:
    clock = Clock(1000.0)
    first = scripts.credential(token="first", expirationTimestamp=_stamp(2000.0))
    path = scripts.printing(tmp_path / "login", first)

    async def follow() -> None:
        source = PluginRuns(scripts.plugin(path), CLUSTER, clock)
        assert (await source.current()).authorization == "Bearer first"
        clock.now_s = 2000.0
        assert (await source.current()).authorization == "Bearer first"
        assert scripts.count_runs(tmp_path) == 1
        scripts.printing(path, scripts.credential(token="second"))
        clock.now_s = 2000.1
        assert (await source.current()).authorization == "Bearer second"
        clock.now_s = 1e12
        assert (await source.current()).authorization == "Bearer second"
        assert scripts.count_runs(tmp_path) == 2

    asyncio.run(follow())


def test_a_plugin_runs_once_for_many(tmp_path: Path) -> None:
    path = scripts.printing(tmp_path / "login", scripts.credential(token="t"))

    async def crowd() -> list[Credentials]:
        source = PluginRuns(scripts.plugin(path), CLUSTER)
        return await asyncio.gather(*(source.current() for _ in range(10)))

    assert {shown.authorization for shown in asyncio.run(crowd())} == {"Bearer t"}
    assert scripts.count_runs(tmp_path) == 1


def test_a_plugin_may_show_a_certificate_instead_of_a_token(tmp_path: Path) -> None:
    output = scripts.credential(clientCertificateData="c", clientKeyData="k")
    path = scripts.printing(tmp_path / "login", output)
    result = _make(plugin=scripts.plugin(path))
    assert (result.authorization, result.certificate, result.key) == ("", b"c", b"k")


def test_a_token_of_a_plugin_that_fits_no_header_is_refused(tmp_path: Path) -> None:
    path = scripts.printing(tmp_path / "login", scripts.credential(token="hunter2\r\nHost: x"))
    with pytest.raises(errors.InputError, match="exec: token: expected a token of") as caught:
        _make(plugin=scripts.plugin(path))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "user",
    [
        {"token": "t"},
        {"username": "u", "password": "p"},
        {"certificate": b"c", "key": b"k"},
    ],
    ids=["token", "password", "certificate"],
)
def test_a_plugin_is_not_run_where_there_are_other_credentials(
    tmp_path: Path, user: dict[str, Any]
) -> None:
    path = scripts.printing(tmp_path / "login", scripts.credential(token="plugin"))
    assert _make(plugin=scripts.plugin(path), **user) == _make(**user)
    assert scripts.count_runs(tmp_path) == 0
