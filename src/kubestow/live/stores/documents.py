"""Encoding and decoding of JSON documents in the store.

Documents are JSON, never pickled objects: write access to the database must not allow code
execution in its readers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from kubestow.model import errors

decode = msgspec.json.decode


def encode(value: object) -> str:
    """Encode a value as JSON; numbers that are not finite become null."""
    return msgspec.json.encode(value, enc_hook=_plain).decode()


def check(place: str, value: object) -> None:
    """Refuse a value that would differ when read back from JSON.

    Args:
        place: Name of the value, for the message.
        value: Plain values with strings as keys and finite numbers.
    """
    try:
        same = decode(encode(value)) == value
    except (TypeError, ValueError, NotImplementedError):
        same = False
    if not same:
        expected = "expected dicts with string keys, lists, strings and finite numbers"
        raise errors.InputError(place, f"differs when read back from JSON; {expected}")


def numbers(encoded: Mapping[str, float | None]) -> dict[str, float]:
    """Return numbers as before ``encode``: null becomes NaN."""
    return {name: math.nan if value is None else value for name, value in encoded.items()}


def _plain(value: object) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"no JSON for {type(value).__name__}")
