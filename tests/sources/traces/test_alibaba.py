"""``container_usage`` tables: eleven columns, invalid samples out, gaps repeated."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kubestow.model import errors
from kubestow.sources.traces import alibaba


def line(container: str, time_s: float | str, cpu: float | str, memory: float | str) -> str:
    return f"{container},m_1,{time_s},{cpu},{memory},1.1,0.2,3.0,0.4,0.5,6.0"


def write(path: Path, lines: list[str]) -> Path:
    text = "\n".join(lines) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def test_the_schema_has_eleven_columns() -> None:
    assert len(alibaba.ALIBABA_COLUMNS) == 11
    assert set(alibaba.MEASURES) <= set(alibaba.ALIBABA_COLUMNS)


@pytest.mark.parametrize("name", ["usage.csv", "usage.csv.gz"], ids=["plain", "packed"])
def test_containers_are_told_apart(tmp_path: Path, name: str) -> None:
    rows = [line("c_2", 10, 5, 50), line("c_1", 10, 7, 70), line("c_2", 20, 6, 51)]
    result = alibaba.read(write(tmp_path / name, [*rows, line("c_1", 20, 8, 71)]))
    assert list(result) == ["c_2", "c_1"]  # in the order of the file
    assert result["c_2"].names == ("cpu_util_percent", "mem_util_percent")
    assert result["c_2"].values.tolist() == [[5.0, 6.0], [50.0, 51.0]]
    assert result["c_1"].values.tolist() == [[7.0, 8.0], [70.0, 71.0]]
    assert (result["c_1"].start_s, result["c_1"].step_s) == (10.0, 10.0)


@pytest.mark.parametrize("mark", [-1, 101, "", "NaN"], ids=["-1", "101", "empty", "nan"])
def test_samples_marked_invalid_repeat_the_last_value(tmp_path: Path, mark: float | str) -> None:
    rows = [line("c", 0, 10, 1), line("c", 10, mark, 2), line("c", 20, 30, mark)]
    result = alibaba.read(write(tmp_path / "u.csv", rows))["c"]
    assert result.values.tolist() == [[10.0, 10.0, 30.0], [1.0, 2.0, 2.0]]
    assert (result.mended.gaps, result.mended.filled) == (2, 2)


def test_both_ends_of_the_range_are_valid(tmp_path: Path) -> None:
    rows = [line("c", 0, 0, 100), line("c", 10, 100, 0)]
    result = alibaba.read(write(tmp_path / "u.csv", rows))["c"]
    assert result.values.tolist() == [[0.0, 100.0], [100.0, 0.0]]
    assert result.mended.filled == 0


def test_rows_that_are_missing_are_gaps(tmp_path: Path) -> None:
    rows = [line("c", t, t, t) for t in (0, 10, 20, 50)]
    result = alibaba.read(write(tmp_path / "u.csv", rows))["c"]
    # The next value does not leak into the past.
    assert result.values[0].tolist() == [0.0, 10.0, 20.0, 20.0, 20.0, 50.0]
    assert (result.mended.gaps, result.mended.filled) == (2, 4)  # one stretch in each of two series


def test_steps_can_be_asked_for(tmp_path: Path) -> None:
    rows = [line("c", 10 * k, k, k) for k in range(6)]
    result = alibaba.read(write(tmp_path / "u.csv", rows), step_s=30.0)["c"]
    assert result.values[0].tolist() == [1.0, 4.0]  # means of 0 1 2 and of 3 4 5


def test_another_number_of_columns_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "u.csv", ["c,m,0,1,2"])
    with pytest.raises(errors.InputError, match=r"u\.csv: has 5 columns; expected 11"):
        alibaba.read(path)


@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "u.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(errors.InputError, match="is not a table"):
        alibaba.read(path)


def test_a_container_without_a_valid_sample_is_refused(tmp_path: Path) -> None:
    rows = [line("c_9", 0, 101, 1), line("c_9", 10, -1, 2)]
    with pytest.raises(errors.InputError, match="c_9: cpu_util_percent: has no values"):
        alibaba.read(write(tmp_path / "u.csv", rows))
