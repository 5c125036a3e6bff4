"""Addresses to listen on."""

from __future__ import annotations

import pytest

from kubestow.live.servers.settings import ServerSettings, read_address
from kubestow.model import errors


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:9443", ("127.0.0.1", 9443)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:443", ("::1", 443)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, expected: tuple[str, int]) -> None:
    assert read_address("listen", text) == expected


@pytest.mark.parametrize(
    "text", ["9443", ":9443", "::1:443", "host:", "host:-1", "host:65536", "h:²"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(errors.InputError, match="listen"):
        read_address("listen", text)


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("web", False)],  # noqa: S104
)
def test_only_loopback_is_local(host: str, local: bool) -> None:
    assert ServerSettings(host=host).is_local is local
