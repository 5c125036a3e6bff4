"""Computes what a source says about a number.

A source is the name of a folder under ``docs/evidence`` (``live``, or ``live/recorded.json`` for
another file than ``results.json``; recorded answers of Kubernetes as
``tests/data/hpa_1_37/random_syncs_1_*.jsonl.gz``) and an expression over fields of that file:

- ``summary.cells``: steps are keys, or positions in a list; ``[a key. with dots]`` is a key, too.
- ``rows[way=hpa; n>10].mean``: the entries of a list that meet all conditions. A condition compares
  a field of the entry: ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, or ``~`` for "contains",
  ``!~`` for "does not".
- ``rows.*.mean``: of all entries.
- ``rows.0.found.2``: the third number of a text.
- ``max(rows.*.mean)``: also ``min``, ``sum``, ``mean``, ``gmean``, ``median``, ``zeros`` (how many
  are 0), ``positives`` (how many are above 0), ``count`` (of entries) and ``distinct`` (of
  different ones).
- ``100 - rows.0.share * 100``: computed with ``+ - * /``, also within a function, entry by entry:
  ``max(rows.*.high / rows.*.low)``.

To compare files, name all: ``docs/evidence/live/*.json`` is a list of them, sorted by name.
"""

from __future__ import annotations

import gzip
import json
import math
import operator
import re
import statistics
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final

from tools.figures.pages import NUMBER, ROOT

EVIDENCE: Final = ROOT / "docs" / "evidence"
_OUTSIDE: Final = r"(?![^\[]*\])(?![^(]*\))"
_OPERATOR: Final = re.compile(r" ([-+*/]) " + _OUTSIDE)
_STEP: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_CONDITION: Final = re.compile(r"(.+?)(<=|>=|!=|!~|=|<|>|~)(.*)")
_CALL: Final = re.compile(r"(\w+)\((.+)\)")
_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_FUNCTIONS: Final[dict[str, Callable[[Sequence[float]], float]]] = {
    "min": min, "max": max, "sum": math.fsum, "mean": statistics.fmean,
    "gmean": statistics.geometric_mean, "median": statistics.median,
    "zeros": lambda values: list(values).count(0.0),
    "positives": lambda values: sum(value > 0.0 for value in values),
}  # fmt: skip
_COUNTS: Final[dict[str, Callable[[list[Any]], int]]] = {
    "count": len, "distinct": lambda found: len({json.dumps(one) for one in found}),
}  # fmt: skip


@cache
def read_results(name: str) -> Any:
    """Return a results file by the name that sources use; of several, a list."""
    if "*" in name:
        return [_read(path) for path in sorted(ROOT.glob(name))]
    if name.startswith("tests/"):
        return _read(ROOT / name)
    return _read(EVIDENCE / (name if name.endswith(".json") else f"{name}/results.json"))


def _read(path: Path) -> Any:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    if ".jsonl" in path.suffixes:
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


@cache
def evaluate(source: str) -> float:
    """Return the number a source says.

    Raises:
        ValueError: There is no such file or field, or it is no single number.
    """
    folder, _, expression = source.partition(" ")
    try:
        (value,) = compute(read_results(folder), expression)
    except (OSError, LookupError, TypeError, ValueError, ZeroDivisionError) as error:
        raise ValueError(f"{source}: {error}") from error
    return value


def compute(results: Any, expression: str) -> list[float]:
    """Return the values of an expression, one per entry."""
    words = _OPERATOR.split(expression)
    columns = [_operand(results, word) for word in words[::2]]
    rows = max(map(len, columns))
    if any(len(column) not in {1, rows} for column in columns):
        raise ValueError(f"{expression!r} joins lists of different lengths")
    return [_total([c[k % len(c)] for c in columns], words[1::2]) for k in range(rows)]


def _operand(results: Any, word: str) -> list[float]:
    if NUMBER.fullmatch(word):
        return [float(word)]
    call = _CALL.fullmatch(word)
    if call is None:
        return [_number(value, word) for value in select(results, word)]
    if call[1] in _COUNTS:
        return [_COUNTS[call[1]](select(results, call[2]))]
    return [_FUNCTIONS[call[1]](compute(results, call[2]))]


def _number(value: Any, word: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{word!r} is no number: {str(value)[:60]}")
    return float(value)


def _total(values: list[float], operators: list[str]) -> float:
    terms = values[:1]
    for sign, value in zip(operators, values[1:], strict=True):
        if sign == "*":
            terms[-1] *= value
        elif sign == "/":
            terms[-1] /= value
        else:
            terms.append(value if sign == "+" else -value)
    return math.fsum(terms)


def select(value: Any, path: str) -> list[Any]:
    """Return the fields at a path.

    Raises:
        LookupError: There is no such field.
    """
    reached = [value]
    for step in _steps(path):
        reached = [found for one in reached for found in _entries(one, step)]
    if not reached:
        raise LookupError(f"no entry at {path!r}")
    return reached


@cache
def _steps(path: str) -> tuple[str, ...]:
    return tuple(inner or plain for inner, plain in _STEP.findall(path))


def _entries(value: Any, step: str) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values()) if step == "*" else [value[step]]
    if isinstance(value, str):
        return [float(NUMBER.findall(value)[int(step)].replace(",", ""))]
    if not isinstance(value, list):
        raise LookupError(f"no field {step!r} of {value!r}")
    if step == "*":
        return value
    if step.isdigit():
        return [value[int(step)]]
    for condition in step.split("; "):
        value = _filtered(value, condition)
    return list(value)


def _filtered(entries: list[Any], condition: str) -> list[Any]:
    parts = _CONDITION.fullmatch(condition)
    if parts is None:
        raise LookupError(f"{condition!r} is no condition")
    field, sign, expected = parts.groups()
    return [entry for entry in entries if _meets(entry, field, sign, expected)]


def _meets(entry: Any, field: str, sign: str, expected: str) -> bool:
    try:
        (value,) = select(entry, field)
    except LookupError:
        return False
    if sign in _COMPARISONS:
        return value is not None and _COMPARISONS[sign](value, float(expected))
    found = expected in str(value) if sign.endswith("~") else str(value) == expected
    return found != sign.startswith("!")


def is_printed_as(value: float, text: str) -> bool:
    """Return whether a value, rounded to as many digits, is printed like this."""
    printed = Decimal(text.replace(",", ""))
    unit = 10.0 ** int(printed.as_tuple().exponent)
    # Half a unit of the last digit, either way: 0.125 may be printed as 0.12 or as 0.13.
    return abs(value - float(printed)) <= 0.5 * unit * (1.0 + 1e-9)
