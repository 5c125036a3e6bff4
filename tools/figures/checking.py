"""Compares the numbers of a page with their sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tools.figures.pages import Figure, figures
from tools.figures.sources import EVIDENCE, evaluate, is_printed_as

LIST: Final = EVIDENCE / "figures.json"


def constants(name: str) -> tuple[str, ...]:
    """Return what a number of a page may be instead of a result."""
    recorded = ("recorded",) if name.endswith("/decisions.md") else ()
    return ("setting", "published", *recorded)


def problems(name: str, text: str, entries: list[str]) -> Iterator[str]:
    """Yield what is wrong with a page: numbers without a source, and sources that say otherwise."""
    present = figures(text)
    if [entry.split(" ")[0] for entry in entries] != [one.text for one in present]:
        yield f"{name}{_first_difference(present, entries)}; run 'python -m tools.figures'"
        return
    for one, entry in zip(present, entries, strict=True):
        problem = problem_of(name, entry)
        if problem:
            yield f"{name}:{one.line}: {problem}"


def _first_difference(present: list[Figure], entries: list[str]) -> str:
    for one, entry in zip(present, entries, strict=False):
        if one.text != entry.split(" ")[0]:
            return f":{one.line}: {one.text}, but the list has {entry!r}"
    return f": {len(present)} numbers, but the list has {len(entries)}"


def problem_of(name: str, entry: str) -> str:
    """Return what is wrong with a number and its source; an empty text if nothing is."""
    text, kind, source = [*entry.split(" ", 2), "", ""][:3]
    if kind == ":" and source in constants(name):
        return ""
    if kind != "=":
        return f"{text} has no source: {source or 'nothing'}"
    try:
        value = evaluate(source)
    except ValueError as error:
        return f"{text}: {error}"
    return "" if is_printed_as(value, text) else f"{text}, but {source} is {value}"
