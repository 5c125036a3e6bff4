"""Lists and watches: paging, resuming, beginning again, pauses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.live.api import clients, listings, watches
from kubestow.live.api.errors import ApiError
from tests.live.api import servers

PATH = "/api/v1/pods"
QUICK = watches.Pauses(0.001, 0.01)


class Sink:
    """Records what it receives."""

    def __init__(self) -> None:
        self.received: list[tuple[str, list[str]]] = []

    def replace(self, objects: list[dict[str, Any]]) -> None:
        self.received.append(("LIST", [each["metadata"]["name"] for each in objects]))

    def apply(self, change: str, text: bytes) -> None:
        self.received.append((change, [json.loads(text)["metadata"]["name"]]))


def _pod(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


def _list(names: list[str], version: int, more: str = "") -> servers.Answer:
    metadata = {"resourceVersion": str(version), "continue": more}
    items = [_pod(name, version) for name in names]
    return 200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}


def _event(kind: str, content: dict[str, Any]) -> str:
    return json.dumps({"type": kind, "object": content}) + "\n"


def _watch(
    folder: Path, answer: Callable[[servers.Asked], servers.Answer], enough: Callable[[Sink], bool]
) -> tuple[Sink, list[servers.Asked], watches.Freshness]:
    sink = Sink()

    async def run(url: str) -> watches.Freshness:
        client = await clients.connect(str(servers.write_kubeconfig(folder, url)))
        watch = watches.ResourceWatch(client, PATH, sink, pauses=QUICK)
        task = asyncio.create_task(watch.run())
        async with asyncio.timeout(20):
            while not enough(sink):
                await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await client.close()
        return watch.freshness

    with servers.serve(answer) as (url, asked):
        return sink, asked, asyncio.run(run(url))


def test_a_list_comes_in_pages_and_says_what_its_objects_are(tmp_path: Path) -> None:
    def answer(asked: servers.Asked) -> servers.Answer:
        assert asked.params["limit"] == str(listings.PAGE)
        return (
            _list(["b"], 7) if asked.params.get("continue") == "next" else _list(["a"], 7, "next")
        )

    async def run(url: str) -> listings.Listing:
        path = servers.write_kubeconfig(tmp_path, url)
        async with await clients.connect(str(path)) as client:
            return await listings.read_list(client, PATH)

    with servers.serve(answer) as (url, asked):
        result = asyncio.run(run(url))
    assert [item["metadata"]["name"] for item in result.items] == ["a", "b"]
    assert result.items[0]["kind"] == "Pod"
    assert result.items[0]["apiVersion"] == "v1"
    assert (result.version, len(asked)) == ("7", 2)


def test_a_page_that_is_gone_starts_the_list_again_and_then_without_pages(tmp_path: Path) -> None:
    def answer(asked: servers.Asked) -> servers.Answer:
        if "limit" not in asked.params:
            return _list(["a", "b"], 9)
        if "continue" in asked.params:
            return 410, {"reason": "Expired", "message": "too old"}
        return _list(["a"], 7, "next")

    async def run(url: str) -> listings.Listing:
        path = servers.write_kubeconfig(tmp_path, url)
        async with await clients.connect(str(path)) as client:
            return await listings.read_list(client, PATH)

    with servers.serve(answer) as (url, asked):
        result = asyncio.run(run(url))
    assert [item["metadata"]["name"] for item in result.items] == ["a", "b"]
    assert len(asked) == 5  # two pages, two pages, all at once


def test_a_watch_begins_at_the_list_and_resumes_behind_bookmarks(tmp_path: Path) -> None:
    answers = {
        "5": [_event("ADDED", _pod("b", 6)), _event("BOOKMARK", _pod("", 8))],
        "8": [_event("MODIFIED", _pod("b", 9)), _event("DELETED", _pod("a", 10))],
    }

    def answer(asked: servers.Asked) -> servers.Answer:
        if "watch" not in asked.params:
            return _list(["a"], 5)
        assert asked.params["allowWatchBookmarks"] == "true"
        return 200, answers.get(asked.params["resourceVersion"], [])

    sink, asked, fresh = _watch(tmp_path, answer, lambda sink: len(sink.received) >= 4)
    assert sink.received == [
        ("LIST", ["a"]),
        ("ADDED", ["b"]),
        ("MODIFIED", ["b"]),
        ("DELETED", ["a"]),
    ]
    versions = [each.params["resourceVersion"] for each in asked if "watch" in each.params]
    assert versions[:2] == ["5", "8"]
    assert (fresh.lists, fresh.synced, fresh.version) == (1, True, "10")


def test_watches_that_end_at_once_are_paused_between(tmp_path: Path) -> None:
    watched = 0

    def answer(asked: servers.Asked) -> servers.Answer:
        nonlocal watched
        watched += "watch" in asked.params
        return (200, []) if "watch" in asked.params else _list(["a"], 5)

    _, _, fresh = _watch(tmp_path, answer, lambda _: watched >= 4)
    assert fresh.faults["ShortWatch"] >= 2
    assert fresh.lists == 1


@pytest.mark.parametrize("how", ["status", "event"])
def test_a_version_that_is_gone_means_a_new_list(tmp_path: Path, how: str) -> None:
    lists = 0

    def answer(asked: servers.Asked) -> servers.Answer:
        nonlocal lists
        if "watch" not in asked.params:
            lists += 1
            return _list([f"list-{lists}"], 10 * lists)
        if asked.params["resourceVersion"] != "10":
            return 200, []
        gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
        return (410, gone) if how == "status" else (200, [_event("ERROR", gone)])

    sink, _, fresh = _watch(tmp_path, answer, lambda sink: len(sink.received) >= 2)
    assert sink.received[:2] == [("LIST", ["list-1"]), ("LIST", ["list-2"])]
    assert fresh.faults["Expired"] == 1


def test_faults_and_half_lines_are_survived(tmp_path: Path) -> None:
    calls = 0

    def answer(asked: servers.Asked) -> servers.Answer:
        nonlocal calls
        calls += 1
        if calls <= 2:
            return 500, {"reason": "InternalError", "message": "no"}
        if "watch" not in asked.params:
            return _list([], 5)
        if asked.params["resourceVersion"] == "5":
            return 200, [_event("ADDED", _pod("a", 6)), '{"type": "ADD']
        resumed = asked.params["resourceVersion"] == "6"
        return 200, [_event("ADDED", _pod("b", 7))] if resumed else []

    sink, _, fresh = _watch(tmp_path, answer, lambda sink: len(sink.received) >= 3)
    assert sink.received == [("LIST", []), ("ADDED", ["a"]), ("ADDED", ["b"])]
    assert (fresh.faults["InternalError"], fresh.faults["Malformed"]) == (2, 1)


def test_a_list_that_is_refused_is_tried_again(tmp_path: Path) -> None:
    async def run(url: str) -> None:
        path = servers.write_kubeconfig(tmp_path, url)
        async with await clients.connect(str(path)) as client:
            with pytest.raises(ApiError, match="Forbidden"):
                await listings.read_list(client, PATH)

    forbidden = {"reason": "Forbidden", "message": "no"}
    with servers.serve(lambda _: (403, forbidden)) as (url, asked):
        asyncio.run(run(url))
    assert len(asked) == 1


@given(faults=st.integers(1, 10_000), chance=st.floats(0, 1))
def test_pauses_stay_between_half_the_first_and_the_longest(faults: int, chance: float) -> None:
    pauses = watches.Pauses(0.2, 30.0)
    assert 0.1 <= pauses.after(faults, chance) <= 30.0
    assert pauses.after(faults + 1, chance) >= pauses.after(faults, chance)


def test_age_is_counted_from_the_last_word() -> None:
    assert watches.Freshness(last_response_s=3.0).age_s(10.0) == 7.0
