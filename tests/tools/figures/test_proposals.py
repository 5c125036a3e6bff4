"""How the list of a page follows the page."""

from __future__ import annotations

from pathlib import Path

from tools.figures import proposals

PAGE = "docs/evidence/demo/README.md"


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
    assert entry == "3.25 ? demo rows[way=auto].cost"


def test_a_share_is_proposed_for_a_percentage(evidence: Path) -> None:
    (entry,) = proposals.update(PAGE, "12.5 % of all nodes", [])
    assert entry == "12.5 ? demo [with. dots].all nodes * 100"
