"""Kinds of objects and their members, asked of the API server and kept."""

from __future__ import annotations

import asyncio

import pytest

from kubestow.live.api.errors import ApiError
from kubestow.live.metrics_api.kinds import Mapper, ResourceKind
from kubestow.live.metrics_api.values.members import Members
from tests.live.metrics_api import make

POD = ResourceKind("", "v1", "pods", "Pod", True)


@pytest.mark.parametrize(
    ("text", "resource"),
    [
        ("pods", "pods"),
        ("pod", "pods"),
        ("po", "pods"),
        ("Pod", "pods"),
        ("deployments.apps", "deployments.apps"),
        ("deployment", "deployments.apps"),
        ("pods.apps", None),
        ("unicorns", None),
        ("unicorns.example.com", None),
        ("../secrets", None),
        ("pods.a/b", None),
        ("pods.", None),
        ("", None),
    ],
)
def test_kinds_are_found_by_their_names(text: str, resource: str | None) -> None:
    result = asyncio.run(Mapper(make.FakeApi()).find(text))
    assert (result.resource if result else None) == resource


def test_groups_are_asked_for_once_in_a_while() -> None:
    api, now = make.FakeApi(), [0.0]
    mapper = Mapper(api, lambda: now[0])
    for now[0] in (0.0, 599.0):
        asyncio.run(mapper.find("pods"))
    assert len(api.asked) == 1
    now[0] = 600.1
    asyncio.run(mapper.find("pods"))
    assert len(api.asked) == 2


def test_a_server_that_is_away_is_no_proof_that_there_is_nothing() -> None:
    api = make.FakeApi(broken=True)
    mapper = Mapper(api)
    with pytest.raises(ApiError):
        asyncio.run(mapper.find("pods"))
    api.broken = False
    assert asyncio.run(mapper.find("pods")) == POD


def test_members_are_asked_for_again_after_a_moment() -> None:
    api, now = make.FakeApi(), [0.0]
    path = "/api/v1/namespaces/shop/pods"
    members = Members(api.names, 2.0, lambda: now[0])
    api.members[path, "app=web"] = ("a",)
    assert asyncio.run(members.names(POD, "shop", "app=web")) == ("a",)
    api.members[path, "app=web"] = ("a", "b")
    assert asyncio.run(members.names(POD, "shop", "app=web")) == ("a",)
    assert asyncio.run(members.names(POD, "shop", "app=db")) == ()
    now[0] = 2.0
    assert asyncio.run(members.names(POD, "shop", "app=web")) == ("a", "b")
