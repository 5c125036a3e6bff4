"""The front proxy's configuration, and users in its headers."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.live.metrics_api.auth import users
from kubestow.live.metrics_api.auth.users import FrontProxy, User
from kubestow.model.errors import InputError

ANY = FrontProxy(b"pem")
PEER = {"subject": ((("commonName", "proxy"),),), "notAfter": "Jan  1 00:00:00 2030 GMT"}
BEFORE_S, AFTER_S = 1_800_000_000.0, 1_900_000_000.0


def test_names_of_the_proxy_are_looked_at_unless_any_will_do() -> None:
    assert ANY.matches(PEER, BEFORE_S)
    assert FrontProxy(b"pem", frozenset({"proxy"})).matches(PEER, BEFORE_S)
    assert not FrontProxy(b"pem", frozenset({"other"})).matches(PEER, BEFORE_S)
    assert not ANY.matches(None, BEFORE_S)
    assert not ANY.matches(PEER, AFTER_S)  # the connection outlived the certificate


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        ([], None),
        ([(b"x-remote-user", b"")], None),
        ([(b"x-remote-group", b"system:masters")], None),
        ([(b"x-remote-user", b"\xff")], None),
        ([(b"x-remote-user", "Zoë".encode())], User("Zoë")),
        (
            [
                (b"x-remote-user", b"me"),
                (b"x-remote-group", b"a"),
                (b"x-remote-group", b"b"),
                (b"x-remote-uid", b"1"),
                (b"x-remote-extra-example.com%2fkey", b"x"),
                (b"x-remote-extra-example.com%2fkey", b"y"),
                (b"x-remote-extra-", b"z"),
            ],
            User("me", ("a", "b"), "1", (("example.com/key", ("x", "y")),)),
        ),
    ],
)
def test_headers_name_a_user(headers: list[tuple[bytes, bytes]], user: User | None) -> None:
    assert ANY.read(headers) == user


@pytest.mark.parametrize(
    ("user", "groups"),
    [
        (User("me", ("a",)), ("a", "system:authenticated")),
        (User("me", ("system:authenticated",)), ("system:authenticated",)),
        (User("system:anonymous", ("system:unauthenticated",)), ("system:unauthenticated",)),
        (User("system:anonymous"), ()),
    ],
)
def test_who_is_known_belongs_to_all_who_are(user: User, groups: tuple[str, ...]) -> None:
    assert user.authenticated().groups == groups


def test_the_configuration_is_read() -> None:
    data = {
        "requestheader-client-ca-file": "pem",
        "requestheader-allowed-names": '["a", "b"]',
        "requestheader-username-headers": '["X-User"]',
    }
    result = users.read_front_proxy({"data": data})
    assert result.allowed == {"a", "b"}
    assert result.user_headers == ("x-user",)
    assert result.group_headers == ("x-remote-group",)


@pytest.mark.parametrize(
    "data",
    [
        None,
        {"requestheader-client-ca-file": " "},
        {"requestheader-client-ca-file": "pem", "requestheader-allowed-names": "front"},
        {"requestheader-client-ca-file": "pem", "requestheader-allowed-names": "[1]"},
    ],
)
def test_a_configuration_that_says_nothing_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match="extension-apiserver-authentication"):
        users.read_front_proxy({"data": data})
