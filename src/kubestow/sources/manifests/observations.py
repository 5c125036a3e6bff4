"""Reads OBSERVATIONS.jsonl: the observations of an autoscaler, one JSON object per line.

Lines are decoded here and must be in order of time; ``policies.scaling.observation_lines`` reads
their content. Every line keeps its number for error messages.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path

from kubestow.model import decoding, errors


def read_observations(source: str) -> list[decoding.Field]:
    """Read all observations of a file, or of ``-`` for standard input.

    Raises:
        InputError: If the file cannot be read, a line is not a JSON object, or time runs backwards.
    """
    name = "<stdin>" if source == "-" else Path(source).name
    lines = list(_lines(_text(source), name))
    if not lines:
        raise errors.InputError(source, "no observation; expected one JSON object per line")
    last = -math.inf
    for line in lines:
        moment = line["t"]
        time_s = _number(moment)
        if time_s < last:
            raise moment.refuse(f"must not be before the line above, which has {last}")
        last = time_s
    return lines


def _number(moment: decoding.Field) -> float:
    value = moment.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise moment.refuse("expected a time in seconds")
    return float(value)


def _text(source: str) -> str:
    if source == "-":
        return sys.stdin.read()
    try:
        return Path(source).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise errors.InputError(source, "no such file") from None
    except (OSError, UnicodeDecodeError) as err:
        raise errors.InputError(source, f"cannot be read: {err}") from err


def _lines(text: str, name: str) -> Iterator[decoding.Field]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        place = f"{name}: line {number}"
        try:
            value = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as err:
            reason = err.msg if isinstance(err, json.JSONDecodeError) else "nested too deeply"
            raise errors.InputError(place, f"broken JSON: {reason}") from err
        entry = decoding.Field(value, place)
        if not isinstance(value, dict):
            raise entry.refuse("expected an object with t, currentReplicas and metrics")
        yield entry
