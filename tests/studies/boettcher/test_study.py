"""The study end to end with few seeds, its printed tables, its replay and its rules."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

from kubestow.reports import figures
from kubestow.studies import registry
from kubestow.studies.boettcher import (
    closed_loop,
    measures,
    rule_comparison,
    runs,
    table_replays,
    tables,
    variants,
)
from kubestow.studies.boettcher import page as boettcher_page
from kubestow.studies.boettcher import rows as boettcher_rows
from kubestow.studies.boettcher import study as boettcher
from kubestow.studies.boettcher.runs import RunRequest, RunScene
from kubestow.studies.options import StudyOptions
from kubestow.workflows import scenario_files

Report = tuple[pathlib.Path, dict[str, Any]]
CONTAINERS = tables.CONTAINERS


def ignore(_done: float, _total: float, _label: str) -> None:
    """Watch nothing."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    out = tmp_path_factory.mktemp("boettcher")
    return out, registry.get("boettcher-requests").run(StudyOptions(out, quick=True), ignore)


def test_the_printed_tables_have_the_sums_of_the_digest() -> None:
    # Böttcher 2023, 5.4 and 5.5.
    assert sum(c.memory_new_mb for c in CONTAINERS) == 75_200
    assert sum(c.memory_request_mb for c in CONTAINERS) == 67_753
    assert sum(c.memory_limit_mb for c in CONTAINERS) == 104_326
    assert sum(c.memory_max_mb for c in CONTAINERS) == 67_395
    assert sum(c.cpu_new_m for c in CONTAINERS) == 10_860
    assert sum(c.cpu_average_m for c in CONTAINERS) == 5_902
    assert (boettcher_rows.LEAST_CORES, boettcher_rows.BEST_MB) == (6.72, 74_688)
    printed = np.array([c.cpu_new_m for c in CONTAINERS])
    assert measures.in_cpu_band(printed).sum() == 16


def test_the_closed_loop_runs_the_example_of_pipelines() -> None:
    example = scenario_files.load("examples/scenarios/pipeline-cluster.yaml")
    made = scenario_files.read(closed_loop.make_scenario(1), "made", pathlib.Path())
    assert made.scenario.spec == example.scenario.spec


def test_the_first_runs_have_the_printed_means() -> None:
    scene = runs.draw(CONTAINERS, 30, 20, 0.05, 3)
    assert scene.memory_peak_mb[:, :20].mean(axis=1) == pytest.approx(
        [c.memory_max_mb for c in CONTAINERS]
    )
    assert scene.cpu_mean_m[:, :20].mean(axis=1) == pytest.approx(
        [c.cpu_average_m for c in CONTAINERS]
    )
    assert (scene.cpu_peak_m >= scene.cpu_mean_m).all()


def test_samples_have_average_and_maximum_of_their_run() -> None:
    scene = runs.draw(CONTAINERS, 4, 4, 0.01, 1)
    cpu, memory = scene.samples()
    assert cpu.mean(axis=2) * 1000.0 == pytest.approx(scene.cpu_mean_m)
    assert cpu.max(axis=2) * 1000.0 == pytest.approx(scene.cpu_peak_m)
    assert memory.max(axis=2) / 1e6 == pytest.approx(scene.memory_peak_mb)


def one(peaks: list[float], start: float) -> RunScene:
    used = np.array([peaks])
    begin = np.array([start])
    return RunScene(("a",), used, used, used, begin, begin, begin)


def test_a_run_beyond_its_limit_is_repeated_until_it_fits() -> None:
    # Limit 500, use 800: killed at 500, at 604.8576 (500 + 100 MiB) and at 725.8 (x 1.2), fits 871.
    scene = one([800.0, 100.0], 500.0)
    never = variants.Fixed(RunRequest(np.array([np.nan]), np.array([np.nan])))
    course = runs.replay(scene, never)
    assert course.kills.tolist() == [[3, 0]]
    assert course.lost_mb[0, 0] == pytest.approx(500.0 + 604.8576 * 2.2)
    # Without an answer the old request and limit stay.
    assert course.limit_mb.tolist() == [[500.0, 500.0]]


def test_only_the_present_run_tells_of_its_kill() -> None:
    scene = one([800.0, 100.0, 100.0], 750.0)
    reported = [
        runs.make_batch(scene, scene.summaries(), run, np.array([killed]))
        for run, killed in enumerate((750.0, 0.0, 0.0))
    ]
    assert [float(batch.oom_killed_bytes[0]) for batch in reported] == [750e6, 0.0, 0.0]
    assert [len(batch.owners) for batch in reported] == [1, 2, 3]
    assert all(batch.runs for batch in reported)


def test_when_a_request_is_down_and_what_it_does_then() -> None:
    printed = table_replays.read_descent(np.array(tables.EVALUATIONS, dtype=float))
    assert (printed.reached, printed.changes) == (7.0, 4)
    assert table_replays.read_descent(np.array([976.0, 640.0])).reached == float("inf")


def test_the_printed_shock_is_missed_once_and_repaired() -> None:
    result = table_replays.read_shock(
        np.array(tables.SHOCK_MAXIMA), np.array(tables.SHOCK_REQUESTS), 0.0
    )
    assert result.missed == (False, True, False, False)
    assert result.repaired


def test_the_rule_by_hand() -> None:
    # All runs use 1000: the rule asks for ceil64(1000 f), which never misses from f = 1 on.
    used = np.full((len(CONTAINERS), measures.RUNS), 1000.0)
    begin = used[:, 0]
    scene = RunScene(("a",) * len(CONTAINERS), used, used, used, begin, begin, begin)
    curve = rule_comparison.draw_curve([scene], 5)
    place = rule_comparison.FACTORS.index(pytest.approx(1.05))
    maxima = np.array([c.memory_max_mb for c in CONTAINERS])
    assert curve[place, 0].tolist() == pytest.approx([(1088.0 / maxima - 1.0).mean(), 0.0])
    assert curve[0, 0, 1] == 1.0  # 0.9 x 1000 goes to 960


def test_every_row_has_a_verdict_and_a_rule_that_is_written_out(report: Report) -> None:
    rows = report[1]["rows"]
    assert {row["verdict"] for row in rows} <= {"reproduced", "beaten", "not reproduced"}
    assert {row["rule"] for row in rows} <= set(report[1]["rules"].values())
    for row in rows:
        assert {"statement", "thesis", "found", "mean", "interval", "n"} <= set(row)
    assert len(report[1]["statements"]) == len(rows)
    judged = {(row["measure"], row["way"]) for row in rows}
    for measure in ("cpu", "cpu band", "in sample", "memory", "coverage", "descent", "shock"):
        assert {variant for one, variant in judged if one == measure} == set(
            boettcher_rows.EVALUATED
        )


@pytest.mark.parametrize("variant", [variants.STRICT, variants.CONVERGING])
def test_agents_reproduce_the_thesis(report: Report, variant: str) -> None:
    mine = [row for row in report[1]["rows"] if row["way"] == variant and row["measure"] != "rival"]
    assert {row["verdict"] for row in mine} <= {"reproduced", "beaten"}


def test_all_ways_are_in_the_tables(report: Report) -> None:
    names = {variant.name for variant in variants.VARIANTS}
    assert {row["way"] for row in report[1]["table"]} == names
    assert len(report[1]["containers"]) == 20
    for row in report[1]["containers"]:
        assert set(row["memory_mb"]) == set(row["cpu_m"]) == names


def test_printed_and_old_requests_stay_what_they_are(report: Report) -> None:
    result = {row["way"]: row for row in report[1]["table"]}
    assert result[variants.THESIS]["memory_mb"]["mean"] == 75_200
    assert result[variants.THESIS]["cpu_in_band"]["mean"] == 16
    assert result[variants.KEEP]["cpu_cores"]["mean"] == 29
    assert result[variants.KEEP]["changes"]["mean"] == 0


def test_results_are_the_same_bytes_every_time(report: Report, tmp_path: pathlib.Path) -> None:
    boettcher.run(StudyOptions(tmp_path, quick=True), ignore)
    assert (tmp_path / "results.json").read_bytes() == (report[0] / "results.json").read_bytes()


def test_the_page_opens_offline_and_its_figures_can_be_drawn(report: Report) -> None:
    page = (report[0] / "report.html").read_text()
    assert "synthetic, calibrated to tables 5.3-5.8" in page
    assert 'src="http' not in page
    reported = report[1]
    for chart in (
        boettcher_page.descent_chart(reported["descents"]),
        boettcher_page.shock_chart(reported["shocks"]),
        boettcher_page.rule_chart(reported["table"], reported["rule_curve"]),
    ):
        assert figures.render_png(chart.to_dict()).startswith(b"\x89PNG")
