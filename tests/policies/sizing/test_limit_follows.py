"""``limit-follow``: the printed numbers, what is safe, whom it concerns, which files it touches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model.qos import QosClass
from kubestow.policies.sizing import limit_follows, limit_plans
from kubestow.policies.sizing.limit_plans import Limits, PodPlace, Write
from tests.policies.sizing import scenes

STRICT = limit_follows.LimitFollow(limit_follows.LimitFollowParameters(strict=True))
SAFE = limit_follows.LimitFollow()
USED = [300.0, 320.0, 350.0, 400.0, 430.0]  # mean 360 (theses/003 3.6)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (200.0, 432.0),  # rose: 360 x 1.2
        (500.0, 300.0),  # fell: 360 / 1.2
    ],
)
def test_the_printed_example(before: float, expected: float) -> None:
    found = STRICT.estimate(scenes.batch([[before] * 5 + USED]))
    assert found.cpu_cores[0] == pytest.approx(expected)


def test_an_unchanged_mean_keeps_the_limit() -> None:
    assert np.isnan(STRICT.estimate(scenes.batch([USED + USED])).cpu_cores[0])


def test_a_gap_is_no_fall() -> None:
    found = STRICT.estimate(scenes.batch([[scenes.NAN] + [500.0] * 4 + USED]))
    assert np.isnan(found.cpu_cores[0])


def test_fewer_than_two_windows_say_nothing() -> None:
    for estimator in (STRICT, SAFE):
        assert np.isnan(estimator.estimate(scenes.batch([USED])).cpu_cores[0])


def test_after_a_fall_the_safe_limit_is_above_all_recent_use() -> None:
    found = SAFE.estimate(scenes.batch([[500.0] * 5 + USED]))
    assert found.cpu_cores[0] == 500.0  # the peak; 360 x 1.2 = 432 would be below
    assert found.memory_bytes[0] == pytest.approx(500_000.0 * 1.1)


def test_what_was_killed_is_never_set_again() -> None:
    found = SAFE.estimate(scenes.batch([[10.0] * 10], killed=[20_000.0]))
    assert found.memory_bytes[0] == pytest.approx(24_000.0)


@given(st.lists(st.floats(0.0, 1e6), min_size=10, max_size=20))
def test_the_safe_limit_is_never_below_what_was_used(values: list[float]) -> None:
    found = SAFE.estimate(scenes.batch([values]))
    assert found.cpu_cores[0] >= max(values[-10:])
    assert found.memory_bytes[0] >= max(values[-10:]) * 1000.0


def test_the_ten_busiest_pods_of_each_node() -> None:
    nodes = np.array([0, 1, 0, 0, 1])
    used = np.array([1.0, 5.0, 3.0, 3.0, 6.0])
    assert limit_follows.busiest(nodes, used, 2).tolist() == [2, 3, 4, 1]
    many = limit_follows.busiest(np.zeros(25, dtype=np.int64), np.arange(25.0), 10)
    assert many.tolist() == list(range(24, 14, -1))


UID = "0f2-a4"


def place(quality: QosClass = QosClass.BURSTABLE, **more: Any) -> PodPlace:
    return PodPlace(UID, quality, {"a": "aa", "b": "bb"}, **more)


@pytest.mark.parametrize(
    ("where", "folder"),
    [
        (place(), "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f2_a4.slice"),
        (place(QosClass.GUARANTEED), "kubepods.slice/kubepods-pod0f2_a4.slice"),
        (
            place(QosClass.BEST_EFFORT),
            "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod0f2_a4.slice",
        ),
        (place(driver="cgroupfs"), "kubepods/burstable/pod0f2-a4"),
        (place(QosClass.GUARANTEED, driver="cgroupfs"), "kubepods/pod0f2-a4"),
    ],
)
def test_folders_of_pods(where: PodPlace, folder: str) -> None:
    assert where.folder == folder


def test_folders_of_containers() -> None:
    assert place().container_folder("a").endswith("_a4.slice/cri-containerd-aa.scope")
    assert place(driver="cgroupfs").container_folder("b").endswith("/pod0f2-a4/bb")


BEFORE = {"a": Limits(500, 1000), "b": Limits(200, 3000)}


def test_a_parent_is_raised_before_its_children() -> None:
    where = place(driver="cgroupfs")
    found = limit_plans.plan(where, BEFORE, {"a": Limits(800, 1000)})
    # 800 m of a period of 100000 us are 80000 us; the pod has 200 m more.
    assert found == [
        Write("kubepods/burstable/pod0f2-a4/cpu.max", "100000 100000"),
        Write("kubepods/burstable/pod0f2-a4/aa/cpu.max", "80000 100000"),
    ]


def test_a_parent_is_lowered_after_its_children() -> None:
    where = place(driver="cgroupfs", version=1)
    found = limit_plans.plan(where, BEFORE, {"b": Limits(200, 2000)})
    folder = "memory/kubepods/burstable/pod0f2-a4"
    assert found == [
        Write(f"{folder}/bb/memory.limit_in_bytes", "2000"),
        Write(f"{folder}/memory.limit_in_bytes", "3000"),
    ]


def test_a_pod_with_an_unlimited_container_is_unlimited() -> None:
    where = place(driver="cgroupfs")
    found = limit_plans.plan(where, BEFORE, {"a": Limits(None, 1000)})
    assert [write.text for write in found] == ["max 100000", "max 100000"]


def test_the_kernel_gets_no_less_than_a_millisecond() -> None:
    where = place(driver="cgroupfs", version=1)
    found = limit_plans.plan(where, BEFORE, {"a": Limits(1, 1000)})
    assert found[0] == Write("cpu/kubepods/burstable/pod0f2-a4/aa/cpu.cfs_quota_us", "1000")


def test_nothing_changes_nothing() -> None:
    assert limit_plans.plan(place(), BEFORE, {}) == []
