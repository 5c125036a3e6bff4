"""TLS towards an API server, against a real server on loopback."""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from kubestow.live.api import clients, tls_contexts
from kubestow.live.api.accesses import ServerAccess
from kubestow.live.api.credentials import Credentials
from kubestow.live.api.errors import ApiError
from kubestow.model import errors
from testenv.authorities import Authority, Pair
from tests.live.api import proxies, servers

POD = (200, {"kind": "Pod"})
HERE = ("127.0.0.1",)
PATH = "/api/v1/pods/x"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"), "ca")


@pytest.fixture(scope="module")
def serving(authority: Authority) -> ssl.SSLContext:
    return _serving(authority, HERE)


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def _serving(authority: Authority, names: tuple[str, ...]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = authority.server("-".join(names), names)
    context.load_cert_chain(pair.certificate, pair.key)
    context.load_verify_locations(authority.pair.certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _encode(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _get(path: Path) -> Any:
    async def run() -> Any:
        async with await clients.connect(str(path)) as client:
            return await client.get(PATH)

    return asyncio.run(run())


def _ask(
    folder: Path, context: ssl.SSLContext, user: dict[str, Any], cluster: dict[str, Any]
) -> servers.Asked:
    """Return the request that a server gets."""
    with servers.serve(lambda _: POD, context) as (url, asked):
        path = servers.write(folder / "config", servers.describe(url, user, cluster))
        assert _get(path) == POD[1]
    return asked[0]


def _refusal(
    folder: Path, context: ssl.SSLContext, cluster: dict[str, Any], user: dict[str, Any]
) -> str:
    with servers.serve(lambda _: POD, context) as (url, asked):
        path = servers.write(folder / "config", servers.describe(url, user, cluster))
        with pytest.raises((ApiError, errors.InputError)) as caught:
            _get(path)
    assert not asked
    return str(caught.value)


@pytest.mark.parametrize("inline", [False, True])
def test_authority_certificate_and_key_come_from_files_or_data(
    tmp_path: Path, authority: Authority, serving: ssl.SSLContext, inline: bool
) -> None:
    pair = authority.client("alice", "alice")
    files = {
        "certificate-authority": authority.pair.certificate,
        "client-certificate": pair.certificate,
        "client-key": pair.key,
    }
    shown: dict[str, str] = {
        f"{key}-data" if inline else key: _encode(path) if inline else str(path)
        for key, path in files.items()
    }
    cluster = {key: value for key, value in shown.items() if key.startswith("certificate")}
    user = {key: value for key, value in shown.items() if key.startswith("client")}
    assert _ask(tmp_path, serving, user, cluster).client == "alice"


def test_a_token_and_a_certificate_are_shown_together(
    tmp_path: Path, authority: Authority, serving: ssl.SSLContext
) -> None:
    pair = authority.client("alice", "alice")
    files = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
    cluster = {"certificate-authority": str(authority.pair.certificate)}
    asked = _ask(tmp_path, serving, {**files, "token": "t"}, cluster)
    assert (asked.client, asked.headers["authorization"]) == ("alice", "Bearer t")


def test_a_server_of_another_authority_is_not_trusted(
    tmp_path: Path, serving: ssl.SSLContext
) -> None:
    other = Authority(tmp_path / "other", "other")
    cluster = {"certificate-authority": str(other.pair.certificate)}
    assert "CERTIFICATE_VERIFY_FAILED" in _refusal(tmp_path, serving, cluster, {"token": "t"})
    assert "CERTIFICATE_VERIFY_FAILED" in _refusal(tmp_path, serving, {}, {"token": "t"})


def test_an_insecure_cluster_trusts_any_server(tmp_path: Path, serving: ssl.SSLContext) -> None:
    asked = _ask(tmp_path, serving, {"token": "t"}, {"insecure-skip-tls-verify": True})
    assert asked.headers["authorization"] == "Bearer t"


def test_a_certificate_of_the_server_itself_may_be_trusted(
    tmp_path: Path, authority: Authority
) -> None:
    pair = authority.server("leaf", HERE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    cluster = {"certificate-authority": str(pair.certificate)}
    assert _ask(tmp_path, context, {}, cluster).path == PATH


@pytest.mark.parametrize("tunnelled", [False, True])
def test_a_server_may_have_another_name_than_its_address(
    tmp_path: Path, authority: Authority, tunnelled: bool
) -> None:
    context = _serving(authority, ("kubernetes.example",))
    named: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: named.append(name)
    cluster = {"certificate-authority": str(authority.pair.certificate)}
    with proxies.serve() as (proxy, heads):
        if tunnelled:
            cluster["proxy-url"] = proxy
        assert "CERTIFICATE_VERIFY_FAILED" in _refusal(tmp_path, context, cluster, {})
        named.clear()
        asked = _ask(tmp_path, context, {}, {**cluster, "tls-server-name": "kubernetes.example"})
        assert asked.path == PATH
    assert named == ["kubernetes.example"]
    assert len(heads) == (2 if tunnelled else 0)


def test_a_proxy_is_gone_through_with_its_password(
    tmp_path: Path, authority: Authority, serving: ssl.SSLContext
) -> None:
    with proxies.serve() as (proxy, heads):
        cluster = {
            "certificate-authority": str(authority.pair.certificate),
            "proxy-url": proxy.replace("://", "://alice:hunter2@"),
        }
        asked = _ask(tmp_path, serving, {"token": "t"}, cluster)
    assert asked.headers["authorization"] == "Bearer t"
    assert heads[0].startswith("CONNECT 127.0.0.1:")
    assert f"Basic {base64.b64encode(b'alice:hunter2').decode()}" in heads[0]
    assert "Bearer" not in heads[0]


def test_a_proxy_that_is_away_is_reported_without_its_password(
    tmp_path: Path, serving: ssl.SSLContext
) -> None:
    cluster = {"insecure-skip-tls-verify": True, "proxy-url": "http://alice:hunter2@127.0.0.1:1"}
    refusal = _refusal(tmp_path, serving, cluster, {})
    assert "connection attempts failed" in refusal
    assert "hunter2" not in refusal


def test_an_address_httpx_refuses_is_refused_without_its_password(
    tmp_path: Path, serving: ssl.SSLContext
) -> None:
    cluster = {"insecure-skip-tls-verify": True, "proxy-url": "http://alice:hunter2@a\u0000b"}
    refusal = _refusal(tmp_path, serving, cluster, {})
    assert "cluster: expected valid addresses in server and proxy-url" in refusal
    assert "hunter2" not in refusal


def _shown(pair: Pair, key: bytes | None = None) -> Credentials:
    certificate, own = pair.certificate.read_bytes(), pair.key.read_bytes()
    return Credentials("file: user", "", certificate, key or own)


CLUSTER = ServerAccess("file: cluster", "https://10.0.0.1", insecure=True)


def test_a_key_of_another_certificate_is_refused(authority: Authority) -> None:
    mine, other = authority.client("mine", "mine"), authority.client("other", "other")
    with pytest.raises(errors.InputError, match="client certificate: KEY_VALUES_MISMATCH") as err:
        tls_contexts.make(CLUSTER, _shown(mine, other.key.read_bytes()))
    assert "PRIVATE" not in str(err.value)


def test_a_key_with_a_password_is_refused_and_nobody_is_asked(authority: Authority) -> None:
    pair = authority.client("locked", "locked")
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"hunter2"),
    )
    with pytest.raises(errors.InputError, match="expected a certificate and its key without"):
        tls_contexts.make(CLUSTER, _shown(pair, locked))


def test_the_key_is_in_a_private_file_in_memory_that_ends_with_the_call(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, ended = authority.client("tidy", "tidy"), []
    close = os.close

    def end(handle: int) -> None:
        mode = os.fstat(handle).st_mode & 0o777
        ended.append((Path(f"/proc/self/fd/{handle}").readlink().name, mode))
        close(handle)

    monkeypatch.setattr(os, "close", end)
    tls_contexts.make(CLUSTER, _shown(pair))
    with pytest.raises(errors.InputError):
        tls_contexts.make(CLUSTER, _shown(pair, b"no key"))
    assert ended == [("memfd:client-certificate (deleted)", 0o600)] * 2


@pytest.mark.parametrize("pem", [b"no pem", b"\xff", b"-----BEGIN CERTIFICATE-----\nAA=="])
def test_authorities_that_are_none_are_refused(pem: bytes) -> None:
    cluster = ServerAccess("file: cluster", "https://10.0.0.1", authority=pem)
    with pytest.raises(errors.InputError) as caught:
        tls_contexts.make(cluster, Credentials("file: user"))
    expected = "file: cluster.certificate-authority: expected certificates in PEM"
    assert str(caught.value) == expected


def test_a_missing_file_of_authorities_is_refused(tmp_path: Path) -> None:
    cluster = ServerAccess("file: cluster", "https://10.0.0.1", authority=tmp_path / "none")
    with pytest.raises(errors.InputError, match="none': No such file or directory: expected a"):
        tls_contexts.make(cluster, Credentials("file: user"))
