"""The report of the recommend command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kubestow.model import usage
from kubestow.reports import recommendation_page
from kubestow.workflows import recommending
from kubestow.workflows.recommending import pipeline
from kubestow.workflows.recommending import totals as recommending_totals
from kubestow.workflows.recommending.totals import Severity
from tests.reports import browsers
from tests.workflows.recommending.scenes import MIB, advice, amounts, facts, key, steady, table


@pytest.fixture(scope="module")
def result() -> pipeline.RecommendResult:
    rng = np.random.default_rng(2)
    pods = {}
    for number in range(15):
        cpu, memory = steady(3, 0.05 * (number + 1), 50.0 * (number + 1))
        pods[key(f"app-{number:02}")] = [(cpu * rng.lognormal(0.0, 0.2, len(cpu)), memory)]
    known = {of: facts("1", "1Gi") for of in pods}
    silent = key("silent")
    pods[silent] = [(np.full(3 * 288, np.nan), np.full(3 * 288, np.nan))]
    inventory = usage.Inventory(known, nodes={"n1": amounts("4", "16Gi")})
    return pipeline.recommend(table(pods), inventory, pipeline.RecommendRequest("percentile"))


def make_page(result: pipeline.RecommendResult) -> str:
    totals = recommending_totals.add_up(result.recommendations, result.inventory)
    return recommendation_page.make_page(result, totals)


def test_the_page_has_every_part(result: pipeline.RecommendResult) -> None:
    page = make_page(result)
    assert "<title>Recommended requests</title>" in page
    for heading in (
        "Requests and usage, before and after", "Waste by namespace",
        "The most urgent containers", "All recommendations",
    ):  # fmt: skip
        assert f"<h2>{heading}</h2>" in page
    assert len(re.findall(r'<figure><div id="chart-', page)) == 3
    # Fifteen pods of one core on nodes of four, and one that requests nothing.
    assert "Packed, they need 4 nodes now" in page
    assert "shop/Deployment/app-00/app" in page
    assert not re.search(r"<(script|link)[^>]*(src|href)=", page)  # nothing to fetch


@browsers.needs_browser
def test_the_page_opens_offline(result: pipeline.RecommendResult, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(make_page(result), encoding="utf-8")
    shown = browsers.open_page(path, tmp_path / "profile")
    assert len(re.findall(r'<svg[^>]*class="marks"', shown)) == 3
    for mark in ("mark-line", "mark-rule", "mark-rect", "mark-symbol"):
        assert mark in shown
    assert "Infinity" not in shown


def test_a_page_without_any_advice_is_a_page(result: pipeline.RecommendResult) -> None:
    none = pipeline.RecommendResult(
        "auto", (), ("nothing is as urgent",), (), result.inventory, result.table
    )
    page = make_page(none)
    assert "0 containers" in page
    assert "nothing is as urgent" in page


def rows_of(chart: dict[str, Any], part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows behind a part of a chart."""
    rows: list[dict[str, Any]] = chart["datasets"][part["data"]["name"]]
    return rows


def test_points_lie_where_use_and_request_are() -> None:
    one = advice(
        key("web"), facts("500m", "1Gi"), {"cpu": 250, "memory": 512 * MIB},
        cpu_p95_cores=0.2, peak_bytes=256.0 * MIB,
    )  # fmt: skip
    chart = recommendation_page.scatter_chart([one]).to_dict()
    points = [rows_of(chart, layer) for part in chart["hconcat"] for layer in part["layer"]]
    assert [(row["when"], row["used"], row["requested"]) for row in points[1]] == [
        ("now", 0.2, 0.5), ("recommended", 0.2, 0.25),
    ]  # fmt: skip
    assert [(row["when"], row["used"], row["requested"]) for row in points[3]] == [
        ("now", 0.25, 1.0), ("recommended", 0.25, 0.5),
    ]  # fmt: skip
    assert points[0] == [{"x": 0.2, "y": 0.2}, {"x": 0.5, "y": 0.5}]


def test_waste_is_added_over_all_pods_of_a_namespace() -> None:
    one = advice(
        key("web"), facts("500m", "1Gi"), {"cpu": 250, "memory": 512 * MIB}, replicas=4,
        cpu_mean_cores=0.1, memory_mean_bytes=128.0 * MIB,
    )  # fmt: skip
    chart = recommendation_page.namespace_chart([one, one]).to_dict()
    rows = {
        (place, row["part"]): row["amount"]
        for place, part in enumerate(chart["hconcat"])
        for row in rows_of(chart, part)
    }
    assert rows == {
        (0, "requested"): 4.0, (0, "used"): pytest.approx(0.8), (0, "recommended"): 2.0,
        (1, "requested"): 8.0, (1, "used"): 1.0, (1, "recommended"): 4.0,
    }  # fmt: skip


def test_the_most_urgent_comes_first_and_of_equals_the_larger_change() -> None:
    actual = [
        advice(key("a"), facts("1", "1Gi"), {"cpu": 1000, "memory": 1024 * MIB}),
        advice(key("b"), facts("1", "1Gi"), {"cpu": 1000, "memory": 400 * MIB}),
        advice(key("c"), facts("1", "1Gi"), {"cpu": 1000, "memory": 300 * MIB}),
        advice(key("d"), facts("1", "1Gi"), {"cpu": 1000, "memory": 1024 * MIB}, oom_kills=1),
    ]
    severities = [recommending_totals.severity(one) for one in actual]
    assert severities == [Severity.NONE, Severity.HIGH, Severity.HIGH, Severity.CRITICAL]
    assert recommending.most_urgent(actual, 3) == [3, 2, 1]


def test_shares_are_written_in_percent() -> None:
    assert [recommending.say_share(share) for share in (None, 0.0, 0.256)] == [
        "-", "0 %", "26 %",
    ]  # fmt: skip
