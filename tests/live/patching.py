"""Applies JSON patches (RFC 6902) strictly: ``add``, ``remove``, ``replace`` and ``test``."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any


def apply(document: Any, operations: Iterable[Mapping[str, Any]]) -> Any:
    """Return the patched document; an operation that does not fit fails the test."""
    changed = copy.deepcopy(document)
    for operation in operations:
        *parents, last = keys_of(operation["path"])
        place = changed
        for key in parents:
            place = place[_index(place, key)]
        _carry_out(place, _index(place, last), operation)
    return changed


def keys_of(pointer: str) -> list[str]:
    """Return the keys of a JSON pointer (RFC 6901)."""
    assert pointer.startswith("/"), pointer
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer[1:].split("/")]


def _index(place: Any, key: str) -> Any:
    assert isinstance(place, dict | list), f"{key}: its parent is missing"
    return int(key) if isinstance(place, list) else key


def _carry_out(place: Any, key: Any, operation: Mapping[str, Any]) -> None:
    present = key in place if isinstance(place, dict) else 0 <= key < len(place)
    match operation["op"]:
        case "add":
            assert isinstance(place, dict), "only members are added here"
            place[key] = copy.deepcopy(operation["value"])
        case "replace":
            assert present, f"{key} is not there"
            place[key] = copy.deepcopy(operation["value"])
        case "remove":
            assert present, f"{key} is not there"
            del place[key]
        case "test":
            assert present, f"{key} is not there"
            assert place[key] == operation["value"]
        case other:
            raise AssertionError(f"unknown operation {other}")
