"""Who gets in: certificates, headers, tokens and rights, over real TLS."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from testenv.authorities import Authority
from tests.live.metrics_api import make

PATH = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/a/rate"
FORGED = {"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"}
TOKEN = {"Authorization": "Bearer good"}


@pytest.fixture(autouse=True)
def _value(scene: make.Scene) -> None:
    scene.put(make.pod("a"), "1")
    scene.api.tokens["good"] = {"username": "writer", "groups": ["g"], "uid": "1"}


def code(client: httpx.Client, path: str = PATH) -> int:
    with client:
        return client.get(path).status_code


@pytest.mark.parametrize("path", [PATH, "/apis", "/metrics", "/openapi/v2", "/apis/x/y"])
def test_nobody_is_answered_without_being_known(scene: make.Scene, path: str) -> None:
    assert code(scene.client(), path) == httpx.codes.UNAUTHORIZED
    assert scene.api.reviews() == []


def test_headers_count_for_nothing_without_a_certificate(scene: make.Scene) -> None:
    assert code(scene.client(headers=FORGED)) == httpx.codes.UNAUTHORIZED
    # With a token, the token is used.
    with scene.client(headers={**FORGED, **TOKEN}) as client:
        assert client.get(PATH).is_success
    assert [each["user"] for each in scene.api.reviews()] == ["writer"]


def test_the_front_proxy_must_have_an_allowed_name(scene: make.Scene) -> None:
    other = scene.proxy.client("other", "somebody")
    assert code(scene.client(other, FORGED)) == httpx.codes.UNAUTHORIZED
    proxy = scene.proxy.client("proxy", make.PROXY)
    assert code(scene.client(proxy, FORGED)) == httpx.codes.OK
    assert code(scene.client(proxy)) == httpx.codes.UNAUTHORIZED


def test_a_certificate_of_somebody_else_is_refused_by_tls(
    scene: make.Scene, tmp_path: Path
) -> None:
    forger = Authority(tmp_path / "forger", "front-proxy-ca").client("forged", make.PROXY)
    with scene.client(forger, FORGED) as client, pytest.raises(httpx.HTTPError):
        client.get(PATH)
    server = scene.proxy.server("server", ("front-proxy-client",))  # not for clients
    with scene.client(server, FORGED) as client, pytest.raises(httpx.HTTPError):
        client.get(PATH)


def test_authorities_are_exchanged_while_it_serves(scene: make.Scene, tmp_path: Path) -> None:
    old = scene.proxy.client("old", make.PROXY)
    assert code(scene.client(old, FORGED)) == httpx.codes.OK
    following = Authority(tmp_path / "next", "front-proxy-ca")
    scene.api.trust(following, make.PROXY)
    asyncio.run(scene.authenticator.refresh())
    new = following.client("new", make.PROXY)
    assert code(scene.client(new, FORGED)) == httpx.codes.OK
    with scene.client(old, FORGED) as client, pytest.raises(httpx.HTTPError):
        client.get(PATH)


@pytest.mark.parametrize(
    "header",
    ["Bearer bad", "Basic good", "Bearer", "Bearer " + "x" * 17000, "good"],
    ids=["wrong", "another-scheme", "empty", "too-long", "no-scheme"],
)
def test_tokens_that_are_none_are_refused(scene: make.Scene, header: str) -> None:
    assert code(scene.client(headers={"Authorization": header})) == httpx.codes.UNAUTHORIZED


def test_groups_come_several_times(scene: make.Scene) -> None:
    headers = [(b"X-Remote-User", b"me"), (b"X-Remote-Group", b"a"), (b"X-Remote-Group", b"b, c")]
    with scene.client(scene.proxy.client("proxy", make.PROXY)) as client:
        assert client.get(PATH, headers=headers).is_success
    assert scene.api.reviews()[0]["groups"] == ["a", "b, c", "system:authenticated"]


def test_a_forbidden_response_names_the_missing_permission(scene: make.Scene) -> None:
    scene.api.may = lambda _: False
    with scene.as_user("me") as client:
        result = client.get(PATH)
        assert client.get("/metrics").status_code == httpx.codes.FORBIDDEN
    assert result.status_code == httpx.codes.FORBIDDEN
    assert result.json()["reason"] == "Forbidden"
    assert result.json()["message"] == (
        'pods.custom.metrics.k8s.io "a" is forbidden: User "me" cannot get resource "pods/rate" '
        'in API group "custom.metrics.k8s.io" in the namespace "default": no rule'
    )


def test_nothing_is_answered_while_the_api_server_is_away(scene: make.Scene) -> None:
    scene.api.broken = True
    with scene.as_user() as client:
        result = client.get(PATH)
    assert result.status_code == httpx.codes.SERVICE_UNAVAILABLE
    assert code(scene.client(headers=TOKEN)) == httpx.codes.SERVICE_UNAVAILABLE


def test_answers_of_the_api_server_are_kept_for_a_moment(scene: make.Scene) -> None:
    with scene.client(headers=TOKEN) as client:
        for _ in range(3):
            assert client.get(PATH).is_success
    asked = [path.rsplit("/", 1)[-1] for path, _ in scene.api.asked]
    assert asked.count("tokenreviews") == 1
    assert asked.count("subjectaccessreviews") == 1


def test_probes_are_open(scene: make.Scene) -> None:
    assert code(scene.client(), "/healthz") == httpx.codes.OK
    assert code(scene.client(), "/readyz") == httpx.codes.OK
