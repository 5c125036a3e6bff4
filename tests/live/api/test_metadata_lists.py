"""Lists of names alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from kubestow.live.api import clients, metadata_lists
from kubestow.live.api.errors import ApiError
from tests.live.api import servers

PATH = "/api/v1/namespaces/shop/pods"


def ask(folder: Path, answer: tuple[int, Any], selector: str) -> tuple[tuple[str, ...], Any]:
    async def run(path: Path) -> tuple[str, ...]:
        async with await clients.connect(str(path)) as client:
            return await metadata_lists.list_names(client, PATH, selector)

    with servers.serve(lambda _: answer) as (url, asked):
        result = asyncio.run(run(servers.write_kubeconfig(folder, url)))
    return result, asked[0]


def test_only_metadata_is_asked_for(tmp_path: Path) -> None:
    items = [{"metadata": {"name": name, "labels": {"app": "web"}}} for name in ("b", "a")]
    answer = {"kind": "PartialObjectMetadataList", "items": items}
    result, asked = ask(tmp_path, (200, answer), "app=web")
    assert result == ("a", "b")
    assert asked.path == PATH
    assert asked.params == {"resourceVersion": "0", "labelSelector": "app=web"}
    assert asked.headers["accept"].startswith("application/json;as=PartialObjectMetadataList;")


def test_a_list_may_be_empty(tmp_path: Path) -> None:
    result, asked = ask(tmp_path, (200, {"items": None}), "")
    assert result == ()
    assert asked.params == {"resourceVersion": "0"}


@pytest.mark.parametrize("answer", [(200, ["no", " list"]), (200, {"items": [{}]}), (403, {})])
def test_other_answers_are_errors(tmp_path: Path, answer: tuple[int, Any]) -> None:
    with pytest.raises(ApiError):
        ask(tmp_path, answer, "")
