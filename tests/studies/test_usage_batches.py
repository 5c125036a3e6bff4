"""Public usage sets as batches: units, grids, holes, halves."""

from __future__ import annotations

import gzip
import io
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from kubestow.model import errors
from kubestow.model.usage import arrange
from kubestow.studies import usage_batches

MIB = 2.0**20


def write_npz(path: Path, **arrays: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **arrays)  # type: ignore[arg-type]  # numpy's types take no keywords of arrays


def test_bitbrains_machines_stand_on_one_grid_in_cores_and_bytes(tmp_path: Path) -> None:
    write_npz(
        tmp_path / "bitbrains_rnd" / "series.npz",
        vm1_cpu=np.array([5000, -1, 10000], dtype=np.int32),
        vm1_mem=np.array([100, 200, -1], dtype=np.int32),
        vm1_cap=np.array([[0, 2926, 2048, 2], [2, 2926, 2048, 4]]),
        vm1_t0=np.array(1000),
        vm2_cpu=np.array([100, 100], dtype=np.int32),
        vm2_mem=np.array([50, 60], dtype=np.int32),
        vm2_cap=np.array([[0, 2926, 2048, 1]]),
        vm2_t0=np.array(1610),
    )
    batch = usage_batches.read_bitbrains(tmp_path)
    assert batch.names == ("vm1", "vm2")
    # Half of two cores, nothing, all of four; the second begins 610 s later: two steps.
    np.testing.assert_allclose(
        batch.cpu_cores, [[1, np.nan, 4, np.nan], [np.nan, np.nan, 0.01, 0.01]]
    )
    np.testing.assert_array_equal(batch.memory_bytes[0] / MIB, [100, 200, np.nan, np.nan])
    assert batch.end_s == 1000.0 + 3 * 300.0


def test_google_percents_become_shares_of_the_stated_machine(tmp_path: Path) -> None:
    write_npz(
        tmp_path / "google2011_vms" / "vms.npz",
        names=np.array(["a", "b"]),
        data=np.array([[[50.0, 25.0]], [[10.0, 100.0]]], dtype=np.float32),
    )
    batch = usage_batches.read_google(tmp_path)
    assert batch.cpu_cores[:, 0] == pytest.approx([2.0, 0.4])
    assert batch.memory_bytes[:, 0] == pytest.approx([4.0 * 2**30, 16.0 * 2**30])


def test_planetlab_days_are_machines_of_their_own(tmp_path: Path) -> None:
    write_npz(
        tmp_path / "planetlab_cpu" / "days.npz",
        **{"20110303": np.array([[10, 20]], dtype=np.uint8), "20110306": np.array([[30, 40]])},
    )
    batch = usage_batches.read_planetlab(tmp_path)
    assert batch.names == ("20110303/0", "20110306/0")
    assert batch.cpu_cores.tolist() == [[0.4, 0.8], [1.2, 1.6]]
    assert np.isnan(batch.memory_bytes).all()


def test_crane_series_end_together(tmp_path: Path) -> None:
    folder = tmp_path / "crane_dsp"
    folder.mkdir()
    for name, count in (("input0", 5), ("input1", 3)):
        rows = "".join(f"{60 * place},{place + 1}\n" for place in range(count))
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(f"ts,value\n{rows}".encode()))
    batch = usage_batches.read_crane(tmp_path)
    assert batch.names == ("input0", "input1")
    np.testing.assert_array_equal(batch.cpu_cores, [[1, 2, 3, 4, 5], [np.nan, np.nan, 1, 2, 3]])


def test_alibaba_rows_are_put_on_a_grid_of_minutes(tmp_path: Path) -> None:
    text = b"value,timestamp_anon,container_ip\n0.5,60.0,b\n0.25,120.0,a\n0.75,125.0,a\n"
    path = tmp_path / "alibaba_genai2026" / "pod_memory_util_anon.tar.gz"
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("pod_memory_util_anon.csv")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    batch = usage_batches.read_alibaba(tmp_path)
    assert batch.names == ("a", "b")
    # Of two values in a minute the larger one counts.
    np.testing.assert_array_equal(
        batch.memory_bytes / usage_batches.GPU_POD_BYTES, [[np.nan, 0.75], [0.5, np.nan]]
    )
    assert np.isnan(batch.cpu_cores).all()


def test_opendc_rows_hold_for_as_long_as_they_say(tmp_path: Path) -> None:
    folder = tmp_path / "opendc_bitbrains_small"
    folder.mkdir()
    start = datetime(2013, 8, 12, tzinfo=UTC).timestamp()
    times = [datetime.fromtimestamp(start + s, UTC) for s in (300, 1200)]
    pl.DataFrame(
        {
            "id": ["7", "7"],
            "timestamp": times,
            "duration": [300_000, 900_000],
            "cpu_count": [1, 1],
            "cpu_usage": [2926.0, 1463.0],
        },
        schema_overrides={"timestamp": pl.Datetime("ms", "UTC")},
    ).write_parquet(folder / "trace.parquet")
    batch = usage_batches.read_opendc(tmp_path)
    assert batch.cpu_cores.tolist() == [[1.0, 0.5, 0.5, 0.5]]


@pytest.mark.parametrize("name", usage_batches.READERS)
def test_a_set_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(errors.InputError, match=name):
        usage_batches.READERS[name](tmp_path)


def test_halves_part_all_series_by_their_names() -> None:
    names = [f"vm{number}" for number in range(200)]
    values = np.arange(200.0)[:, None]
    batch = arrange(names, np.arange(200), 300.0, 0.0, values, values)
    parts = [usage_batches.choose(batch, part) for part in (0, 1)]
    assert sorted([*parts[0].names, *parts[1].names]) == sorted(names)
    assert 70 < len(parts[0].names) < 130
    for part in parts:
        assert [f"vm{value:.0f}" for value in part.cpu_cores[:, 0]] == list(part.names)
