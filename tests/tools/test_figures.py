"""How numbers are found on pages and compared with results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.figures import checking, pages, proposals, sources

PAGE = "docs/evidence/demo/README.md"
RESULTS: dict[str, Any] = {
    "seeds": [1, 2, 3, 4],
    "rows": [
        {"way": "hpa", "startup_s": 1.0, "cost": 8.0, "misses": 0, "found": "x 1.00 (0.90 to 1.1)"},
        {"way": "auto", "startup_s": 1.0, "cost": 2.0, "misses": 3, "found": "-21 % (-1,234 to 5)"},
        {"way": "hpa, old", "startup_s": 135.0, "cost": 6.0, "misses": 0, "spread": 0.5},
    ],
    "with. dots": {"all nodes": 0.125},
    "name": "no number",
}


@pytest.fixture
def evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "results.json").write_text(json.dumps(RESULTS))
    caches = (sources.read_results, sources.evaluate, proposals._index, proposals._leaves)
    for cached in caches:
        cached.cache_clear()
    for module in (sources, proposals):
        monkeypatch.setattr(module, "EVIDENCE", tmp_path)
    yield tmp_path
    for cached in caches:
        cached.cache_clear()


def texts(page: str) -> list[str]:
    return [figure.text for figure in pages.figures(page)]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("x 0.13 (0.11 to 0.15), +4.2 % and -0.3.", ["0.13", "0.11", "0.15", "+4.2", "-0.3"]),
        ("9,040 runs of 1, 3 or 5 %", ["9,040", "1", "3", "5"]),
        ("an error of 4e-12, between 2-7 %", ["4e-12", "2", "7"]),
        ("**1.02*** and 60.", ["1.02", "60"]),
        ("| way | p95 |\n|---|---|\n| auto | 2.42 s |", ["2.42"]),
        ("k8s-most, schubert-85, google2011_vms, 1.37.1, 3dc12dd, 98415e8, p95, 10m", []),
        ("Kubernetes 1.29 to 1.37, Shi 2023, 16 November 2026, 2026-11-16, 95 % interval", []),
        ("`0.5` [a](page-2.md#3) <!-- 7 -->\n\n    run --seed 1\n\n```\n8\n```\n", []),
        ("1. first\n2. second", []),
    ],
)
def test_numbers_of_a_page_are_figures_unless_they_are_names_dates_or_code(
    page: str, expected: list[str]
) -> None:
    assert texts(page) == expected


def test_a_figure_knows_its_line_its_row_and_the_heading_of_its_column() -> None:
    page = "# Title\n\n| way | cost | late |\n|---|---|---|\n| auto | 2 | 7 |\n"
    cost, late = pages.figures(page)
    assert (cost.text, cost.line) == ("2", 5)
    assert cost.context.split("|")[0].strip() == "cost"
    assert late.context.startswith(" late ")


def test_generated_pages_and_tutorials_are_left_out() -> None:
    names = [pages.name_of(page) for page in pages.checked_pages()]
    assert "README.md" in names
    assert "docs/evidence/README.md" in names
    assert not any(name.startswith(("docs/reference/", "docs/tutorial/")) for name in names)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("seeds.0", 1.0),
        ("rows[way=auto].cost", 2.0),
        ("rows[way=hpa, old; startup_s=135.0].cost", 6.0),
        ("rows[way!=hpa; way!~old].cost", 2.0),
        ("rows[way~old].cost", 6.0),
        ("rows[spread>0].spread", 0.5),  # entries without the field do not meet a condition
        ("[with. dots].all nodes", 0.125),
        ("rows.0.found.1", 0.9),  # numbers of the text: 1.00, 0.90, 1.1
        ("rows.1.found.1", -1234.0),
        ("count(rows[misses=0])", 2.0),
        ("count(rows[cost<=6])", 2.0),
        ("distinct(rows.*.startup_s)", 2.0),
        ("zeros(rows.*.misses)", 2.0),
        ("min(rows.*.cost)", 2.0),
        ("max(rows.*.cost)", 8.0),
        ("sum(seeds.*)", 10.0),  # 1 + 2 + 3 + 4
        ("mean(seeds.*)", 2.5),  # 10 / 4
        ("median(rows.*.cost)", 6.0),
        ("gmean(rows[startup_s=1.0].cost)", 4.0),  # sqrt(8 * 2)
        ("100 - rows.1.cost / rows.0.cost * 100", 75.0),  # 100 - 2 / 8 * 100
        ("rows.0.cost - 2 + 1", 7.0),  # from left to right: (8 - 2) + 1
        ("max(rows.*.cost / rows.0.cost)", 1.0),  # of 8 / 8, 2 / 8, 6 / 8
        ("count(rows.*) * count(seeds.*)", 12.0),  # 3 * 4
    ],
)
def test_sources_compute_with_fields(evidence: Path, expression: str, expected: float) -> None:
    assert sources.evaluate(f"demo {expression}") == pytest.approx(expected)


@pytest.mark.parametrize(
    "source",
    [
        "nowhere rows.0.cost",
        "demo rows.0.price",
        "demo rows[way=vpa].cost",
        "demo rows.7.cost",
        "demo rows.*.cost",  # three numbers
        "demo rows.0.found.3",  # the text has three numbers
        "demo name",
        "demo rows.0.cost / rows.0.misses",
        "demo rows.*.cost + seeds.*",
        "demo rows[way].cost",
        "demo range(rows.*.cost)",
    ],
)
def test_sources_that_are_no_single_number_are_refused(evidence: Path, source: str) -> None:
    with pytest.raises(ValueError, match=r"^(demo|nowhere) "):
        sources.evaluate(source)


def test_recorded_answers_of_the_tests_are_sources_too() -> None:
    recorded = "tests/data/hpa_1_37/random_syncs"
    assert sources.evaluate(f"{recorded}.jsonl.gz count(*)") == 320
    assert sources.evaluate(f"{recorded}_1_*.jsonl.gz count(*.*)") == 6 * 50


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        (0.1249, "0.12", True),
        (0.1251, "0.12", False),  # rounds to 0.13
        (0.125, "0.12", True),  # half a unit: programs round it either way
        (0.125, "0.13", True),
        (7632.009, "7632", True),
        (7632.6, "7632", False),
        (0.5, "0.50", True),
        (0.497, "0.5", True),
        (0.497, "0.50", True),
        (0.4949, "0.50", False),
        (9040.0, "9,040", True),
        (-0.2949, "-0.29", True),
        (0.2949, "-0.29", False),
        (3.83e-12, "4e-12", True),
        (3.4e-12, "4e-12", False),
    ],
)
def test_a_value_is_compared_to_the_digits_that_are_printed(
    value: float, text: str, expected: bool
) -> None:
    assert sources.is_printed_as(value, text) is expected


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
    changed = json.dumps(RESULTS).replace('"cost": 2.0', '"cost": 2.3')
    (evidence / "demo" / "results.json").write_text(changed)
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
    assert "python -m tools.figures" in problem


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


def test_an_update_keeps_what_holds_and_proposes_the_rest(evidence: Path) -> None:
    page = "| way | startup_s | cost |\n|---|---|---|\n| auto | 9.5 | 2.0 |\n| hpa | 7 | 8.0 |\n"
    old = ["2.0 = demo rows[way=auto].cost", "7 : setting"]
    assert proposals.update(PAGE, page, old) == [
        "9.5 ? unknown",
        "2.0 = demo rows[way=auto].cost",
        "7 : setting",
        "8.0 ? demo rows.0.cost",
    ]


def test_an_update_gives_a_number_that_changed_with_its_results_its_source(evidence: Path) -> None:
    old = ["1.7 = demo rows[way=auto].cost", "4 = demo count(seeds.*)"]
    updated = proposals.update(PAGE, "It costs 2.0 with 4 seeds.", old)
    assert updated == ["2.0 = demo rows[way=auto].cost", "4 = demo count(seeds.*)"]


def test_an_update_does_not_call_a_new_number_a_setting(evidence: Path) -> None:
    (entry,) = proposals.update(PAGE, "It costs 3.25.", ["1.7 : setting"])
    assert entry == "3.25 ? unknown"


def test_an_update_does_not_keep_a_source_that_says_otherwise(evidence: Path) -> None:
    (entry,) = proposals.update(PAGE, "It costs 3.25.", ["1.7 = demo rows[way=auto].cost"])
    assert entry == "3.25 ? unknown"


def test_a_share_is_proposed_for_a_percentage(evidence: Path) -> None:
    (entry,) = proposals.update(PAGE, "12.5 % of all nodes", [])
    assert entry == "12.5 ? demo [with. dots].all nodes * 100"
