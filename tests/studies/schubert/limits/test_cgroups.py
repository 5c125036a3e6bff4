"""Control groups, on folders that look like them."""

from pathlib import Path

import pytest

from kubestow.studies.schubert.limits import cgroups
from kubestow.studies.schubert.limits.cgroups import ControlGroup, Parent
from tests.studies.schubert.limits.test_machine_state import make_proc


@pytest.mark.parametrize(
    ("cpu_m", "shares", "weight"),
    [(0, 2, 1), (900, 921, 36), (1000, 1024, 39), (15100, 15462, 590)],
    ids=["nothing", "task", "core", "load"],
)
def test_requests_become_weights_as_the_kubelet_computes_them(
    cpu_m: int, shares: int, weight: int
) -> None:
    # 900: 900 x 1024 / 1000 = 921.6; 1 + 919 x 9999 / 262142 = 36.05.
    assert cgroups.shares(cpu_m) == shares
    assert cgroups.weight(cpu_m) == weight


def test_version_1_takes_shares_and_a_quota(tmp_path: Path) -> None:
    group = ControlGroup(tmp_path, 1)
    group.request(900)
    group.limit(900)
    group.add(42)
    assert (tmp_path / "cpu.shares").read_text() == "921"
    assert (tmp_path / "cpu.cfs_quota_us").read_text() == "90000"
    assert (tmp_path / "cpu.cfs_period_us").read_text() == "100000"
    assert (tmp_path / "cgroup.procs").read_text() == "42"


def test_version_2_takes_a_weight_and_a_maximum(tmp_path: Path) -> None:
    group = ControlGroup(tmp_path, 2)
    group.request(1000)
    group.limit(0)
    assert (tmp_path / "cpu.weight").read_text() == "39"
    assert (tmp_path / "cpu.max").read_text() == "1000 100000"


def test_a_group_is_removed_whatever_happens(tmp_path: Path) -> None:
    def interrupt() -> None:
        with cgroups.make(Parent(tmp_path, 1), "load") as group:
            assert group.folder.is_dir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert list(tmp_path.iterdir()) == []


def test_groups_are_made_below_the_own_one(tmp_path: Path) -> None:
    proc = make_proc(tmp_path / "proc", "1:cpu:/pod\n")
    (tmp_path / "cpu" / "pod").mkdir(parents=True)
    assert cgroups.find_parent(proc, tmp_path) == Parent(tmp_path / "cpu" / "pod", 1)


@pytest.mark.parametrize(
    ("enabled", "result"),
    [("cpu memory", 2), ("memory", "not delegated")],
    ids=["delegated", "not-delegated"],
)
def test_version_2_must_have_the_controller_delegated(
    enabled: str, result: int | str, tmp_path: Path
) -> None:
    proc = make_proc(tmp_path / "proc", "0::/pod\n")
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    (tmp_path / "pod").mkdir()
    (tmp_path / "pod" / "cgroup.subtree_control").write_text(enabled)
    parent = cgroups.find_parent(proc, tmp_path)
    if isinstance(result, int):
        assert parent == Parent(tmp_path / "pod", result)
    else:
        assert isinstance(parent, str)
        assert result in parent


def test_what_cannot_be_made_has_a_reason(tmp_path: Path) -> None:
    assert cgroups.find_parent(make_proc(tmp_path / "a"), tmp_path) == (
        "there is no cpu controller of control groups"
    )
    proc = make_proc(tmp_path / "b", "1:cpu:/nowhere\n")
    assert "cannot be made here" in str(cgroups.find_parent(proc, tmp_path))
