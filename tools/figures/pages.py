"""Finds the numbers of a page, in reading order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
# Not part of a name (`schubert-85`), a path or a version; the second number of "2-7" is one.
NUMBER: Final = re.compile(
    r"(?<![\w./#])(?<![A-Za-z]-)[+-]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]\d+)?(?!\w|\.\d)"
)
# Pages without results of their own: written by programs, or with examples that tests run.
_OTHERS: Final = ("docs/reference/", "docs/tutorial/", "docs/evidence/vector-packing/table.md")
# Numbers that are no figures wherever they stand: dates, years of publications, releases.
_NO_FIGURES: Final = re.compile(
    r"\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November"
    r"|December)(?: \d{4})?\b|\b\d{4}-\d\d-\d\d\b"
    r"|\b(?:Schubert|Böttcher|Boettcher|Lippert|Shi|McNaughton)(?: et al\.)?,? \(?20\d\d\b"
    r"|\b(?:Kubernetes|kube-scheduler|Python|krr|autoscaler|Autoscaler|HPA|VPA)"
    r"(?: of)? \d[\d.]*(?:(?: to |, | and | or )\d[\d.]*)*"
    r"|^ *\d+\. |\b95 % intervals?\b|\b95th\b|\b99th\b"
)
# What is shown as code, and the targets of links.
_CODE: Final = re.compile(
    r"```.*?```|<!--.*?-->|^ {4}[^\n]*$|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number on a page.

    Attributes:
        text: The number as printed.
        line: Its line, 1-based.
        context: The row or line it stands in, with the heading of its column.
    """

    text: str
    line: int
    context: str


def checked_pages() -> list[Path]:
    """Return the pages that are checked."""
    every = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in every if not name_of(page).startswith(_OTHERS)]


def name_of(page: Path) -> str:
    """Return the path of a page from the root."""
    return page.relative_to(ROOT).as_posix()


def figures(text: str) -> list[Figure]:
    """Return the numbers of a page in reading order; code and link targets have none."""
    lines = text.splitlines()
    shown = _CODE.sub(_blank, text).splitlines()
    result: list[Figure] = []
    for at, (line, heads) in enumerate(zip(lines, _table_heads(lines), strict=True)):
        around = line if heads else " ".join(lines[max(at - 2, 0) : at + 2])
        for match in NUMBER.finditer(_NO_FIGURES.sub(_blank, shown[at])):
            column = line[: match.start()].count("|")
            head = heads[column] if column < len(heads) else ""
            result.append(Figure(match.group(), at + 1, f"{head} {around}"))
    return result


def _table_heads(lines: list[str]) -> Iterator[list[str]]:
    """Yield, for each line, the headings of the table it belongs to, or nothing."""
    heads: list[str] = []
    for line in lines:
        heads = (heads or line.split("|")) if line.startswith("|") else []
        yield heads


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())
