"""Rows at any times brought to equal steps, with what was mended counted."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from kubestow.model import errors, time_series
from kubestow.sources.traces import grids, series

NAN = float("nan")


def make(
    times: list[float], *columns: list[float], step_s: float | None = None
) -> time_series.TimeGrid:
    names = tuple("abc"[: len(columns)])
    return grids.make("here", names, np.array(times), np.array(columns), step_s)


def test_equal_steps_stay_as_they_are() -> None:
    result = make([100.0, 160.0, 220.0], [1.0, 2.0, 3.0])
    assert (result.start_s, result.step_s) == (100.0, 60.0)
    assert result.values.tolist() == [[1.0, 2.0, 3.0]]
    assert result.times_s().tolist() == [100.0, 160.0, 220.0]
    assert result.mended == time_series.Mended(0, 0, 0)


def test_rows_belong_to_the_nearest_step() -> None:
    result = make([0.0, 58.0, 123.0, 180.0, 240.0], [1.0, 2.0, 3.0, 4.0, 5.0])
    # distances 58, 65, 57, 60: the median is 59 s
    assert result.step_s == 59.0
    assert result.values.tolist() == [[1.0, 2.0, 3.0, 4.0, 5.0]]


def test_a_gap_repeats_the_last_value_before_it() -> None:
    result = make([0.0, 60.0, 120.0, 300.0, 360.0], [1.0, 2.0, 3.0, 9.0, 8.0])
    assert result.values.tolist() == [[1.0, 2.0, 3.0, 3.0, 3.0, 9.0, 8.0]]
    assert result.mended == time_series.Mended(gaps=1, filled=2, merged=0)


def test_each_column_has_gaps_of_its_own() -> None:
    result = make([0.0, 60.0, 120.0, 180.0], [NAN, 2.0, NAN, 4.0], [5.0, 6.0, 7.0, NAN])
    # a begins late and has a hole, b ends early
    assert result.values.tolist() == [[2.0, 2.0, 2.0, 4.0], [5.0, 6.0, 7.0, 7.0]]
    assert result.mended == time_series.Mended(gaps=3, filled=3, merged=0)


def test_rows_of_one_step_are_averaged_and_counted() -> None:
    result = make([0.0, 60.0, 60.0, 120.0, 180.0], [1.0, 2.0, 4.0, 5.0, 6.0])
    assert result.values.tolist() == [[1.0, 3.0, 5.0, 6.0]]
    assert result.mended.merged == 1


def test_longer_steps_are_means_over_what_lies_in_them() -> None:
    result = make([0.0, 60.0, 120.0, 180.0, 240.0], [1.0, 2.0, 3.0, 4.0, 5.0], step_s=120.0)
    assert result.values.tolist() == [[1.5, 3.5, 5.0]]
    assert result.mended == time_series.Mended(0, 0, 0)


def test_order_does_not_matter() -> None:
    assert make([120.0, 0.0, 60.0], [3.0, 1.0, 2.0]).values.tolist() == [[1.0, 2.0, 3.0]]


@pytest.mark.parametrize(
    ("times", "column", "problem"),
    [
        ([5.0], [1.0], "1 rows; expected at least two times"),
        ([5.0, 5.0], [1.0, 2.0], "2 rows; expected at least two times"),
        ([0.0, 60.0], [NAN, NAN], "here: a: has no values"),
        ([0.0, 1.0, 2.0, 1.7e9], [1.0] * 4, "4 rows make 1700000001 steps of 1 s"),
    ],
    ids=["one row", "one time", "no values", "misread times"],
)
def test_what_makes_no_grid_is_refused(
    times: list[float], column: list[float], problem: str
) -> None:
    with pytest.raises(errors.InputError, match=problem):
        make(times, column)


def test_coarser_grids_cut_off_the_rest() -> None:
    grid = make([0.0, 60.0, 120.0, 180.0, 240.0], [1.0, 3.0, 5.0, 9.0, 5.0])
    coarse = grid.coarsen(2)
    assert (coarse.step_s, coarse.values.tolist()) == (120.0, [[2.0, 7.0]])


def test_series_are_picked_by_name() -> None:
    grid = make([0.0, 60.0], [1.0, 2.0], [3.0, 4.0])
    assert grid.pick(("b", "a")).values.tolist() == [[3.0, 4.0], [1.0, 2.0]]


def test_several_columns_of_a_packed_file_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s.csv.gz"
    text = "timestamp,web,db\n2024-01-01T00:00:00Z,1,10\n2024-01-01T00:01:00Z,2,\n"
    path.write_bytes(gzip.compress(text.encode()))
    result = series.read_grid(path)
    assert result.names == ("web", "db")
    assert result.values.tolist() == [[1.0, 2.0], [10.0, 10.0]]
    assert result.start_s == 1704067200.0
    assert series.read_grid(path, ("db",)).names == ("db",)
    assert series.read_series(path, "db").values.tolist() == [10.0]


def test_a_missing_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("timestamp,web\n0,1\n60,2\n", encoding="utf-8")
    with pytest.raises(errors.InputError, match="has no column 'db'; expected one of web"):
        series.read_grid(path, ("web", "db"))
    with pytest.raises(errors.InputError, match="has no column 'ts'; found timestamp, web"):
        series.read_grid(path, times="ts")
    assert series.first_column(path) == "web"
