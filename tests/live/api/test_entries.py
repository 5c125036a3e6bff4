"""Entries of a kubeconfig: what is understood, what is refused, and that secrets stay secret."""

from __future__ import annotations

import base64
import importlib.util
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from kubestow.live.api import entries
from kubestow.live.api.accesses import ServerAccess, UserAccess
from kubestow.live.api.entries import Entry
from kubestow.model import errors

FOLDER = Path("/etc/kube")
SERVER = {"server": "https://10.0.0.1:6443"}
PLUGIN: dict[str, Any] = {
    "apiVersion": "client.authentication.k8s.io/v1",
    "interactiveMode": "Never",
    "command": "login",
}


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _cluster(document: Any) -> ServerAccess:
    return entries.read_cluster(Entry(document, "file", "cluster"), FOLDER)


def _user(document: Any) -> UserAccess:
    return entries.read_user(Entry(document, "file", "user"), FOLDER)


def test_a_cluster_is_read_whole() -> None:
    settings = {"audience": "x"}
    result = _cluster(
        {
            **SERVER,
            "certificate-authority-data": _encode("pem"),
            "tls-server-name": "kubernetes",
            "proxy-url": "http://user:hunter2@proxy:3128",
            "disable-compression": True,
            "extensions": [
                {"name": "minikube", "extension": {}},
                {"name": "client.authentication.k8s.io/exec", "extension": settings},
            ],
        }
    )
    assert (result.server, result.authority) == ("https://10.0.0.1:6443", b"pem")
    assert (result.server_name, result.insecure, result.compressed) == ("kubernetes", False, False)
    assert result.proxy == "http://user:hunter2@proxy:3128"
    assert result.plugin_settings == settings
    assert "hunter2" not in repr(result)


def test_the_path_of_a_server_is_kept_and_its_query_is_not() -> None:
    result = _cluster({"server": "https://rancher/k8s/clusters/c-1/?a=b#c"})
    assert result.server == "https://rancher/k8s/clusters/c-1"


def test_an_insecure_cluster_is_marked() -> None:
    assert _cluster({**SERVER, "insecure-skip-tls-verify": True}).insecure


@pytest.mark.parametrize("key", ["client-certificate", "client-key"])
def test_inline_data_counts_before_files(key: str) -> None:
    pair = {"client-certificate": "a.crt", "client-key": "a.key"}
    result = _user({**pair, f"{key}-data": _encode("inline\n")})
    shown = {"client-certificate": result.certificate, "client-key": result.key}
    assert shown[key] == b"inline\n"
    assert all(isinstance(shown[other], Path) for other in shown if other != key)


def test_wrapped_base64_is_read() -> None:
    text = _encode("x" * 100)
    result = _cluster({**SERVER, "certificate-authority-data": f"{text[:64]}\n{text[64:]}\n"})
    assert result.authority == b"x" * 100


def test_a_key_without_a_certificate_is_not_used() -> None:
    assert _user({"client-key": "a.key", "token": "t"}).key is None


def test_basic_authentication_and_a_certificate_go_together() -> None:
    result = _user({"username": "u", "password": "p", "client-certificate": "a", "client-key": "b"})
    assert (result.username, result.password, result.key) == ("u", "p", FOLDER / "b")


def test_a_plugin_is_read_whole() -> None:
    result = _user(
        {
            "exec": {
                **PLUGIN,
                "args": ["get-token", "--client-secret=hunter2"],
                "env": [{"name": "KEY", "value": "hunter2"}, {"name": "EMPTY"}],
                "installHint": "brew install login",
                "provideClusterInfo": True,
            }
        }
    ).plugin
    assert result is not None
    assert (result.command, result.version) == ("login", "client.authentication.k8s.io/v1")
    assert result.arguments == ("get-token", "--client-secret=hunter2")
    assert result.environment == {"KEY": "hunter2", "EMPTY": ""}
    assert (result.hint, result.describes_cluster) == ("brew install login", True)
    assert "hunter2" not in repr(result)


def test_a_plugin_of_v1beta1_need_not_say_whether_it_asks() -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "login"}
    assert _user({"exec": plugin}).plugin is not None


SUPPORTED = "not supported: expected one of client-certificate,"


@pytest.mark.parametrize(
    ("user", "problem"),
    [
        ({"auth-provider": {"name": "gcp"}}, f"user.auth-provider: {SUPPORTED}"),
        ({"token": "t", "as": "admin"}, f"user.as: {SUPPORTED}"),
        ({"tokenfile": "/t"}, f"user.tokenfile: {SUPPORTED}"),
        ({"client-certificate": "a"}, "user: expected client-key or client-key-data with"),
        ({"username": "u", "token": "t"}, "user: expected either username and password or a token"),
        ({"password": "p", "tokenFile": "t"}, "user: expected either username and password or a"),
        ({"password": "p"}, "user.username: None: expected a name with password"),
        ({"token": 7}, "user.token: expected text"),
        ({"tokenFile": 7}, "user.tokenFile: 7: expected text"),
        ({"client-key-data": "?"}, "user.client-key-data: expected base64"),
        ({"client-key-data": "é"}, "user.client-key-data: expected base64"),
        ("hunter2", "user: expected a mapping"),
    ],
)
def test_what_a_user_cannot_be_is_refused(user: Any, problem: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        _user(user)
    assert str(caught.value).startswith(f"file: {problem}")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "apiVersion: 'client"),
        ({"apiVersion": None}, "apiVersion: None: expected text"),
        ({"interactiveMode": "Always"}, "interactiveMode: 'Always': there is no terminal"),
        ({"interactiveMode": None}, "interactiveMode: None: expected text"),
        ({"interactiveMode": "Maybe"}, "interactiveMode: 'Maybe': expected one of Never,"),
        ({"command": ""}, "command: '': expected text"),
        ({"args": ["a", 1]}, "args[1]: expected text"),
        ({"env": [{"value": "v"}]}, "env[0].name: None: expected text"),
        ({"env": [{"name": "n", "value": 1}]}, "env[0].value: expected text"),
        ({"provideClusterInfo": "yes"}, "provideClusterInfo: 'yes': expected true or false"),
        ({"arguments": []}, "arguments: not supported: expected one of apiVersion,"),
    ],
)
def test_what_a_plugin_cannot_be_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        _user({"exec": {**PLUGIN, **change}})
    assert str(caught.value).startswith(f"file: user.exec.{problem}")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"server": ""}, "server: '': expected text"),
        ({"server": "10.0.0.1:6443"}, "server: '10.0.0.1:6443': expected https://HOST"),
        ({"server": "ftp://a"}, "server: 'ftp://a': expected https://HOST"),
        ({"server": "https://"}, "server: 'https://': expected https://HOST"),
        ({"server": "https://a:b"}, "server: 'https://a:b': expected https://HOST"),
        ({"server": "https://[::1"}, "server: 'https://[::1': expected https://HOST"),
        ({"server": "https://u:hunter2@a"}, "server: expected an address without username"),
        ({"server": ["hunter2"]}, "server: expected text"),
        (
            {"insecure-skip-tls-verify": True, "certificate-authority": "ca"},
            "insecure-skip-tls-verify: True: expected false with certificate-authority",
        ),
        ({"insecure-skip-tls-verify": "yes"}, "insecure-skip-tls-verify: 'yes': expected true or"),
        ({"certificate-authority-data": "?"}, "certificate-authority-data: expected base64"),
        ({"proxy-url": "ftp://u:hunter2@a"}, "proxy-url: expected http://HOST"),
        ({"proxy-url": "proxy:3128"}, "proxy-url: expected http://HOST"),
        ({"proxy": "http://a"}, "proxy: not supported: expected one of server,"),
        ({"extensions": [1]}, "extensions[0]: expected a mapping"),
    ],
)
def test_what_a_cluster_cannot_be_is_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(errors.InputError) as caught:
        _cluster(SERVER | change)
    assert str(caught.value).startswith(f"file: cluster.{problem}")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("installed", [False, True])
def test_socks_is_refused_unless_its_package_is_there(
    monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    find = importlib.util.find_spec
    there = find("socket") if installed else None
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: there if name == "socksio" else find(name)
    )
    asked = SERVER | {"proxy-url": "socks5://u:hunter2@proxy:1080"}
    if installed:
        assert _cluster(asked).proxy == "socks5://u:hunter2@proxy:1080"
        return
    with pytest.raises(errors.InputError, match="proxy-url: socks5 needs the package") as caught:
        _cluster(asked)
    assert "hunter2" not in str(caught.value)


USER: dict[str, Any] = {
    "client-certificate": "a.crt",
    "client-certificate-data": _encode("pem"),
    "client-key": "a.key",
    "client-key-data": _encode("pem"),
    "token": "token",
    "tokenFile": "/token",
    "exec": {
        **PLUGIN,
        "args": ["one"],
        "env": [{"name": "n", "value": "v"}],
        "installHint": "hint",
        "provideClusterInfo": False,
    },
}
WRONG: list[Any] = [{"x": "hunter2"}, ["hunter2"], [{"token": "hunter2"}], b"hunter2"]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    members = value.items() if isinstance(value, dict) else ()
    for key, member in enumerate(value) if isinstance(value, list) else members:
        yield from _paths(member, (*path, key))


def _change(path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    document = deepcopy(USER)
    within: Any = document
    for key in path[:-1]:
        within = within[key]
    within[path[-1]] = value
    return document


@pytest.mark.parametrize("path", list(_paths(USER)), ids=str)
def test_a_secret_in_the_wrong_place_is_never_quoted(path: tuple[Any, ...]) -> None:
    refused = 0
    # A scalar is quoted where it is no secret, e.g. the name of a file.
    quoted = path and path[-1] in entries._QUOTED
    for value in WRONG[:-1] if quoted else WRONG:
        try:
            shown = repr(_user(_change(path, value)))
        except errors.InputError as err:
            shown, refused = str(err), refused + 1
        assert "hunter2" not in shown
    assert refused >= 2


def test_an_entry_does_not_show_its_value() -> None:
    assert "hunter2" not in repr(Entry({"token": "hunter2"}, "file", "user"))
