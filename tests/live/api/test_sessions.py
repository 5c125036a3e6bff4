"""Sessions: credentials that change while a client works."""

# ruff: noqa: S106 - tokens here are made up

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kubestow.live.api import clients, credentials, service_accounts
from kubestow.live.api.errors import ApiError
from kubestow.model import errors
from testenv.authorities import Authority
from tests.live.api import scripts, servers

POD = (200, {"kind": "Pod"})
REFUSED = (401, {"reason": "Unauthorized", "message": "Unauthorized"})
PATH = "/api/v1/pods/x"


def _run(path: Path | None, what: Callable[[clients.ApiClient], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with await clients.connect(str(path) if path else None) as client:
            return await what(client)

    return asyncio.run(run())


def _accepting(*tokens: str) -> Callable[[servers.Asked], servers.Answer]:
    """Accept each token once: after the first request only the second one counts."""
    left = list(tokens)

    def answer(asked: servers.Asked) -> servers.Answer:
        if asked.headers.get("authorization") != f"Bearer {left[0]}":
            return REFUSED
        if len(left) > 1:
            left.pop(0)
        return POD

    return answer


async def _twice(client: clients.ApiClient) -> Any:
    return [await client.get(PATH), await client.get(PATH)]


def test_a_token_file_is_read_again_after_a_refusal(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first")

    async def rotate(client: clients.ApiClient) -> Any:
        await client.get(PATH)
        token.write_text("second")
        return await client.get(PATH)

    with servers.serve(_accepting("first", "second")) as (url, asked):
        document = servers.describe(url, {"tokenFile": "token"})
        assert _run(servers.write(tmp_path / "config", document), rotate) == POD[1]
    tokens = [each.headers["authorization"] for each in asked]
    assert tokens == ["Bearer first", "Bearer first", "Bearer second"]


@pytest.mark.parametrize("what", ["token", "config"])
def test_a_file_that_is_gone_is_an_api_error_until_it_is_back(tmp_path: Path, what: str) -> None:
    (tmp_path / "token").write_text("first")

    async def lose(client: clients.ApiClient) -> Any:
        await client.get(PATH)
        lost = (tmp_path / what).rename(tmp_path / "lost")
        with pytest.raises(ApiError) as caught:
            await client.get(PATH)
        assert (caught.value.reason, caught.value.is_passing) == ("CredentialsUnavailable", True)
        lost.rename(tmp_path / what)
        (tmp_path / "token").write_text("second")
        return await client.get(PATH)

    with servers.serve(_accepting("first", "second")) as (url, _):
        document = servers.describe(url, {"tokenFile": "token"})
        assert _run(servers.write(tmp_path / "config", document), lose) == POD[1]


def test_a_plugin_runs_again_after_a_refusal(tmp_path: Path) -> None:
    path = scripts.printing(tmp_path / "login", scripts.credential(token="first"))

    async def rotate(client: clients.ApiClient) -> Any:
        await client.get(PATH)
        scripts.printing(path, scripts.credential(token="second"))
        return await client.get(PATH)

    with servers.serve(_accepting("first", "second")) as (url, _):
        config = servers.write(
            tmp_path / "config", servers.describe(url, scripts.describe("./login"))
        )
        assert _run(config, rotate) == POD[1]
    assert scripts.count_runs(tmp_path) == 2


def test_a_plugin_that_begins_to_fail_is_an_api_error(tmp_path: Path) -> None:
    expired = scripts.credential(token="t", expirationTimestamp="2020-01-01T00:00:00Z")
    path = scripts.printing(tmp_path / "login", expired)

    async def fail(client: clients.ApiClient) -> None:
        scripts.write(path, "echo not logged in >&2\nexit 1")
        with pytest.raises(ApiError, match="exit code 1: not logged in") as caught:
            await client.get(PATH)
        assert caught.value.is_passing

    with servers.serve(lambda _: POD) as (url, asked):
        document = servers.describe(url, scripts.describe(path))
        _run(servers.write(tmp_path / "config", document), fail)
    assert not asked


def test_a_plugin_that_fails_at_once_is_bad_input(tmp_path: Path) -> None:
    document = servers.describe("https://127.0.0.1:1", scripts.describe(tmp_path / "none"))
    with pytest.raises(errors.InputError, match=r"users\[0\].user.exec: .*/none': not found"):
        _run(servers.write(tmp_path / "config", document), _twice)


def test_credentials_do_not_go_to_the_server_of_a_renewal_meanwhile(tmp_path: Path) -> None:
    with (
        servers.serve(lambda _: REFUSED) as (url, _),
        servers.serve(lambda _: POD) as (other_url, asked),
    ):
        path = servers.write_kubeconfig(tmp_path, url)

        async def move(client: clients.ApiClient) -> None:
            session, old = client._session, client._session._source
            servers.write_kubeconfig(tmp_path, other_url, "second")

            class Slow:
                async def current(self) -> credentials.Credentials:
                    await session.renew(session._pool)
                    return await old.current()

            session._source = Slow()
            await client.get(PATH)

        _run(path, move)
    assert [each.headers["authorization"] for each in asked] == ["Bearer second"]


def test_many_refusals_at_once_have_credentials_read_once(tmp_path: Path) -> None:
    path = scripts.printing(tmp_path / "login", scripts.credential(token="first"))
    valid = ["first"]

    def answer(asked: servers.Asked) -> servers.Answer:
        return POD if asked.headers["authorization"] == f"Bearer {valid[0]}" else REFUSED

    async def crowd(client: clients.ApiClient) -> Any:
        await client.get(PATH)
        scripts.printing(path, scripts.credential(token="second"))
        valid[0] = "second"
        return await asyncio.gather(*(client.get(PATH) for _ in range(8)))

    with servers.serve(answer) as (url, _):
        document = servers.describe(url, scripts.describe(path))
        assert _run(servers.write(tmp_path / "config", document), crowd) == [POD[1]] * 8
    assert scripts.count_runs(tmp_path) == 2


def test_another_current_context_does_not_lead_to_another_cluster(tmp_path: Path) -> None:
    with (
        servers.serve(lambda _: REFUSED) as (url, asked),
        servers.serve(lambda _: POD) as (other_url, other_asked),
    ):
        path = servers.write_kubeconfig(tmp_path, url)

        async def switch(client: clients.ApiClient) -> str:
            document = servers.describe(url, {"token": "t"})
            document["clusters"].append({"name": "d", "cluster": {"server": other_url}})
            document["contexts"].append({"name": "d", "context": {"cluster": "d"}})
            servers.write(path, document | {"current-context": "d"})
            with pytest.raises(ApiError, match="Unauthorized"):
                await client.get(PATH)
            return client.server

        assert _run(path, switch) == url
    assert (len(asked), len(other_asked)) == (2, 0)


def _serving(authority: Authority) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = authority.server("server", ("127.0.0.1",))
    context.load_cert_chain(pair.certificate, pair.key)
    context.load_verify_locations(authority.pair.certificate)
    context.verify_mode = ssl.CERT_OPTIONAL
    return context


def test_a_client_certificate_is_exchanged_when_it_expires(tmp_path: Path) -> None:
    authority, path = Authority(tmp_path / "pki", "ca"), tmp_path / "login"

    def issue(name: str) -> None:
        pair = authority.client(name, name)
        output = scripts.credential(
            clientCertificateData=pair.certificate.read_text(),
            clientKeyData=pair.key.read_text(),
            expirationTimestamp="2020-01-01T00:00:00Z",
        )
        scripts.printing(path, output)

    async def expire(client: clients.ApiClient) -> None:
        await _twice(client)
        issue("bob")
        await _twice(client)

    issue("alice")
    with servers.serve(lambda _: POD, _serving(authority)) as (url, asked):
        cluster = {"certificate-authority": str(authority.pair.certificate)}
        document = servers.describe(url, scripts.describe(path), cluster)
        _run(servers.write(tmp_path / "config", document), expire)
    assert [each.client for each in asked] == ["alice", "alice", "bob", "bob"]


def test_a_client_certificate_is_read_again_after_a_refusal(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "pki", "ca")
    pair = authority.client("user", "alice")

    async def rotate(client: clients.ApiClient) -> Any:
        authority.client("user", "bob")
        return await client.get(PATH)

    def answer(asked: servers.Asked) -> servers.Answer:
        return POD if asked.client == "bob" else REFUSED

    with servers.serve(answer, _serving(authority)) as (url, asked):
        cluster = {"certificate-authority": str(authority.pair.certificate)}
        user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
        document = servers.describe(url, user, cluster)
        assert _run(servers.write(tmp_path / "config", document), rotate) == POD[1]
    assert [each.client for each in asked] == ["alice", "bob"]


def test_a_stream_outlives_an_exchange(tmp_path: Path) -> None:
    def answer(asked: servers.Asked) -> servers.Answer:
        if asked.path != PATH:
            return 200, ["x" * 1_000_000]
        return POD if asked.headers["authorization"] == "Bearer second" else REFUSED

    async def rotate(client: clients.ApiClient) -> int:
        async with client.pieces("/api/v1/pods", {}, 10.0) as pieces:
            size = len(await anext(pieces))
            servers.write_kubeconfig(tmp_path, url, "second")
            await client.get(PATH)
            return size + sum([len(piece) async for piece in pieces])

    with servers.serve(answer) as (url, _):
        assert _run(servers.write_kubeconfig(tmp_path, url), rotate) == 1_000_000


def test_old_connections_are_closed_after_a_few_exchanges(tmp_path: Path) -> None:
    pools = []

    async def refuse(client: clients.ApiClient) -> list[bool]:
        for _ in range(5):
            pools.append(client._session._pool)
            with pytest.raises(ApiError, match="Unauthorized"):
                await client.get(PATH)
        return [pool.is_closed for pool in pools]

    with servers.serve(lambda _: REFUSED) as (url, _):
        closed = _run(servers.write_kubeconfig(tmp_path, url), refuse)
    assert closed == [True, True, False, False, False]
    assert all(pool.is_closed for pool in pools)


def test_a_pod_reaches_its_own_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority, folder = Authority(tmp_path / "pki", "ca"), tmp_path / "account"
    folder.mkdir()
    (folder / "token").write_text("first")
    (folder / "namespace").write_text("shop")
    (folder / "ca.crt").write_bytes(authority.pair.certificate.read_bytes())
    monkeypatch.setattr(service_accounts, "FOLDER", folder)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "POD_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)

    async def rotate(client: clients.ApiClient) -> str:
        await client.get(PATH)
        (folder / "token").write_text("second")
        servers.write(tmp_path / ".kube" / "config", {"current-context": "x"})
        await client.get(PATH)
        return client.namespace

    with servers.serve(_accepting("first", "second"), _serving(authority)) as (url, asked):
        host, _, port = url.removeprefix("https://").partition(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        assert _run(None, rotate) == "shop"
    assert [each.headers["authorization"][-6:] for each in asked] == [" first", " first", "second"]


def test_basic_authentication_reaches_the_server(tmp_path: Path) -> None:
    with servers.serve(lambda _: POD) as (url, asked):
        document = servers.describe(url, {"username": "alice", "password": "p"})
        _run(servers.write(tmp_path / "config", document), _twice)
    assert asked[1].headers["authorization"] == "Basic YWxpY2U6cA=="


@pytest.mark.parametrize(("disabled", "expected"), [(True, False), (False, True)])
def test_compression_can_be_switched_off(tmp_path: Path, disabled: bool, expected: bool) -> None:
    with servers.serve(lambda _: POD) as (url, asked):
        document = servers.describe(url, {}, {"disable-compression": disabled})
        _run(servers.write(tmp_path / "config", document), _twice)
    assert ("gzip" in asked[0].headers["accept-encoding"]) is expected
    assert "authorization" not in asked[0].headers


def test_a_server_below_a_path_is_asked_there(tmp_path: Path) -> None:
    with servers.serve(lambda _: POD) as (url, asked):
        path = servers.write_kubeconfig(tmp_path, f"{url}/k8s/clusters/c-1/")
        _run(path, _twice)
    assert asked[0].path == f"/k8s/clusters/c-1{PATH}"
