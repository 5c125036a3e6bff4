"""Usage out of files: what is read, what is mended, what is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.model.keys import ContainerKey
from kubestow.sources.usage import files
from tests.sources.usage_folders import BEGIN_S, HEADER, MIB, STEP_S, row, write

NAN = float("nan")
WEB = ContainerKey("shop", "Deployment", "web", "app")
# Three steps of web-0 and two of web-1, which came later.
ROWS = (
    row(0, 0.1, 100 * MIB),
    row(1, 0.2, 200 * MIB),
    row(2, 0.3, 150 * MIB),
    row(1, 0.4, 50 * MIB, pod="web-1"),
    row(2, 0.5, 60 * MIB, pod="web-1"),
)
CPU = [[0.1, 0.2, 0.3], [NAN, 0.4, 0.5]]
MEMORY = [[100 * MIB, 200 * MIB, 150 * MIB], [NAN, 50 * MIB, 60 * MIB]]


def as_csv(folder: Path) -> None:
    write(folder, ROWS)


def as_packed_csv(folder: Path) -> None:
    text = "\n".join([HEADER, *ROWS, ""])
    (folder / "usage.csv.gz").write_bytes(gzip.compress(text.encode()))


def as_parquet(folder: Path) -> None:
    text = "\n".join([HEADER, *ROWS, ""])
    pl.read_csv(text.encode()).write_parquet(folder / "usage.parquet")


def as_dates(folder: Path) -> None:
    times = ("08:53:20", "08:58:20", "09:03:20", "08:58:20", "09:03:20")
    rows = [
        f"2025-10-09T{at}Z,{line.partition(',')[2]}" for at, line in zip(times, ROWS, strict=True)
    ]
    write(folder, rows)


def in_disorder(folder: Path) -> None:
    write(folder, [ROWS[k] for k in (4, 2, 0, 3, 1)])


def with_duplicates(folder: Path) -> None:
    # The larger of two rows of one time counts, for CPU and memory apart.
    write(folder, (*ROWS, row(1, 0.15, 199 * MIB), row(2, 0.01, 1 * MIB, pod="web-1")))


@pytest.mark.parametrize(
    "make", [as_csv, as_packed_csv, as_parquet, as_dates, in_disorder, with_duplicates]
)
def test_usage_is_put_on_one_grid(make: object, tmp_path: Path) -> None:
    assert callable(make)
    make(tmp_path)
    table = files.read_usage_files(tmp_path)
    assert table.containers == (WEB,)
    assert table.pods == ("web-0", "web-1")
    assert table.owners.tolist() == [0, 0]
    assert (table.step_s, table.end_s) == (STEP_S, BEGIN_S + 2 * STEP_S)
    np.testing.assert_array_equal(table.cpu_cores, CPU)
    np.testing.assert_array_equal(table.memory_bytes, MEMORY)
    assert np.isnan(table.throttled).all()
    assert table.oom_kills.tolist() == [0.0]
    assert table.notes == ()


def test_containers_stand_in_order_and_pods_below_them(tmp_path: Path) -> None:
    rows = [
        row(0, 1, MIB, pod="b", key="z,Job,b"),
        row(0, 2, MIB, pod="c", key="a,Pod,c", container="side"),
        row(0, 3, MIB, pod="c", key="a,Pod,c", container="app"),
        row(0, 4, MIB, pod="a", key="z,Job,b"),
    ]
    table = files.read_usage_files(write(tmp_path, rows))
    assert [str(key) for key in table.containers] == ["a/Pod/c/app", "a/Pod/c/side", "z/Job/b/app"]
    assert table.pods == ("c", "c", "a", "b")
    assert table.owners.tolist() == [0, 1, 2, 2]
    assert table.cpu_cores[:, 0].tolist() == [3.0, 2.0, 4.0, 1.0]


def test_a_longer_step_takes_the_largest_of_its_rows(tmp_path: Path) -> None:
    rows = [row(n, cpu, (n + 1) * MIB) for n, cpu in enumerate((5, 1, 2, 9, 3))]
    table = files.read_usage_files(write(tmp_path, rows), step_s=2 * STEP_S)
    # From the end: {4, 3}, {2, 1}, {0}.
    assert table.cpu_cores.tolist() == [[5.0, 2.0, 9.0]]
    assert table.memory_bytes.tolist() == [[MIB, 3 * MIB, 5 * MIB]]


def test_gaps_stay_gaps(tmp_path: Path) -> None:
    table = files.read_usage_files(write(tmp_path, [row(n, n, MIB) for n in (0, 1, 2, 5)]))
    np.testing.assert_array_equal(table.cpu_cores, [[0, 1, 2, NAN, NAN, 5]])


def test_history_counts_back_from_the_last_row(tmp_path: Path) -> None:
    folder = write(tmp_path, [row(n, n, MIB) for n in range(10)])
    table = files.read_usage_files(folder, history_s=3 * STEP_S)
    assert table.cpu_cores.tolist() == [[7.0, 8.0, 9.0]]


@pytest.mark.parametrize("empty", ["", "NaN", "inf"])
def test_values_that_are_none_are_gaps_and_rows_without_any_are_counted(
    empty: str, tmp_path: Path
) -> None:
    rows = [row(0, 0.5, empty), row(1, empty, MIB), row(2, empty, empty), row(3, 1, 2 * MIB)]
    table = files.read_usage_files(write(tmp_path, rows))
    np.testing.assert_array_equal(table.cpu_cores, [[0.5, NAN, NAN, 1.0]])
    np.testing.assert_array_equal(table.memory_bytes, [[NAN, MIB, NAN, 2 * MIB]])
    assert table.notes == ("usage.csv: 1 rows dropped: no time or no value",)


def test_one_sample_is_a_grid_of_one_point(tmp_path: Path) -> None:
    table = files.read_usage_files(write(tmp_path, [row(0, 0.5, MIB)]))
    assert table.cpu_cores.tolist() == [[0.5]]
    assert table.step_s == 60.0


def test_names_stay_as_they_are_written(tmp_path: Path) -> None:
    rows = [row(n, 1, MIB, pod="2024-01-01", key="true,Job,007", container="1") for n in (0, 1)]
    table = files.read_usage_files(write(tmp_path, rows))
    assert table.containers == (ContainerKey("true", "Job", "007", "1"),)
    assert table.pods == ("2024-01-01",)


def test_throttling_is_a_mean_and_kills_are_the_most_that_were_counted(tmp_path: Path) -> None:
    header = f"{HEADER},cpu_throttled_ratio,oom_kills,network_bytes,colour"
    rows = [
        f"{row(0, 1, MIB)},0.2,0,5,red",
        f"{row(1, 1, MIB)},0.6,1,5,red",
        f"{row(2, 1, MIB)},,3,5,red",
        f"{row(2, 1, MIB, container='side')},,,5,red",
    ]
    table = files.read_usage_files(write(tmp_path, rows, header))
    np.testing.assert_array_equal(table.throttled, [0.4, NAN])
    assert table.oom_kills.tolist() == [3.0, 0.0]
    assert table.notes == ("usage.csv: columns ignored: colour",)


def test_page_cache_is_left_out_of_memory_and_noted(tmp_path: Path) -> None:
    header = f"{HEADER},page_cache_bytes"
    rows = [f"{row(0, 1, 400 * MIB)},{100 * MIB}", f"{row(1, 1, 300 * MIB)},"]
    table = files.read_usage_files(write(tmp_path, rows, header))
    np.testing.assert_array_equal(table.memory_bytes, [[300 * MIB, 300 * MIB]])
    assert table.cache_bytes is not None
    assert table.cache_bytes.tolist() == [100 * MIB]
    # 100 of 700 MiB.
    assert table.notes == ("usage.csv: page cache left out of memory, 14 % of it",)


@pytest.mark.parametrize("cache", [-1, 2 * MIB])
def test_page_cache_is_part_of_memory(cache: int, tmp_path: Path) -> None:
    folder = write(tmp_path, [f"{row(0, 1, MIB)},{cache}"], f"{HEADER},page_cache_bytes")
    with pytest.raises(errors.InputError, match="expected 0 to its memory_bytes"):
        files.read_usage_files(folder)


@pytest.mark.parametrize(
    ("rows", "header", "problem"),
    [
        ([], HEADER, "usage.csv: has no rows"),
        ([row(0, "", "")], HEADER, "usage.csv: 1 rows, but none has a time and a value"),
        ([row(0, -0.5, MIB)], HEADER,
         "usage.csv: cpu_cores: -0.5 of pod web-0: must not be negative"),
        ([row(0, 1, -7)], HEADER, "usage.csv: memory_bytes: -7 of pod web-0: must not be negative"),
        ([row(0, 1, "512Mi")], HEADER,
         "usage.csv: memory_bytes: row 1: '512Mi': expected a number"),
        ([row(0, "250m", MIB)], HEADER, "usage.csv: cpu_cores: row 1: '250m': expected a number"),
        ([row(0, 1, 512), row(1, 1, 700)], HEADER,
         "usage.csv: memory_bytes: at most 700: looks like MiB; expected bytes"),
        ([row(0, 12_000, MIB)], HEADER,
         "usage.csv: cpu_cores: 12000: looks like millicores; expected cores"),
        (["1,2"], "timestamp,namespace", "usage.csv: has no column kind, workload, pod, container"),
        (["soon" + row(0, 1, MIB)[10:]], HEADER,
         "usage.csv: timestamp: 'soon': expected ISO 8601 or seconds since the epoch"),
    ],
    ids=["no rows", "no values", "negative CPU", "negative memory", "text", "millicores as text",
         "MiB", "millicores", "columns", "time"],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(
    rows: list[str], header: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(errors.InputError) as refused:
        files.read_usage_files(write(tmp_path, rows, header))
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "usage.csv").write_text("", encoding="utf-8")
    with pytest.raises(errors.InputError, match=r"usage\.csv: is empty; expected a header line"):
        files.read_usage_files(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("usage.parquet", b"PAR1 and then nothing of the kind PAR1"),
        ("usage.parquet", b""),
        ("usage.csv.gz", b"\x1f\x8b not packed"),
        ("usage.csv", b"timestamp,namespace\n\xff\xfe\x00,\xff\n"),
    ],
    ids=["corrupt", "empty", "not packed", "binary"],
)
def test_a_broken_file_is_one_clear_line(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(errors.InputError) as refused:
        files.read_usage_files(tmp_path)
    assert str(tmp_path / name) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_folder_has_one_table_of_usage(tmp_path: Path) -> None:
    as_csv(tmp_path)
    as_parquet(tmp_path)
    with pytest.raises(errors.InputError, match=r"has usage\.parquet and usage\.csv; expected one"):
        files.read_usage_files(tmp_path)


def test_a_missing_folder_and_an_empty_one_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(errors.InputError, match="no such file or folder"):
        files.read_usage_files(tmp_path / "nowhere")
    with pytest.raises(errors.InputError, match=r"has no usage\.csv or usage\.parquet"):
        files.read_usage_files(tmp_path)


def test_a_step_that_makes_the_grid_too_large_is_refused(tmp_path: Path) -> None:
    # A million steps of five minutes at a step of one second.
    folder = write(tmp_path, [row(0, 1, MIB), row(1_000_000, 1, MIB)])
    with pytest.raises(errors.InputError, match=r"too many; choose a longer step"):
        files.read_usage_files(folder, step_s=1.0)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cells=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 20), st.integers(0, 50)), min_size=1
    ),
    seed=st.randoms(use_true_random=False),
)
def test_the_order_of_rows_does_not_matter_and_no_peak_is_lost(
    cells: list[tuple[int, int, int]], seed: object, tmp_path: Path
) -> None:
    rows = [row(at, cpu, MIB, pod=f"web-{pod}") for pod, at, cpu in cells]
    table = files.read_usage_files(write(tmp_path, rows), step_s=STEP_S)
    shuffled = list(rows)
    seed.shuffle(shuffled)  # type: ignore[attr-defined]
    again = files.read_usage_files(write(tmp_path, shuffled), step_s=STEP_S)
    np.testing.assert_array_equal(table.cpu_cores, again.cpu_cores)
    assert np.nanmax(table.cpu_cores) == max(cpu for _, _, cpu in cells)
    assert np.count_nonzero(~np.isnan(table.cpu_cores)) == len({(pod, at) for pod, at, _ in cells})
