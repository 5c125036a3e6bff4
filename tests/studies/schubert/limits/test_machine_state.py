"""Readings of a machine, from made-up files."""

import os
from pathlib import Path

import pytest

from kubestow.studies.schubert.limits import machine_state
from kubestow.studies.schubert.limits.machine_state import Ticks

GIB = 2**30


def make_proc(folder: Path, groups: str = "0::/\n") -> Path:
    """Write a /proc with 8 GiB of memory, of which 6 GiB are available."""
    (folder / "self").mkdir(parents=True)
    (folder / "self" / "cgroup").write_text(groups)
    (folder / "meminfo").write_text(
        f"MemTotal: {8 * 2**20} kB\nMemAvailable: {6 * 2**20} kB\nHugePages_Total: 0\n"
    )
    (folder / "stat").write_text("cpu  100 10 30 500 20 0 5 7 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n")
    return folder


def test_ticks_leave_guests_out_as_they_are_counted_already(tmp_path: Path) -> None:
    # Busy: 100 + 10 + 30 + 0 + 5 + 7; idle and iowait 520 are not; guest 50 is part of user.
    assert machine_state.read_ticks(make_proc(tmp_path)) == Ticks(152, 7, 672)


def test_the_busy_share_is_that_between_two_readings() -> None:
    assert machine_state.busy_share(Ticks(100, 0, 1000), Ticks(175, 0, 1100)) == 0.75
    assert machine_state.busy_share(Ticks(1, 0, 2), Ticks(1, 0, 2)) == 0.0


def test_without_a_limit_the_machine_counts(tmp_path: Path) -> None:
    proc = make_proc(tmp_path / "proc")
    assert machine_state.available_bytes(proc, tmp_path) == 6 * GIB
    assert machine_state.total_bytes(proc, tmp_path) == 8 * GIB


@pytest.mark.parametrize(
    ("line", "folder", "names"),
    [
        ("4:memory:/pod/c", "memory/pod/c", ("memory.usage_in_bytes", "memory.limit_in_bytes")),
        ("0::/pod/c", "pod/c", ("memory.current", "memory.max")),
    ],
    ids=["version-1", "version-2"],
)
def test_the_limit_of_the_own_group_counts_where_it_is_less(
    line: str, folder: str, names: tuple[str, str], tmp_path: Path
) -> None:
    proc = make_proc(tmp_path / "proc", f"{line}\n")
    group = tmp_path / folder
    group.mkdir(parents=True)
    for name, value in zip(names, (GIB, 3 * GIB), strict=True):
        (group / name).write_text(f"{value}\n")
    assert machine_state.available_bytes(proc, tmp_path) == 2 * GIB
    assert machine_state.total_bytes(proc, tmp_path) == 3 * GIB
    (group / names[1]).write_text("max\n")
    assert machine_state.group_headroom_bytes(proc, tmp_path) is None


def test_the_time_of_a_process_is_read_behind_its_name(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    ticks = os.sysconf("SC_CLK_TCK")
    fields = ["S"] + ["0"] * 10 + [str(2 * ticks), str(ticks)] + ["0"] * 20
    (tmp_path / "7" / "stat").write_text(f"7 (a ) b) {' '.join(fields)}")
    assert machine_state.process_seconds(7, tmp_path) == 3.0


def test_this_machine_has_cores_and_memory() -> None:
    result = machine_state.describe()
    assert result["cores"] >= 1
    assert 0.0 < result["available_gib"] <= result["memory_gib"]
