"""One registry for every family: lookups, aliases, entry points and their faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

import pytest

from kubestow.model import errors
from kubestow.policies import registries


@dataclass(frozen=True)
class Entry:
    name: str
    summary: str = ""


THIRD = Entry("third")
MISNAMED = Entry("other")
NOT_AN_ENTRY = object()


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., registries.Registry[Entry]]:
    """Return a registry beside packages that offer some entry points."""

    def make(**points: str) -> registries.Registry[Entry]:
        result = tuple(
            metadata.EntryPoint(name.replace("_", "-"), value, "test.group")
            for name, value in points.items()
        )
        monkeypatch.setattr(registries, "_entry_points", lambda _group: result)
        entries = (Entry("first"), Entry("second"))
        return registries.Registry(
            "thing", Entry, entries, group="test.group", aliases={"one": "first"}
        )

    return make


def test_names_keep_their_order_and_packages_come_last(
    offer: Callable[..., registries.Registry[Entry]],
) -> None:
    result = offer(third=f"{__name__}:THIRD")
    assert result.names() == tuple(result) == ("first", "second", "third")
    assert result.entries()[2] is THIRD
    assert len(result) == 3
    assert "third" in result
    assert "fourth" not in result


def test_an_alias_leads_to_its_entry(offer: Callable[..., registries.Registry[Entry]]) -> None:
    assert offer().get("one") == Entry("first")


def test_a_package_cannot_replace_what_is_built_in(
    offer: Callable[..., registries.Registry[Entry]],
) -> None:
    result = offer(first=f"{__name__}:THIRD")
    assert result.get("first") == Entry("first")
    assert result.names() == ("first", "second")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("nowhere.at_all:THING", "cannot be imported: No module named 'nowhere'"),
        (f"{__name__}:MISSING", "cannot be imported: module"),
        (f"{__name__}:NOT_AN_ENTRY", "is a object: must be a Entry"),
        (f"{__name__}:MISNAMED", "is named 'other': must be 'third'"),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_named(
    offer: Callable[..., registries.Registry[Entry]], value: str, problem: str
) -> None:
    with pytest.raises(errors.InputError) as caught:
        offer(third=value).get("third")
    assert caught.value.place == f"entry point test.group: third = {value}"
    assert problem in caught.value.problem


def test_a_broken_package_does_not_stop_built_in_policies(
    offer: Callable[..., registries.Registry[Entry]],
) -> None:
    assert offer(third="nowhere.at_all:THING").get("second") == Entry("second")


def test_an_unknown_name_is_refused_with_all_names_and_the_nearest(
    offer: Callable[..., registries.Registry[Entry]],
) -> None:
    result = offer()
    with pytest.raises(errors.InputError, match=r"thing: 'frist': .*did you mean 'first'\?"):
        result.get("frist")
    with pytest.raises(errors.InputError, match=r"spec.x: 'zzz': must be one of first, second$"):
        result.get("zzz", "spec.x")
