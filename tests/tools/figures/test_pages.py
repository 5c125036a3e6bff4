"""Which numbers of a page are figures."""

from __future__ import annotations

import pytest

from tools.figures import pages


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
