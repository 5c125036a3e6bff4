"""Cells are kept, reused when they fit, and the same wherever they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kubestow.simulation import run as simulation_run
from kubestow.workflows.comparing import cells as comparing_cells
from kubestow.workflows.comparing import engines, grid
from tests.studies import scenarios


def ignore(_done: float, _total: float, _label: str) -> None:
    """Watch nothing."""


def make_tasks(
    folder: Path, seeds: int = 2, changes: Sequence[str] = ()
) -> list[comparing_cells.CellTask]:
    path = scenarios.write(folder)
    sweep = grid.plan_grid(path, [scenarios.TARGETS], seeds=seeds, changes=changes)
    return comparing_cells.make_tasks(sweep)


def run(
    tasks: list[comparing_cells.CellTask], kept: Path | None, jobs: int = 1
) -> list[comparing_cells.CellRecord]:
    return comparing_cells.run_cells(tasks, kept, engines.run_local, jobs, ignore)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of all runs that were really computed."""
    seen: list[int] = []
    real = simulation_run.run

    def count(*arguments: object, **named: object) -> object:
        seen.append(arguments[2])  # type: ignore[arg-type]
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(simulation_run, "run", count)
    return seen


def test_cells_come_variant_by_variant_with_common_seeds(
    tmp_path: Path, counted: list[int]
) -> None:
    records = run(make_tasks(tmp_path), None)
    assert counted == [3, 4, 3, 4]
    result = [
        (r.measures["policies"]["scaling"]["target"]["cpu"], r.measures["seed"]) for r in records
    ]
    assert result == [(0.5, 3), (0.5, 4), (0.8, 3), (0.8, 4)]


def test_a_cell_is_what_simulate_tells(tmp_path: Path) -> None:
    (record, *_) = run(make_tasks(tmp_path, seeds=1), None)
    sweep = grid.plan_grid(scenarios.write(tmp_path), [scenarios.TARGETS])
    loaded = sweep.variants[0].loaded
    outcome = simulation_run.run(loaded.scenario, loaded.inputs, 3)
    assert record.measures == outcome.measures


def test_common_random_numbers_give_all_variants_the_same_demand(tmp_path: Path) -> None:
    first, second = run(make_tasks(tmp_path, seeds=1), None)
    assert first.series["demand"] == second.series["demand"]
    assert first.series["ready"] != second.series["ready"]


def test_a_second_run_computes_nothing(tmp_path: Path, counted: list[int]) -> None:
    before = run(make_tasks(tmp_path), tmp_path / "cells")
    counted.clear()
    after = run(make_tasks(tmp_path), tmp_path / "cells")
    assert counted == []
    assert after == before


def test_only_what_is_missing_is_computed(tmp_path: Path, counted: list[int]) -> None:
    run(make_tasks(tmp_path, seeds=1), tmp_path / "cells")
    counted.clear()
    run(make_tasks(tmp_path, seeds=2), tmp_path / "cells")
    assert counted == [4, 4]


def test_an_interruption_keeps_finished_cells(tmp_path: Path, counted: list[int]) -> None:
    def interrupt(done: float, _total: float, _label: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    tasks = make_tasks(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        comparing_cells.run_cells(tasks, tmp_path / "cells", engines.run_local, 1, interrupt)
    assert counted == [3, 4, 3]
    counted.clear()
    resumed = run(tasks, tmp_path / "cells")
    assert counted == [4]
    assert resumed == run(tasks, None)


def test_a_damaged_or_foreign_file_is_computed_again(tmp_path: Path, counted: list[int]) -> None:
    tasks = make_tasks(tmp_path)
    cells = tmp_path / "cells"
    before = run(tasks, cells)
    torn, foreign = (cells / comparing_cells.make_part(task).file for task in tasks[:2])
    torn.write_bytes(torn.read_bytes()[:100])
    foreign.write_bytes(foreign.read_bytes().replace(tasks[1].key.encode(), b"0" * 64))
    counted.clear()
    assert run(tasks, cells) == before
    assert counted == [3, 4]


@pytest.mark.parametrize(
    "changes",
    [["duration=10m"], ["seed=9"], ["policies.placing.profile=most-allocated"]],
    ids=["duration", "seed", "profile"],
)
def test_other_scenarios_have_other_digests(tmp_path: Path, changes: list[str]) -> None:
    before = {task.key for task in make_tasks(tmp_path)}
    assert len(before) == 4
    assert not before & {task.key for task in make_tasks(tmp_path, changes=changes)}


def test_the_digest_reads_the_files_a_scenario_refers_to(tmp_path: Path) -> None:
    changes = ["workloads[0].demand={pattern: trace, trace: load.csv}"]
    keys = []
    for top in (20, 30, 20):
        (tmp_path / "load.csv").write_text(f"timestamp,value\n0,10\n60,{top}\n120,15\n")
        keys.append(make_tasks(tmp_path, changes=changes)[0].key)
    assert keys[0] == keys[2] != keys[1]


def test_the_digest_knows_format_and_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = make_tasks(tmp_path)[0].key
    monkeypatch.setattr(comparing_cells, "FORMAT", comparing_cells.FORMAT + 1)
    assert make_tasks(tmp_path)[0].key != before


def test_two_processes_write_the_same_bytes_as_one(tmp_path: Path) -> None:
    tasks = make_tasks(tmp_path)
    one, two = tmp_path / "one", tmp_path / "two"
    assert run(tasks, one, jobs=1) == run(tasks, two, jobs=2)
    contents = [{p.name: p.read_bytes() for p in folder.iterdir()} for folder in (one, two)]
    assert len(contents[0]) == 4
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("recording", "times"),
    [("60s", [60.0 * minute for minute in range(1, 21)]), ("15s", None), ("5m", [300.0, 600.0])],
)
def test_time_lines_have_one_row_per_minute_or_per_look(
    tmp_path: Path, recording: str, times: list[float] | None
) -> None:
    result = run(make_tasks(tmp_path, 1, [f"recording.workloads={recording}"]), None)[0].series
    expected = times or [60.0 * minute for minute in range(1, 21)]
    assert result["time_s"][: len(expected)] == expected


def test_finer_looks_do_not_change_the_means_of_a_minute(tmp_path: Path) -> None:
    coarse = run(make_tasks(tmp_path, 1, ["recording.workloads=60s"]), None)[0]
    fine = run(make_tasks(tmp_path, 1, ["recording.workloads=15s"]), None)[0]
    # Rates and response times are means of the minute whatever the looks.
    for name in ("demand", "used_cpu", "response_s", "missed"):
        assert comparing_cells.column(fine, name) == pytest.approx(
            comparing_cells.column(coarse, name), rel=1e-5, abs=1e-9
        )
    # The ERU of services leaves the database out: 200m of use, 500m of request.
    eru = comparing_cells.column(coarse, "eru_cpu")
    used, asked = (comparing_cells.column(coarse, n) for n in ("used_cpu", "requested_cpu"))
    assert eru == pytest.approx((used - 0.2) / (asked - 0.5), rel=1e-4)


def test_progress_ends_at_the_number_of_cells(tmp_path: Path) -> None:
    seen: list[tuple[float, float, str]] = []
    tasks = make_tasks(tmp_path)
    comparing_cells.run_cells(tasks, None, engines.run_local, 1, lambda *what: seen.append(what))
    assert [done for done, *_ in seen] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert seen[-1] == (4.0, 4.0, "0.8, seed 4")
