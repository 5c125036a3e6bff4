"""What is a problem of a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.figures import checking, sources

PAGE = "docs/evidence/demo/README.md"


def found(page: str, *entries: str, name: str = PAGE) -> list[str]:
    return list(checking.problems(name, page, list(entries)))


def test_a_page_that_says_what_its_results_say_has_no_problem(evidence: Path) -> None:
    entries = ("2.0 = demo rows[way=auto].cost", "4 : setting", "0.52 : published")
    assert found("`auto` costs 2.0 with 4 seeds (thesis: 0.52).", *entries) == []


def test_a_number_that_differs_from_its_source_is_a_problem(evidence: Path) -> None:
    (problem,) = found("\nIt costs 2.1.", "2.1 = demo rows[way=auto].cost")
    assert problem == f"{PAGE}:2: 2.1, but demo rows[way=auto].cost is 2.0"


def test_results_that_changed_are_a_problem(evidence: Path) -> None:
    entry = "2.0 = demo rows[way=auto].cost"
    assert found("It costs 2.0.", entry) == []
    results = evidence / "demo" / "results.json"
    results.write_text(results.read_text().replace('"cost": 2.0', '"cost": 2.3'))
    sources.read_results.cache_clear()
    sources.evaluate.cache_clear()
    assert len(found("It costs 2.0.", entry)) == 1


@pytest.mark.parametrize(
    "page",
    ["It costs 2.0 or 3.", "It costs 2.1.", "It costs.", "3 or 2.0"],
    ids=["added", "changed", "removed", "moved"],
)
def test_numbers_other_than_those_listed_are_a_problem(evidence: Path, page: str) -> None:
    (problem,) = found(page, "2.0 = demo rows[way=auto].cost")
    assert "but the list has" in problem
    assert problem.endswith("run 'python -m tools.figures'")


@pytest.mark.parametrize(
    "entry",
    ["2 = demo rows[way=vpa].cost", "2 ? demo rows.1.cost", "2 : recorded", "2 : guess", "2"],
    ids=["unknown path", "not confirmed", "recorded elsewhere", "no such kind", "nothing"],
)
def test_a_number_without_a_source_is_a_problem(evidence: Path, entry: str) -> None:
    (problem,) = found("It costs 2.", entry)
    assert problem.startswith(f"{PAGE}:1: 2")


def test_only_the_page_of_decisions_records_measurements() -> None:
    name = "docs/background/decisions.md"
    assert found("It took 2 s.", "2 : recorded", name=name) == []
