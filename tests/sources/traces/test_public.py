"""Public traces in the formats they come in, made small."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from kubestow.model import errors, time_series
from kubestow.sources.traces import public

COUNTS = "# start=1998-04-30T21:30:00 step_s=60 n=3\n2\n11\n7\n"


def pack(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()))
    return path


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "plain"])
def test_counts_with_a_head_line(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / ("rates.txt.gz" if packed else "rates.txt")
    if packed:
        pack(path, COUNTS)
    else:
        path.write_text(COUNTS, encoding="utf-8")
    result = public.read_counts(path)
    assert result.names == ("rates",)
    # 1998-04-30 21:30 UTC
    assert (result.start_s, result.step_s) == (893971800.0, 60.0)
    assert result.values.tolist() == [[2.0, 11.0, 7.0]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("2\n11\n", r"expected '# start=TIME step_s=NUMBER n=NUMBER'"),
        (COUNTS + "4\n", "4 counts; expected n=3"),
        (COUNTS.replace("11", "many"), "expected one count per line"),
    ],
    ids=["no head", "too many", "text"],
)
def test_bad_counts_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(errors.InputError, match=problem):
        public.read_counts(pack(tmp_path / "c.txt.gz", text))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(errors.InputError, match="no such file"):
        public.read_counts(tmp_path / "nowhere.txt.gz")


@pytest.mark.parametrize(
    ("times", "text"),
    [
        ("ts", "ts,value\n1628640000,39.5\n1628640060,40.5\n"),
        ("TimeStamp", 'TimeStamp,value\n"2021-08-11T00:00Z",39.5\n"2021-08-11T00:01Z","40.5"\n'),
        ("date", "date,value\n2021-08-11 00:00:00+00:00,39.5\n2021-08-11 00:01:00+00:00,40.5\n"),
        ("timestamp", "timestamp,value\n2021-08-11 00:00:00,39.5\n2021-08-11 00:01:00,40.5\n"),
    ],
    ids=["crane", "cloud monitoring", "bizitobs", "nab"],
)  # fmt: skip
def test_times_under_any_name(tmp_path: Path, times: str, text: str) -> None:
    result = public.read_table(pack(tmp_path / "t.csv.gz", text), times, ("value",))
    assert result.values.tolist() == [[39.5, 40.5]]
    assert (result.start_s, result.step_s) == (1628640000.0, 60.0)


def test_columns_without_times(tmp_path: Path) -> None:
    path = pack(tmp_path / "a.csv.gz", "cpu,memory\n1.5,80\n2.5,\n3.5,82\n")
    result = public.read_untimed(path, 300.0)
    assert result.names == ("cpu", "memory")
    assert result.values.tolist() == [[1.5, 2.5, 3.5], [80.0, 80.0, 82.0]]
    assert (result.step_s, result.mended.gaps) == (300.0, 1)


def test_requests_are_counted_by_step(tmp_path: Path) -> None:
    stamps = ("18:15:46.6", "18:15:47.1", "18:15:50.9", "18:16:11.0", "18:16:27.0")
    rows = "".join(f"2023-11-16 {stamp},374,44\n" for stamp in stamps)
    path = pack(tmp_path / "r.csv.gz", "TIMESTAMP,ContextTokens,GeneratedTokens\n" + rows)
    result = public.read_arrivals(path, "TIMESTAMP", 10.0)
    # 0, 0.5, 4.3, 24.4, 40.4 s after the first; the last step may be cut short and is left out
    assert result.values.tolist() == [[3.0, 0.0, 1.0, 0.0]]
    with pytest.raises(errors.InputError, match="has no column 'when'"):
        public.read_arrivals(path, "when", 10.0)


def test_days_of_machines(tmp_path: Path) -> None:
    path = tmp_path / "days.npz"
    np.savez(path, d1=np.array([[1, 2], [3, 4]], dtype=np.uint8), d2=np.zeros((1, 2)))
    result = public.read_days(path)
    assert result["d1"].names == ("d1/0", "d1/1")
    assert result["d1"].values.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert result["d2"].step_s == 300.0


def test_a_cube_of_measures(tmp_path: Path) -> None:
    path = tmp_path / "vms.npz"
    data = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    data[1, 1, 1] = np.nan
    np.savez(path, names=np.array(["a", "b"]), data=data)
    assert public.read_cube(path, 0).values.tolist() == [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]]
    memory = public.read_cube(path, 1)
    assert memory.values.tolist() == [[1.0, 3.0, 5.0], [7.0, 7.0, 11.0]]
    assert memory.mended == time_series.Mended(gaps=1, filled=1)


def test_machines_of_unequal_length(tmp_path: Path) -> None:
    path = tmp_path / "series.npz"
    np.savez(
        path,
        vm7_cpu=np.array([150, -1, 250, 300], dtype=np.int32),
        vm7_mem=np.array([10, 20, 30, 40], dtype=np.int32),
        vm7_t0=np.int64(1000),
        vm9_cpu=np.array([-1, -1, -1], dtype=np.int32),
        vm9_mem=np.array([5, 5, 5], dtype=np.int32),
        vm9_t0=np.int64(1000),
    )
    cpu = public.read_machines(path)
    assert cpu.names == ("7", "9")
    assert cpu.values.tolist() == [[1.5, 1.5, 2.5], [0.0, 0.0, 0.0]]  # percent
    assert public.read_machines(path, "mem").values.tolist() == [[10, 20, 30], [5, 5, 5]]
    with pytest.raises(errors.InputError, match="has no array 'vm7_disk'"):
        public.read_machines(path, "disk")


def test_what_is_no_npz_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(errors.InputError, match="is not an npz file"):
        public.read_days(path)
    np.save(tmp_path / "y.npy", np.zeros(3))
    with pytest.raises(errors.InputError, match="is not an npz file"):
        public.read_days(tmp_path / "y.npy")
    np.savez(tmp_path / "z.npz", other=np.zeros(3))
    with pytest.raises(errors.InputError, match="has no array vm<id>_cpu"):
        public.read_machines(tmp_path / "z.npz")
    with pytest.raises(errors.InputError, match="has no array 'names'"):
        public.read_cube(tmp_path / "z.npz", 0)
