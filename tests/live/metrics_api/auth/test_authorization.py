"""Rights: what is asked, how long an answer counts, and that no answer is no right."""

from __future__ import annotations

import asyncio

import pytest

from kubestow.live.api.errors import ApiError
from kubestow.live.metrics_api.auth.authorization import Authorizer, ResourceAttributes
from kubestow.live.metrics_api.auth.users import User
from kubestow.live.servers import telemetry
from tests.live.metrics_api import make

ME = User("me")
DEED = ResourceAttributes(
    "get", group="custom.metrics.k8s.io", resource="nodes", subresource="rtt", name="n1"
)


def authorizer(api: make.FakeApi, now: list[float]) -> Authorizer:
    return Authorizer(api, telemetry.Telemetry("test"), lambda: now[0])


@pytest.mark.parametrize(("allowed", "kept_s"), [(True, 10.0), (False, 5.0)])
def test_answers_count_for_a_while(allowed: bool, kept_s: float) -> None:
    api, now = make.FakeApi(may=lambda _: allowed), [0.0]
    rights = authorizer(api, now)
    assert asyncio.run(rights.refuse(ME, DEED)) == (None if allowed else "no rule")
    api.may = lambda _: not allowed
    now[0] = kept_s - 0.1
    assert asyncio.run(rights.refuse(ME, DEED)) == (None if allowed else "no rule")
    now[0] = kept_s
    assert asyncio.run(rights.refuse(ME, DEED)) == ("no rule" if allowed else None)


def test_an_answer_counts_for_the_same_user_and_deed_only() -> None:
    api = make.FakeApi(may=lambda spec: spec["user"] == "me" and spec["groups"] == [])
    rights = authorizer(api, [0.0])
    assert asyncio.run(rights.refuse(ME, DEED)) is None
    for other in (User("you"), User("me", ("g",))):
        assert asyncio.run(rights.refuse(other, DEED)) == "no rule"
    assert len(api.reviews()) == 3
    asyncio.run(rights.refuse(ME, ResourceAttributes("get", "/metrics")))
    assert api.reviews()[-1]["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}


@pytest.mark.parametrize(
    "status",
    [{}, {"allowed": "true"}, {"allowed": True, "denied": True}],
    ids=["nothing", "a-text", "both"],
)
def test_only_a_clear_yes_is_one(status: dict[str, object]) -> None:
    api = make.FakeApi(review=status)
    assert asyncio.run(authorizer(api, [0.0]).refuse(ME, DEED)) is not None


def test_no_answer_is_no_right() -> None:
    with pytest.raises(ApiError):
        asyncio.run(authorizer(make.FakeApi(broken=True), [0.0]).refuse(ME, DEED))


def test_refusals_say_where() -> None:
    assert DEED.refusal(ME, "") == (
        'nodes.custom.metrics.k8s.io "n1" is forbidden: User "me" cannot get resource "nodes/rtt" '
        'in API group "custom.metrics.k8s.io" at the cluster scope'
    )
    assert (
        ResourceAttributes("get", "/x").refusal(ME, "")
        == 'forbidden: User "me" cannot get path "/x"'
    )
