"""Rows, summaries, differences and the Pareto front of finished cells."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.workflows.comparing import (
    cells,
    comparison,
    engines,
    grid,
    measures,
    statistics,
    sum_scores,
)
from tests.studies import scenarios


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> comparison.Comparison:
    return scenarios.compare(tmp_path_factory.mktemp("compare"), 4)


def values(one: comparison.ComparisonResult, path: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.array([measures.value_of(record.measures, path) for record in one.records])


def test_the_json_has_the_promised_shape(result: comparison.Comparison) -> None:
    plain = result.as_json()
    assert (plain["scenario"], plain["baseline"], plain["seeds"]) == ("tiny", "0.5", [3, 4, 5, 6])
    first, second = plain["variants"]
    assert first["label"] == "0.5"
    assert second["changes"] == {"policies.scaling.target.cpu": 0.8}
    assert [row["seed"] for row in second["rows"]] == [3, 4, 5, 6]
    assert "wall_seconds" not in second["rows"][0]
    assert set(second["summary"]["response.p95"]) == {"mean", "half_width", "n"}
    assert first["against_baseline"] == {}
    entry = second["against_baseline"]["pod_hours"]
    assert list(entry)[:5] == ["difference", "low", "high", "p", "p_holm"]
    assert plain["pareto"] == [one["label"] for one in plain["variants"] if one["pareto"]]


def test_a_higher_target_needs_fewer_pods_and_answers_slower(
    result: comparison.Comparison,
) -> None:
    against = result.results[1].against
    assert against["pod_hours"]["difference"] < 0.0
    assert against["eru.cpu"]["difference"] > 0.0
    assert against["response.mean"]["difference"] > 0.0


def test_numbers_are_those_of_the_rows(result: comparison.Comparison) -> None:
    base, other = result.results
    seen, before = values(other, "pod_hours"), values(base, "pod_hours")
    assert other.summary["pod_hours"] == statistics.summarise_pairs(seen)
    expected = statistics.compare_pairs(seen, before)
    entry = other.against["pod_hours"]
    assert (entry["difference"], entry["low"], entry["p"]) == (
        expected.difference,
        expected.low,
        expected.p,
    )


def test_all_tests_of_all_variants_are_corrected_together(tmp_path: Path) -> None:
    three = scenarios.compare(tmp_path, 3, varied=["policies.scaling.target.cpu=0.5,0.65,0.8"])
    entries = [entry for one in three.results for entry in one.against.values()]
    ps = [entry["p"] for entry in entries]
    assert [entry["p_holm"] for entry in entries] == statistics.holm(ps)
    # Two variants with every measure and the sum of use and quality; throttling has no value.
    assert len(entries) == 2 * len(measures.MEASURES)
    assert "throttled_ratio" not in three.results[1].against


def test_the_sum_score_is_one_mean_per_seed(result: comparison.Comparison) -> None:
    base, other = result.results
    means = []
    for one, before in zip(other.records, base.records, strict=True):
        runs = [
            sum_scores.Minutes(
                *(cells.column(record, n) for n in ("time_s", "eru_cpu", "response_s"))
            )
            for record in (one, before)
        ]
        means.append(sum_scores.differ_in_sum(*runs).total.mean())
    entry = other.against[comparison.SUM_SCORE]
    expected = statistics.compare_pairs(np.array(means), np.zeros(4))
    assert entry["difference"] == pytest.approx(np.mean(means))
    assert (entry["p"], entry["n"], entry["interval"]) == (expected.p, 4, "seeds")
    assert entry["eru_term"] + entry["response_term"] == pytest.approx(entry["difference"])
    assert "ratio" not in entry


def test_one_seed_has_no_tests_but_a_bootstrap_over_minutes(tmp_path: Path) -> None:
    alone = scenarios.compare(tmp_path, 1).results[1]
    entry = alone.against["pod_hours"]
    assert (entry["low"], entry["p"], entry["p_holm"]) == (None, None, None)
    score = alone.against[comparison.SUM_SCORE]
    assert score["interval"] == "bootstrap over minutes"
    assert score["low"] < score["difference"] < score["high"]
    assert score["p"] is None


def test_another_baseline_turns_differences_around(tmp_path: Path) -> None:
    ahead, back = scenarios.compare(tmp_path, 2), scenarios.compare(tmp_path, 2, baseline="0.8")
    there, here = ahead.results[1].against["pod_hours"], back.results[0].against["pod_hours"]
    assert there["difference"] == pytest.approx(-here["difference"])
    assert back.results[1].against == {}


def test_variants_that_do_nothing_differ_in_nothing(tmp_path: Path) -> None:
    same = scenarios.compare(tmp_path, 2, varied=["metadata.description=one,two"])
    assert {entry["verdict"] for entry in same.results[1].against.values()} == {"equal"}
    assert {entry["p_holm"] for entry in same.results[1].against.values()} == {1.0}
    assert [one.pareto for one in same.results] == [True, True]


def test_without_services_quality_is_pending_time(tmp_path: Path) -> None:
    text = scenarios.TINY.partition("  - name: web")[0] + scenarios.TINY[
        scenarios.TINY.index("  - name: db") :
    ].replace("scaler: hpa, target: {cpu: 0.6}, min: 1, max: 8", "scaler: none")
    path = scenarios.write(tmp_path, text)
    sweep = grid.plan_grid(path, ["cluster.nodes[0].count=2,3"], seeds=2)
    records = cells.run_cells(cells.make_tasks(sweep), None, engines.run_local, 1, lambda *_: None)
    result = comparison.make_comparison(sweep, records)
    assert [axis.path for axis in result.axes] == ["cost", "pending_pod_seconds"]
    assert comparison.SUM_SCORE not in result.results[1].against
    # Two nodes cost two thirds, and nothing is pending in either.
    assert result.as_json()["pareto"] == ["2"]
    # 20 minutes of 1 node at 1 per hour, alike in both seeds.
    entry = result.results[1].against["cost"]
    assert (entry["difference"], entry["verdict"]) == (pytest.approx(1 / 3), "all alike")


def summary(cost: float, late: float) -> dict[str, statistics.PairedSummary]:
    return {
        "cost": statistics.PairedSummary(cost, None, 1),
        "slo_violation_ratio": statistics.PairedSummary(late, None, 1),
    }


AXES = (measures.COST, measures.LATE)


def test_the_front_by_hand() -> None:
    # (2, 2) is beaten by (1, 2) at the same quality; (3, 1) is cheaper than (4, 1).
    points = [(1.0, 2.0), (2.0, 2.0), (3.0, 1.0), (4.0, 1.0), (5.0, 0.0), (5.0, 0.0)]
    result = comparison.pareto([summary(*point) for point in points], AXES)
    assert result == [True, False, True, False, True, True]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_nothing_on_the_front_is_beaten_and_everything_else_is(
    points: list[tuple[int, int]],
) -> None:
    front = comparison.pareto([summary(float(a), float(b)) for a, b in points], AXES)
    assert any(front)
    for (a, b), best in zip(points, front, strict=True):
        beaten = any(c <= a and d <= b and (c, d) != (a, b) for c, d in points)
        assert best != beaten


def test_pod_hours_are_the_cost_of_a_fixed_cluster(result: comparison.Comparison) -> None:
    assert not result.varies(measures.COST)
    assert [axis.path for axis in result.axes] == ["pod_hours", "slo_violation_ratio"]


def test_the_csv_is_long_and_whole(result: comparison.Comparison) -> None:
    rows = list(csv.DictReader(io.StringIO(result.as_csv())))
    chosen = [row for row in rows if row["measure"] == "pod_hours" and row["variant"] == "0.8"]
    assert [row["seed"] for row in chosen] == ["3", "4", "5", "6"]
    assert [float(row["value"]) for row in chosen] == values(
        result.results[1], "pod_hours"
    ).tolist()
    assert {row["policies.scaling.target.cpu"] for row in rows} == {"0.5", "0.8"}
