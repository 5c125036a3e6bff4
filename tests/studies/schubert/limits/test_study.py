"""The study end to end: made-up times for its measured part, a small cluster for the other."""

import pathlib
from typing import Any

import pytest

from kubestow.reports import figures
from kubestow.studies import registry
from kubestow.studies.options import StudyOptions
from kubestow.studies.schubert.limits import drain, measurements, page
from kubestow.studies.schubert.limits import study as schubert_limits
from kubestow.studies.schubert.limits.measurements import (
    LimitRecord,
    LoadBlock,
    Machine,
    MeasurementPlan,
)
from tests.studies.schubert.limits.test_drain import small_scenario

Report = tuple[pathlib.Path, dict[str, Any]]


def ignore(_done: float, _total: float, _label: str) -> None:
    """Watch nothing."""


def make_up(plan: MeasurementPlan, _machine: Machine, block: LoadBlock, key: str) -> LimitRecord:
    """Return times that grow with the load, instead of loading the machine."""
    values = [0.1 * (1.0 + block.level / 100.0) + 0.001 * n for n in range(block.repeats)]
    return LimitRecord(
        key, values, block.level / 100.0, 1.0, int(block.level * 2**26), 2**33, "now"
    )


def run_in(folder: pathlib.Path, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    small = small_scenario()
    patch.setattr(drain, "read_scenario", lambda: small)
    settings = (
        drain.LIGHT,
        drain.DrainSetting("usual", 12),
        drain.DrainSetting("maintenance", 12, parallel=2),
    )
    patch.setattr(schubert_limits, "_SETTINGS", settings)
    patch.setattr(measurements, "measure", make_up)
    return schubert_limits.run(StudyOptions(folder, quick=True, lists=6), ignore)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    out = tmp_path_factory.mktemp("limits")
    with pytest.MonkeyPatch.context() as patch:
        return out, run_in(out, patch)


def test_every_row_has_a_verdict_and_a_rule_that_is_written_out(report: Report) -> None:
    rows = report[1]["rows"]
    assert {row["part"] for row in rows} == {"measured", "simulated"}
    assert {row["experiment"] for row in rows} == {"E10", "E11", "E12"}
    assert {row["verdict"] for row in rows} <= {"reproduced", "not reproduced"}
    assert {row["rule"] for row in rows} <= set(report[1]["rules"])
    for row in rows:
        assert {"statement", "thesis", "mean", "interval", "n"} <= set(row)
    assert len(report[1]["statements"]) == len(rows)


def test_the_simulated_part_is_the_same_bytes_every_time(
    report: Report, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_in(tmp_path, monkeypatch)
    first, second = (folder / "simulated.json" for folder in (report[0], tmp_path))
    assert first.read_bytes() == second.read_bytes()
    assert b"machine" not in first.read_bytes()


def test_all_values_are_in_the_results(report: Report) -> None:
    levels = report[1]["measured"]["levels"]
    assert {len(level["values_s"]) for level in levels} == {6}
    assert {level["level_percent"] for level in levels if level["kind"] == "cpu"} == {0, 100}


def test_the_page_opens_offline(report: Report) -> None:
    page = (report[0] / "report.html").read_text()
    # Two box plots, histograms and scatter of one setting, waiting.
    assert page.count('drawChart("#chart-') == 5
    assert "<script src" not in page
    assert "<link" not in page


def test_figures_can_be_drawn(report: Report) -> None:
    simulated, levels = report[1]["simulated"], report[1]["measured"]["levels"]
    charts = (
        page.box_chart([row for row in levels if row["kind"] == "cpu"], "cpu"),
        page.histogram_chart([row for row in simulated["histograms"] if row["setting"] == "usual"]),
        page.scatter_chart([row for row in simulated["nodes"] if row["setting"] == "usual"]),
        page.waiting_chart(simulated["runs"]),
    )
    for chart in charts:
        assert figures.render_png(chart.to_dict(), scale=0.5).startswith(b"\x89PNG")


def test_the_full_study_measures_sixty_times_at_all_levels(tmp_path: pathlib.Path) -> None:
    plan = schubert_limits.make_plan(StudyOptions(tmp_path))
    assert plan.repeats == 60
    assert {0, 20, 85, 98, 100} <= set(plan.cpu_levels)
    assert plan.task_bytes == 2**30
    assert plan.number == 141464683
    assert schubert_limits.make_plan(StudyOptions(tmp_path, lists=24)).repeats == 24
    tasks = schubert_limits.make_tasks(StudyOptions(tmp_path))
    assert len({task.seed for task in tasks}) >= 10
    assert {task.profile for task in tasks} >= {
        "kube-scheduler",
        "schubert-85",
        "schubert-85-fixed",
    }


def test_the_study_is_known_by_name() -> None:
    assert registry.get("schubert-limits").run is schubert_limits.run


def test_a_machine_without_groups_says_so() -> None:
    machine = Machine(2, 2**33, 2**33, "read-only file system")
    assert "not measured: read-only" in schubert_limits.describe_groups(machine)
