"""The client: responses, errors, credentials."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from kubestow.live.api import clients
from kubestow.live.api.errors import ApiError
from kubestow.model import errors
from tests.live.api import servers

MISSING = {"kind": "Status", "reason": "NotFound", "message": 'pods "x" not found', "code": 404}


def _ask(path: Path, what: Callable[[clients.ApiClient], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with await clients.connect(str(path)) as client:
            return await what(client)

    return asyncio.run(run())


def test_an_object_is_returned_as_it_came(tmp_path: Path) -> None:
    with servers.serve(lambda _: (200, {"kind": "Node", "metadata": {"name": "n"}})) as (
        url,
        asked,
    ):
        path = servers.write_kubeconfig(tmp_path, url)
        result = _ask(path, lambda client: client.get("/api/v1/nodes/n", {"a": "b"}))
    assert result["metadata"]["name"] == "n"
    assert (asked[0].path, asked[0].params) == ("/api/v1/nodes/n", {"a": "b"})
    assert asked[0].headers["authorization"] == "Bearer first"


def test_a_refusal_has_the_servers_reason_and_sentence(tmp_path: Path) -> None:
    with servers.serve(lambda _: (404, MISSING)) as (url, _):
        path = servers.write_kubeconfig(tmp_path, url)
        with pytest.raises(ApiError) as caught:
            _ask(path, lambda client: client.get("/api/v1/pods/x"))
    assert (caught.value.status, caught.value.reason) == (404, "NotFound")
    assert str(caught.value) == 'NotFound (404): pods "x" not found'
    assert not caught.value.is_passing


def test_an_error_that_is_not_a_status_is_quoted(tmp_path: Path) -> None:
    with servers.serve(lambda _: (502, ["<html>bad gateway"])) as (url, _):
        path = servers.write_kubeconfig(tmp_path, url)
        with pytest.raises(ApiError, match="bad gateway") as caught:
            _ask(path, lambda client: client.get("/api/v1/pods"))
    assert caught.value.is_passing


@pytest.mark.parametrize("text", [["no json"], ["[1, 2]"]], ids=["text", "list"])
def test_a_response_that_is_not_an_object_is_refused(tmp_path: Path, text: list[str]) -> None:
    with servers.serve(lambda _: (200, text)) as (url, _):
        path = servers.write_kubeconfig(tmp_path, url)
        with pytest.raises(ApiError, match="response is"):
            _ask(path, lambda client: client.get("/api/v1/pods"))


def test_a_token_that_has_run_out_is_read_anew(tmp_path: Path) -> None:
    def answer(asked: servers.Asked) -> servers.Answer:
        if asked.headers["authorization"] == "Bearer second":
            return 200, {"kind": "Pod"}
        servers.write_kubeconfig(tmp_path, url, "second")
        return 401, {"reason": "Unauthorized", "message": "Unauthorized"}

    with servers.serve(answer) as (url, asked):
        path = servers.write_kubeconfig(tmp_path, url)
        assert _ask(path, lambda client: client.get("/api/v1/pods/x")) == {"kind": "Pod"}
    assert len(asked) == 2


def test_a_token_that_stays_wrong_is_an_error_and_not_a_loop(tmp_path: Path) -> None:
    refused = {"reason": "Unauthorized", "message": "Unauthorized"}
    with servers.serve(lambda _: (401, refused)) as (url, asked):
        path = servers.write_kubeconfig(tmp_path, url)
        with pytest.raises(ApiError, match="Unauthorized"):
            _ask(path, lambda client: client.get("/api/v1/pods/x"))
    assert len(asked) == 2


def test_a_server_that_cannot_be_reached_is_a_passing_error(tmp_path: Path) -> None:
    with servers.serve(lambda _: (200, {})) as (url, _):
        path = servers.write_kubeconfig(tmp_path, url)
    with pytest.raises(ApiError, match=url) as caught:
        _ask(path, lambda client: client.get("/api/v1/pods"))
    assert (caught.value.status, caught.value.is_passing) == (0, True)


@pytest.mark.parametrize(
    ("verb", "content"),
    [("post", clients.JSON), ("put", clients.JSON), ("patch", clients.MERGE_PATCH)],
)
def test_bodies_are_sent_as_their_content_type(tmp_path: Path, verb: str, content: str) -> None:
    with servers.serve(lambda _: (200, {"kind": "Pod"})) as (url, asked):
        path = servers.write_kubeconfig(tmp_path, url)
        _ask(path, lambda client: getattr(client, verb)("/api/v1/pods/x", {"a": 1}))
    assert asked[0].method == verb.upper()
    assert asked[0].headers["content-type"] == content
    assert asked[0].body == b'{"a":1}'


def test_apply_names_its_manager_and_can_be_tried(tmp_path: Path) -> None:
    with servers.serve(lambda _: (200, {"kind": "Pod"})) as (url, asked):
        path = servers.write_kubeconfig(tmp_path, url)
        _ask(path, lambda client: client.apply("/api/v1/pods/x", {}, dry_run=True))
    assert asked[0].params == {"fieldManager": "kubestow", "force": "true", "dryRun": "All"}


def test_the_namespace_of_the_context_is_known(tmp_path: Path) -> None:
    path = servers.write_kubeconfig(tmp_path, "http://127.0.0.1:1")

    async def ask(client: clients.ApiClient) -> tuple[str, str]:
        return client.namespace, client.server

    assert _ask(path, ask) == ("shop", "http://127.0.0.1:1")


def test_no_kubeconfig_is_bad_input(tmp_path: Path) -> None:
    async def nothing(_: clients.ApiClient) -> None:
        """Ask nothing."""

    with pytest.raises(errors.InputError, match="expected a kubeconfig of a cluster"):
        _ask(tmp_path / "none", nothing)
