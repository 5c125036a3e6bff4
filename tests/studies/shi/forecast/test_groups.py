"""Groups of series: made up in the trace's schema, and real ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from kubestow.sources.traces import alibaba
from kubestow.studies.shi.forecast import groups

DATA = Path(__file__).parents[5] / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")


def test_made_up_rows_have_the_schema_of_the_trace() -> None:
    table = groups.synthesize(1, 0, 2000)
    assert tuple(table.columns) == alibaba.ALIBABA_COLUMNS
    assert len(table.columns) == 11
    assert table["time_stamp"].to_list()[:3] == [0, 10, 20]
    cpu, memory = (table[name].to_numpy() for name in alibaba.MEASURES)
    valid = cpu[cpu != 101.0]
    assert valid.min() >= 0.0
    assert valid.max() <= 100.0
    # Three samples in a thousand are marked invalid.
    assert 1 <= np.count_nonzero(cpu == 101.0) <= 20
    assert 1 <= np.count_nonzero(memory == -1.0) <= 20


def test_groups_are_cleaned_as_the_trace_would_be() -> None:
    (group,) = groups.synthetic_groups(1, 1, 2000)
    table = groups.synthesize(1, 0, 2000)
    assert (group.kind, group.name) == (groups.SYNTHETIC, "group 1")
    assert group.grid.names == alibaba.MEASURES
    assert group.grid.values.shape == (2, 2000)
    cpu = table["cpu_util_percent"].to_numpy()
    lost = np.nonzero(cpu == 101.0)[0]
    assert not (group.grid.values == 101.0).any()
    assert not (group.grid.values == -1.0).any()
    single = [k for k in lost if k > 0 and cpu[k - 1] != 101.0]
    assert (group.grid.values[0, single] == cpu[np.array(single) - 1]).all()
    marked = len(lost) + np.count_nonzero(table["mem_util_percent"].to_numpy() == -1.0)
    assert group.grid.mended.filled == marked


def test_a_seed_makes_the_same_groups_and_another_makes_others() -> None:
    first, again = (groups.synthetic_groups(7, 2, 500) for _ in range(2))
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.grid.values, two.grid.values)
    other = groups.synthetic_groups(8, 2, 500)
    assert not np.array_equal(first[0].grid.values, other[0].grid.values)
    assert not np.array_equal(first[0].grid.values, first[1].grid.values)
    # The number of groups does not change the first ones.
    (alone,) = groups.synthetic_groups(7, 1, 500)
    np.testing.assert_array_equal(alone.grid.values, first[0].grid.values)


def test_made_up_series_have_memory_and_a_day() -> None:
    (group,) = groups.synthetic_groups(3, 1)
    cpu = group.grid.values[0]
    assert np.corrcoef(cpu[:-1], cpu[1:])[0, 1] > 0.9
    # 8640 steps of 10 s are a day: means of quarters of it differ by more than the noise.
    quarters = cpu[:8640].reshape(4, 2160).mean(axis=1)
    assert np.ptp(quarters) > 5.0


def test_real_groups_are_cut_to_their_rows(tmp_path: Path) -> None:
    assert groups.real_groups(tmp_path) == []
    folder = tmp_path / "crane_dsp"
    folder.mkdir()
    for name in ("b", "a", "c"):
        rows = "".join(f"{60 * k},{k}\n" for k in range(10))
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(f"ts,value\n{rows}".encode()))
    result = groups.real_groups(tmp_path, count=2, rows=4)
    assert [(one.kind, one.name) for one in result] == [("real", "a"), ("real", "b")]
    assert result[0].grid.values.tolist() == [[0.0, 1.0, 2.0, 3.0]]
    assert result[0].grid.step_s == 60.0


@pytest.mark.data
@needs_data
def test_six_real_groups_of_ten_thousand_minutes() -> None:
    result = groups.real_groups(DATA)
    assert len(result) == 6
    for group in result:
        assert group.grid.values.shape == (1, 10_000)
        assert group.grid.step_s == 60.0
