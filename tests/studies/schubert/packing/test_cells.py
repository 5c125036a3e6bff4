"""Cells are kept, reused when they fit, and do not depend on threads."""

import pathlib
import threading

import numpy as np
import pytest

from kubestow.policies.placing.packing import heuristics
from kubestow.studies.schubert.packing import cells, demands


def ignore(_done: float, _total: float, _label: str) -> None:
    """Watch nothing."""


def make_tasks(lists: int = 3, seed: int = 5) -> list[cells.PackingTask]:
    return [
        cells.PackingTask(
            demands.DemandSetting("uniform", d, 3.0), ("first-fit", "adaptive"), lists, seed
        )
        for d in (2, 3, 4)
    ]


def test_results_come_in_the_order_of_tasks_whatever_the_number_of_threads() -> None:
    one = cells.run_cells(make_tasks(), None, 1, ignore)
    three = cells.run_cells(make_tasks(), None, 3, ignore)
    assert [result.task.setting.dimensions for result in three] == [2, 3, 4]
    for left, right in zip(one, three, strict=True):
        for name in left.counts:
            assert np.array_equal(left.counts[name], right.counts[name])


def test_counts_are_those_of_the_heuristic_on_the_lists_of_the_setting() -> None:
    (first, *_) = cells.run_cells(make_tasks(), None, 1, ignore)
    lists = demands.draw(demands.DemandSetting("uniform", 2, 3.0), 3, 5, 0)
    expected = heuristics.count_nodes(lists, heuristics.HEURISTICS.get("first-fit"))
    assert first.counts["first-fit"].tolist() == expected.tolist()


def test_progress_ends_at_the_total_number_of_placements() -> None:
    seen: list[tuple[float, float]] = []
    cells.run_cells(make_tasks(), None, 2, lambda done, total, _: seen.append((done, total)))
    # 300 pods, 3 lists, 2 heuristics, 3 cells
    assert seen[-1] == (5400.0, 5400.0)
    assert len(seen) == 1 + 3  # cells on disk, then every cell


def test_finished_cells_are_read_and_not_computed_again(tmp_path: pathlib.Path) -> None:
    cells.run_cells(make_tasks(), tmp_path, 1, ignore)
    path = next(tmp_path.glob("uniform-d2*.json"))
    text = path.read_text()
    start = text.index("[") + 1
    path.write_text(text[:start] + "1" + text[start:])  # the first count becomes 1xxx
    again = cells.run_cells(make_tasks(), tmp_path, 1, ignore)
    assert again[0].counts["first-fit"][0] > 1000


@pytest.mark.parametrize("other", [make_tasks(lists=4), make_tasks(seed=6)], ids=["lists", "seed"])
def test_cells_of_other_parameters_are_not_reused(
    tmp_path: pathlib.Path, other: list[cells.PackingTask]
) -> None:
    cells.run_cells(make_tasks(), tmp_path, 1, ignore)
    fresh = cells.run_cells(other, None, 1, ignore)
    kept = cells.run_cells(other, tmp_path, 1, ignore)
    assert len(list(tmp_path.iterdir())) == 6
    for left, right in zip(fresh, kept, strict=True):
        assert np.array_equal(left.counts["adaptive"], right.counts["adaptive"])


def test_a_damaged_file_is_computed_again(tmp_path: pathlib.Path) -> None:
    before = cells.run_cells(make_tasks(), tmp_path, 1, ignore)
    path = next(tmp_path.glob("uniform-d2*.json"))
    path.write_text(path.read_text()[:40])
    after = cells.run_cells(make_tasks(), tmp_path, 1, ignore)
    assert np.array_equal(before[0].counts["adaptive"], after[0].counts["adaptive"])


def test_an_interruption_keeps_finished_cells(tmp_path: pathlib.Path) -> None:
    def interrupt(done: float, _total: float, _label: str) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cells.run_cells(make_tasks(), tmp_path, 1, interrupt)
    assert 1 <= len(list(tmp_path.iterdir())) <= 3


def test_a_stopped_cell_ends_without_a_record() -> None:
    stop = threading.Event()
    stop.set()
    with pytest.raises(cells.StoppedError):
        cells.compute(make_tasks()[0], stop)


def test_timings_count_all_placements() -> None:
    timings = cells.timings(cells.run_cells(make_tasks(), None, 1, ignore))
    assert timings["placements"] == 5400
    assert isinstance(timings["by_heuristic"], dict)
    assert set(timings["by_heuristic"]) == {"first-fit", "adaptive"}
