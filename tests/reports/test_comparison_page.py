"""The report of a comparison: charts, tables, and what a browser makes of them."""

from __future__ import annotations

import dataclasses
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from kubestow.reports import comparison_charts, comparison_page, figures
from kubestow.workflows import comparing
from kubestow.workflows.comparing import comparison, measures
from tests.reports import browsers
from tests.studies import scenarios
from tests.workflows.comparing import made_comparisons


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> comparison.Comparison:
    varied = ["policies.scaling.target.cpu=0.4,0.6,0.9"]
    return scenarios.compare(tmp_path_factory.mktemp("pages"), 3, varied=varied)


@pytest.fixture(scope="module")
def page(result: comparison.Comparison) -> str:
    return comparison_page.make_page(result)


def test_the_page_has_every_part(page: str) -> None:
    assert "<title>Comparison of tiny</title>" in page
    for heading in ("Cost against quality", "Measures", "Differences from the baseline"):
        assert f"<h2>{heading}</h2>" in page
    assert len(re.findall(r'<figure><div id="chart-', page)) == 3
    assert "0.9 minus 0.4" in page
    assert "seeds 3 to 5" in page
    assert not re.search(r"<(script|link)[^>]*(src|href)=", page)  # nothing to fetch


def test_cells_show_mean_and_interval(result: comparison.Comparison, page: str) -> None:
    one = result.results[2]
    summary = one.summary["pod_hours"]
    assert summary.half_width is not None
    text = f"{summary.mean:.1f} ± {summary.half_width:.1f}"
    assert comparison_page.interval_text(one, measures.POD_HOURS) == text
    assert f">{text}</td>" in page


def test_what_is_the_same_everywhere_is_one_sentence(page: str) -> None:
    assert "The same in all runs: cost 1, node hours 1, " in page


@browsers.needs_browser
def test_the_page_opens_offline(page: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    shown = browsers.open_page(path, tmp_path / "profile")
    assert len(re.findall(r'<svg[^>]*class="marks"', shown)) == 3
    assert "mark-line" in shown
    assert "mark-symbol" in shown
    assert "late or lost" in shown


def test_charts_can_be_drawn_without_a_browser(result: comparison.Comparison) -> None:
    for chart in (
        comparison_charts.pareto_chart(result),
        comparison_charts.dot_chart(result, measures.MEASURES[:9]),
        comparison_charts.timeline_chart(result, result.results),
    ):
        image = figures.render_png(chart.to_dict(), scale=1.0)
        assert image.startswith(b"\x89PNG")
        assert len(image) > 5000


def points(chart: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for rows in chart["datasets"].values() for row in rows if "label_y" in row]


def test_labels_of_close_points_do_not_cover_each_other(result: comparison.Comparison) -> None:
    twins = [
        dataclasses.replace(result.results[1], label=f"twin number {number}") for number in range(4)
    ]
    crowded = dataclasses.replace(result, results=(*result.results, *twins))
    chart = comparison_charts.pareto_chart(crowded).to_dict()
    rows = {row["label"]: row for row in points(chart)}
    layer = chart["layer"][0]["encoding"]["y"]["scale"]["domain"]
    line = (layer[1] - layer[0]) / 360 * 13  # 13 pixels of 360
    heights = sorted(rows[twin.label]["label_y"] for twin in twins)
    gaps = [after - before for before, after in itertools.pairwise(heights)]
    assert min(gaps) >= 0.999 * line


def test_at_most_seven_lines_are_drawn_and_the_baseline_is_one_of_them(
    result: comparison.Comparison,
) -> None:
    many = [dataclasses.replace(result.results[1], label=f"v{n}", pareto=False) for n in range(9)]
    wide = dataclasses.replace(result, results=(*many, *result.results))
    shown = [one.label for one in comparison_charts.drawn(wide)]
    assert len(shown) == len(figures.PALETTE)
    assert result.baseline in shown
    assert all(one.label in shown for one in result.results if one.pareto)
    assert comparison_charts.colours(wide)[result.baseline] == figures.INK
    assert "5 variants are left out" in comparison_page.make_page(wide)


def test_one_seed_says_that_nothing_was_tested(tmp_path: Path) -> None:
    text = comparison_page.make_page(scenarios.compare(tmp_path, 1))
    assert "no intervals, no tests" in text
    assert "interval over minutes of one run" in text


def test_values_that_are_printed_alike_are_not_coloured() -> None:
    # Worse by 0.001 ms in every seed, which the table does not show, beside 10 ms, which it does.
    slightly, clearly = [0.050001, 0.0500011, 0.0500012], [0.060, 0.0601, 0.0602]
    usual = {"response.p95": [0.05] * 3, "response.mean": [0.05] * 3}
    other = {"response.p95": slightly, "response.mean": clearly}
    made = made_comparisons.make({"a": usual, "b": other}, seeds=3)
    one = made.results[1]
    assert comparing.differs_from_baseline(one.against["response.p95"])
    assert comparison_page._mark(one, measures.RESPONSE_P95) is None
    assert comparison_page._mark(one, measures.RESPONSE) == "bad"
