"""Limits in a tree of cgroups, made up and real: written, refused, taken back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubestow.live import limit_writers
from kubestow.model import errors
from kubestow.model.qos import QosClass
from kubestow.policies.sizing import limit_plans
from kubestow.policies.sizing.limit_plans import Limits, PodPlace, Write

PLACES = [
    PodPlace("u-1", QosClass.BURSTABLE, {"a": "aa"}, version=2),
    PodPlace("u-1", QosClass.BURSTABLE, {"a": "aa"}, version=1, driver="cgroupfs"),
]


def make_tree(root: Path, place: PodPlace) -> None:
    for folder in (place.folder, place.container_folder("a")):
        if place.version == 2:
            files = {"cpu.max": "50000 100000", "memory.max": "8000", "memory.current": "3000"}
            roots = dict.fromkeys(files, root / folder)
        else:
            files = {
                "cpu.cfs_quota_us": "50000",
                "memory.limit_in_bytes": "8000",
                "memory.usage_in_bytes": "3000",
            }
            roots = {
                name: root / ("cpu" if name.startswith("cpu") else "memory") / folder
                for name in files
            }
        for name, text in files.items():
            roots[name].mkdir(parents=True, exist_ok=True)
            (roots[name] / name).write_text(text)


def contents(root: Path) -> dict[str, str]:
    return {str(f.relative_to(root)): f.read_text() for f in root.rglob("*") if f.is_file()}


@pytest.mark.parametrize("place", PLACES, ids=["v2, systemd", "v1, cgroupfs"])
def test_limits_are_written_and_taken_back(tmp_path: Path, place: PodPlace) -> None:
    make_tree(tmp_path, place)
    before = contents(tmp_path)
    writes = limit_plans.plan(place, {"a": Limits(500, 8000)}, {"a": Limits(250, 5000)})
    applied = limit_writers.apply(tmp_path, writes)
    assert len(applied.done) == 4
    assert applied.refused == ()
    after = contents(tmp_path)
    assert {after[write.path] for write in writes} == {
        *({"25000 100000"} if place.version == 2 else {"25000"}), "5000",
    }  # fmt: skip
    limit_writers.undo(tmp_path, applied)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("place", PLACES, ids=["v2", "v1"])
def test_memory_in_use_is_never_cut_off(tmp_path: Path, place: PodPlace) -> None:
    make_tree(tmp_path, place)
    before = contents(tmp_path)
    writes = limit_plans.plan(place, {"a": Limits(500, 8000)}, {"a": Limits(500, 3000)})
    applied = limit_writers.apply(tmp_path, writes)
    assert applied.done == ()
    assert {reason for _, reason in applied.refused} == {"3000 bytes are in use"}
    assert contents(tmp_path) == before


def test_a_file_that_is_gone_takes_all_back(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("max 100000")
    writes = [Write("cpu.max", "5000 100000"), Write("gone/cpu.max", "5000 100000")]
    with pytest.raises(errors.InputError, match=r"gone/cpu\.max: cannot be written"):
        limit_writers.apply(tmp_path, writes)
    assert (tmp_path / "cpu.max").read_text() == "max 100000"


@pytest.fixture
def real_group() -> Iterator[Path]:
    folder = Path("/sys/fs/cgroup") / f"kubestow-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as err:
        pytest.skip(f"no cgroup can be made here: {err.strerror}")
    try:
        if not os.access(folder / "cpu.max", os.W_OK):
            pytest.skip("this cgroup has no CPU limit")
        yield folder
    finally:
        folder.rmdir()


def test_a_real_cgroup_takes_the_limit(real_group: Path) -> None:
    write = Write(f"{real_group.name}/cpu.max", "50000 100000")
    applied = limit_writers.apply(real_group.parent, [write])
    assert (real_group / "cpu.max").read_text().split() == ["50000", "100000"]
    limit_writers.undo(real_group.parent, applied)
    assert (real_group / "cpu.max").read_text().split()[0] == "max"
