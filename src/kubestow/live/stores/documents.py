"""JSON in the store: what is written, what is refused, and how it is read.

Only JSON goes in and out, never pickled objects: whoever can write to the database must not be
able to run code in those who read it.
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
    """Write a value as JSON; numbers that are not finite become null."""
    return msgspec.json.encode(value, enc_hook=_plain).decode()


def check(place: str, value: object) -> None:
    """Refuse a value that would not be the same when it is read back.

    Args:
        place: Where the value belongs, for the message.
        value: Plain values with text as keys and finite numbers.
    """
    try:
        same = decode(encode(value)) == value
    except (TypeError, ValueError, NotImplementedError):
        same = False
    if not same:
        expected = "expected dicts with text as keys, lists, text and finite numbers"
        raise errors.InputError(place, f"is not the same when read back from JSON; {expected}")


def numbers(found: Mapping[str, float | None]) -> dict[str, float]:
    """Return numbers as they were before ``encode``: null stands for what is no number."""
    return {name: math.nan if value is None else value for name, value in found.items()}


def _plain(value: object) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(f"no JSON for {type(value).__name__}")
