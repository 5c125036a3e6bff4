"""Brings the list of a page up to date and proposes sources for new numbers."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Final

from tools.figures.checking import problem_of
from tools.figures.pages import NUMBER, Figure, figures
from tools.figures.sources import EVIDENCE, read_results

# Texts of a record that say what it is about; longer ones are explanations.
_NAME_LENGTH: Final = 60


@dataclass(frozen=True, slots=True)
class _Leaf:
    source: str
    value: float
    words: frozenset[str]


def update(name: str, text: str, entries: list[str]) -> list[str]:
    """Return the list of a page: entries that still hold, and proposals for new numbers."""
    present = figures(text)
    known = _aligned(entries, [one.text for one in present])
    return [_entry(name, one, entry) for one, entry in zip(present, known, strict=True)]


def _entry(name: str, figure: Figure, known: str) -> str:
    if known and not problem_of(name, known):
        return known
    source = propose(name, figure) or known.partition(" = ")[2] or "unknown"
    return f"{figure.text} ? {source}"


def _aligned(entries: list[str], texts: list[str]) -> list[str]:
    """Return the old entry of each number.

    A number that replaces another takes over its field, which then has to say the new number.
    Constants are not taken over: nothing would check them.
    """
    result = [""] * len(texts)
    before = [entry.split(" ")[0] for entry in entries]
    matcher = difflib.SequenceMatcher(None, before, texts, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal" or (tag == "replace" and end - start == new_end - new_start):
            for old, new in zip(range(start, end), range(new_start, new_end), strict=True):
                source = entries[old].partition(" ")[2]
                if tag == "equal" or source.startswith("= "):
                    result[new] = f"{texts[new]} {source}"
    return result


def propose(name: str, figure: Figure) -> str:
    """Return a likely source: of the fields with this value, that with most words in common.

    Returns:
        An empty text if no field has this value.
    """
    words = _words(figure.context)
    found = [
        (len(words & leaf.words), -len(leaf.words), f"{leaf.source}{suffix}")
        for label in _labels(name, figure)
        for key, digits, suffix in _keys(Decimal(figure.text.replace(",", "")))
        for leaf in _index(label, digits).get(key, [])
    ]
    return max(found, default=(0, 0, ""))[2]


def _labels(name: str, figure: Figure) -> Iterator[str]:
    for path in sorted(EVIDENCE.glob("*/*.json")):
        folder = path.parent.name
        if f"/{folder}/" in name or folder in figure.context:
            yield folder if path.name == "results.json" else f"{folder}/{path.name}"


def _keys(printed: Decimal) -> Iterator[tuple[float, int, str]]:
    """Yield what may be printed so, with its digits and factor: the number, and the share."""
    digits = -int(printed.as_tuple().exponent)
    yield float(printed), digits, ""
    yield round(float(printed) / 100.0, digits + 2), digits + 2, " * 100"


@cache
def _index(label: str, digits: int) -> dict[float, list[_Leaf]]:
    """Return the numbers of a results file by their value to so many digits."""
    result: dict[float, list[_Leaf]] = {}
    for leaf in _leaves(label):
        result.setdefault(round(leaf.value, digits), []).append(leaf)
    return result


@cache
def _leaves(label: str) -> list[_Leaf]:
    return list(_walk(read_results(label), label + " ", frozenset()))


def _walk(value: Any, source: str, words: frozenset[str]) -> Iterator[_Leaf]:
    if isinstance(value, dict):
        texts = [one for one in value.values() if isinstance(one, str) and len(one) < _NAME_LENGTH]
        about = words.union(*(_words(one) for one in texts))
        for key, entry in value.items():
            yield from _walk(entry, _joined(source, key), about | _words(key))
    elif isinstance(value, list):
        for position, entry in enumerate(value):
            yield from _walk(entry, _joined(source, str(position)), words)
    elif isinstance(value, str):
        for position, number in enumerate(NUMBER.findall(value)):
            yield _Leaf(f"{source}.{position}", float(number.replace(",", "")), words)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield _Leaf(source, float(value), words)


def _joined(source: str, key: str) -> str:
    if "." in key:
        return f"{source}[{key}]"
    return source + key if source.endswith(" ") else f"{source}.{key}"


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z][a-z0-9]+", text.lower().replace("_", " ")))
