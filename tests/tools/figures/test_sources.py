"""How sources compute with fields, and how values are compared with printed numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.figures import sources


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
        ("positives(rows.*.cost - 6)", 1.0),  # of 8 - 6, 2 - 6, 6 - 6
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
