"""Time series out of files, mended by stated rules or refused with the place."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from kubestow.model import errors
from kubestow.sources.traces import series


def write(folder: Path, text: str, name: str = "s.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "times",
    [
        ["0", "60", "120"],
        ["1700000000", "1700000060", "1700000120"],
        ["1700000000.5", "1700000060.5", "1700000120.5"],
        ["2024-01-01T00:00:00", "2024-01-01T00:01:00", "2024-01-01T00:02:00"],
        ["2024-01-01 00:00:00", "2024-01-01 00:01:00", "2024-01-01 00:02:00"],
        ["2024-01-01T00:00:00Z", "2024-01-01T00:01:00Z", "2024-01-01T00:02:00Z"],
        ["2024-01-01T00:00:00+02:00", "2024-01-01T00:01:00+02:00", "2024-01-01T00:02:00+02:00"],
    ],
    ids=["small", "epoch", "fractions", "iso", "space", "zulu", "offset"],
)
def test_times_are_iso_or_seconds(tmp_path: Path, times: list[str]) -> None:
    rows = "".join(f"{time},{value}\n" for value, time in enumerate(times))
    result = series.read_series(write(tmp_path, "timestamp,value\n" + rows))
    assert result.times_s.tolist() == [0.0, 60.0, 120.0]
    assert result.values.tolist() == [0.0, 1.0, 2.0]
    assert (result.step_s, result.gaps, result.duplicates) == (60.0, 0, 0)


def test_rows_are_brought_in_order_and_duplicates_are_averaged(tmp_path: Path) -> None:
    result = series.read_series(write(tmp_path, "timestamp,value\n120,7\n0,1\n60,2\n60,4\n180,1\n"))
    assert result.times_s.tolist() == [0.0, 60.0, 120.0, 180.0]
    assert result.values.tolist() == [1.0, 3.0, 7.0, 1.0]
    assert result.duplicates == 1


def test_gaps_and_holes_are_counted(tmp_path: Path) -> None:
    # 120 has no value, and from 180 to 360 two steps are missing
    text = "timestamp,value\n0,1\n30,1\n60,1\n90,1\n120,\n150,3\n360,2\n"
    result = series.read_series(write(tmp_path, text))
    assert result.step_s == 30.0
    assert result.gaps == 3  # the hole, the 60 s it leaves, and the 210 s before the last
    assert len(result.values) == 6


def test_a_column_is_chosen_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, "web,timestamp,db\n1,0,10\n2,60,20\n")
    assert series.read_series(path).name == "web"
    assert series.read_series(path, "db").values.tolist() == [10.0, 20.0]


def test_parquet_holds_the_same(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    pl.DataFrame({"timestamp": [0, 30], "value": [1.5, 2.5]}).write_parquet(path)
    assert series.read_series(path).values.tolist() == [1.5, 2.5]


def test_a_single_row_has_no_step(tmp_path: Path) -> None:
    result = series.read_series(write(tmp_path, "timestamp,value\n5,3\n"))
    assert (result.step_s, result.times_s.tolist(), result.gaps) == (0.0, [0.0], 0)


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("time,value\n0,1\n", None, "has no column 'timestamp'; found time, value"),
        ("timestamp,value\n0,1\n", "cpu", "has no column 'cpu'; expected one of value"),
        ("timestamp\n0\n", None, "has no column ''; expected one of "),
        ("timestamp,value\nsoon,1\n", None, "'soon': expected ISO 8601 or seconds since the epoch"),
        ("timestamp,value\n0,many\n", None, "row 1: 'many': expected a number"),
        ("timestamp,value\n0,1\n60,few\n", None, "row 2: 'few': expected a number"),
        ("timestamp,value\n0,1\nsoon,1\n", None, "'0': expected ISO 8601"),
        ("timestamp,value\n0,\n", None, "has no values"),
        ("timestamp,value\n", None, "has no values"),
        ("timestamp,value\ntrue,1\n", None, "Boolean: expected ISO 8601"),
        ("", None, "is not a table"),
    ],
    ids=[
        "no times",
        "no such column",
        "only times",
        "bad time",
        "text",
        "text in the middle",
        "mixed times",
        "empty",
        "only a head",
        "truth as time",
        "nothing",
    ],
)
def test_what_is_no_series_is_refused(
    tmp_path: Path, text: str, column: str | None, problem: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(errors.InputError) as caught:
        series.read_series(path, column)
    assert str(caught.value).startswith(str(path))
    assert problem in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.InputError, match="no such file"):
        series.read_series(tmp_path / "nowhere.csv")
