"""Every number in the README and the documentation is what its results file says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import figures

PAGES = figures.checked_pages()


def listed() -> dict[str, list[str]]:
    content: dict[str, list[str]] = json.loads(figures.LIST.read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("page", PAGES, ids=figures.name_of)
def test_every_number_of_a_page_is_what_its_source_says(page: Path) -> None:
    name = figures.name_of(page)
    found = figures.problems(name, page.read_text(encoding="utf-8"), listed().get(name, []))
    assert list(found) == []


def test_the_list_has_the_pages_that_exist() -> None:
    assert list(listed()) == [figures.name_of(page) for page in PAGES]


def test_the_list_has_one_entry_per_line() -> None:
    text = figures.LIST.read_text(encoding="utf-8")
    entries = sum(len(page) for page in listed().values())
    assert text.count("\n  ") == entries
