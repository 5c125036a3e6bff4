"""Values of ``--set PATH=VALUE``."""

from __future__ import annotations

from typing import Any

import yaml

from kubestow.model import errors


def parse_value(text: str, path: str) -> Any:
    """Read a value as YAML would.

    >>> parse_value("[1, 2.5, on]", "samples")
    [1, 2.5, True]

    Raises:
        InputError: If it is not YAML.
    """
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as err:
        raise errors.InputError(f"changes {path}", f"{text!r}: expected a YAML value") from err
