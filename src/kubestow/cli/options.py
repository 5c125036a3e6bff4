"""Options that several commands read alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubestow.model import errors


def read_duration(option: str, text: str) -> float:
    """Return a duration in seconds.

    Raises:
        InputError: If the text is not a duration, or is 0.
    """
    from kubestow.model import decoding

    try:
        seconds = decoding.duration_seconds(text)
    except ValueError:
        seconds = 0.0
    if seconds <= 0.0:
        raise errors.InputError(option, f"{text!r}: expected a duration such as 90s, 5m or 1h")
    return seconds


def read_time(option: str, text: str) -> float:
    """Return a time in seconds since the epoch; without a zone it is UTC.

    >>> read_time("--end", "2026-01-01T00:00Z")
    1767225600.0

    Raises:
        InputError: If the text is neither ISO 8601 nor seconds.
    """
    import datetime as dt
    import math

    try:
        seconds = float(text)
    except ValueError:
        try:
            stamp = dt.datetime.fromisoformat(text)
        except ValueError:
            seconds = math.nan
        else:
            seconds = (stamp if stamp.tzinfo else stamp.replace(tzinfo=dt.UTC)).timestamp()
    if not 0.0 < seconds < math.inf:
        expected = "expected a time such as 2026-01-31T12:00Z, or seconds since the epoch"
        raise errors.InputError(option, f"{text!r}: {expected}")
    return seconds


def read_parameters(changes: Iterable[str]) -> dict[str, Any]:
    """Return the parameters of ``--set PATH=VALUE`` as a document, with a mapping for each step.

    >>> read_parameters(["gate.margin=0.2", "samples=3"])
    {'gate': {'margin': 0.2}, 'samples': 3}

    Raises:
        InputError: If one is not ``PATH=VALUE``, its value is not YAML, or paths contradict.
    """
    from kubestow.workflows import parameter_values

    parameters: dict[str, Any] = {}
    for change in changes:
        path, equals, text = change.partition("=")
        if not equals or not path:
            raise errors.InputError("--set", f"{change!r}: expected PATH=VALUE")
        here = parameters
        *steps, last = path.split(".")
        for step in steps:
            here = here.setdefault(step, {})
            if not isinstance(here, dict):
                raise errors.InputError(f"--set {path}", f"{step!r} is not a mapping")
        try:
            here[last] = parameter_values.parse_value(text, path)
        except errors.InputError as err:
            raise errors.InputError(f"--set {path}", err.problem) from err
    return parameters
