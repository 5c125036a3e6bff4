"""The extender over HTTP: verbs, faults, binding."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubestow.live.api.errors import ApiError
from kubestow.live.extender import app
from kubestow.live.servers import running, settings, telemetry
from tests.live.caches import test_cluster as made
from tests.live.extender import test_decisions as scenes

RECORDED = Path(__file__).parents[2] / "data" / "extender_1_37"


class Broken(scenes.FreeCpu):
    """Fails whenever it is asked."""

    def weigh(self, *_: Any) -> Any:
        raise ZeroDivisionError


class Binder:
    """Stands for the API client: remembers bindings, or refuses them."""

    def __init__(self, problem: ApiError | None = None) -> None:
        self.posted: list[tuple[str, Any]] = []
        self._problem = problem

    async def post(self, path: str, body: Any) -> dict[str, Any]:
        if self._problem is not None:
            raise self._problem
        self.posted.append((path, body))
        return {}


@contextlib.contextmanager
def _served(scene: scenes.Scene, binder: Any = None) -> Iterator[httpx.Client]:
    metrics = telemetry.Telemetry("extender")
    edge = app.ExtenderApp(scene.decider, metrics, binder)
    chosen = settings.ServerSettings(drain_s=0.0, grace_s=1.0)
    with (
        running.in_background(
            running.Server(edge.routes(), chosen, metrics, quick=edge.handlers())
        ) as server,
        httpx.Client(base_url=server.url, trust_env=False) as client,
    ):
        yield client


def _body(*names: str) -> dict[str, Any]:
    return {"Pod": made.make_pod("new", cpu="500m"), "NodeNames": list(names)}


def test_filter_and_prioritize_answer_as_kube_scheduler_reads_it() -> None:
    with _served(scenes.Scene()) as client:
        kept = client.post("/filter", json=_body("n0", "n1", "n2")).json()
        scores = client.post("/prioritize", json=_body("n0", "n1")).json()
    assert kept == {"nodenames": ["n0", "n1"], "failedNodes": {"n2": "0m are free"}}
    assert scores == [{"host": "n0", "score": 10}]


@pytest.mark.parametrize("verb", ["filter", "prioritize"])
def test_recorded_questions_about_unknown_nodes_pass(verb: str) -> None:
    for mode in ("nodenames", "nodes"):
        sent = (RECORDED / f"{verb}-{mode}-request.json").read_bytes()
        with _served(scenes.Scene()) as client:
            result = client.post(f"/{verb}", content=sent).json()
        if verb == "prioritize":
            assert result == []
        elif mode == "nodes":
            assert result["nodes"]["items"] == json.loads(sent)["Nodes"]["items"]
        else:
            assert result["nodenames"] == json.loads(sent)["NodeNames"]


def test_a_fault_lets_all_nodes_pass_and_is_counted() -> None:
    with _served(scenes.Scene(Broken())) as client:
        assert client.post("/filter", json=_body("n0", "n2")).json() == {"nodenames": ["n0", "n2"]}
        assert client.post("/prioritize", json=_body("n0", "n2")).json() == []
        counted = client.get("/metrics").text
    for verb in ("filter", "prioritize"):
        line = f'kubestow_extender_calls_total{{outcome="failed-open",verb="{verb}"}} 1.0'
        assert line in counted


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b'{"Pod": {"metadata": {"name": "\xff"}}, "NodeNames": "n0"}',
        b'{"Pod": {"metadata": {}, "spec": {"containers": [{"name": "c"}]}}, "NodeNames": [1]}',
    ],
    ids=["half", "no-list", "no-names"],
)
@pytest.mark.parametrize("verb", ["filter", "prioritize"])
def test_what_cannot_be_read_is_the_callers_fault(verb: str, text: bytes) -> None:
    with _served(scenes.Scene()) as client:
        answer = client.post(f"/{verb}", content=text)
        counted = client.get("/metrics").text
    assert answer.status_code == 400
    assert "not a question of kube-scheduler" in answer.text
    assert f'outcome="malformed",verb="{verb}"}} 1.0' in counted


def test_binding_is_only_there_where_it_is_wanted() -> None:
    with _served(scenes.Scene()) as client:
        assert client.post("/bind", json={}).status_code == 404


def test_a_binding_is_carried_out() -> None:
    binder = Binder()
    wanted = {"PodName": "p", "PodNamespace": "shop", "PodUID": "u", "Node": "n0"}
    with _served(scenes.Scene(), binder) as client:
        assert client.post("/bind", json=wanted).json() == {"error": ""}
        assert client.post("/bind", json={"Node": 1}).status_code == 400
    ((path, body),) = binder.posted
    assert path == "/api/v1/namespaces/shop/pods/p/binding"
    assert (body["metadata"], body["target"]["name"]) == ({"name": "p", "uid": "u"}, "n0")


def test_a_binding_that_is_refused_says_why() -> None:
    binder = Binder(ApiError(409, "Conflict", "pod p is already assigned"))
    wanted = {"PodName": "p", "PodNamespace": "shop", "PodUID": "u", "Node": "n0"}
    with _served(scenes.Scene(), binder) as client:
        result = client.post("/bind", json=wanted).json()
    assert result == {"error": "Conflict (409): pod p is already assigned"}
