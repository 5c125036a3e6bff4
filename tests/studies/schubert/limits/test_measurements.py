"""Plans, blocks and what is kept of them; one tiny block is really measured."""

import dataclasses
from pathlib import Path

import pytest

from kubestow.studies.schubert.limits import machine_state, measurements
from kubestow.studies.schubert.limits.cgroups import Parent
from kubestow.studies.schubert.limits.measurements import (
    CPU,
    GIB,
    LIMITS,
    MEMORY,
    PLAIN,
    REQUESTS,
    LoadBlock,
    Machine,
    MeasurementPlan,
)

NO_GROUPS = Machine(4, 32 * GIB, 30 * GIB, "there is no cpu controller")
GROUPS = Machine(4, 32 * GIB, 30 * GIB, Parent(Path("/nowhere"), 1))
TINY = MeasurementPlan((0, 100), (0,), 2, 1, 0.0, 1, 10_007, 2**16)


def ignore(_done: float, _total: float, _label: str) -> None:
    """Watch nothing."""


def test_every_level_gets_its_measurements_over_the_rounds() -> None:
    plan = MeasurementPlan(repeats=7, rounds=2)
    blocks = measurements.make_blocks(plan, GROUPS)
    levels: dict[tuple[str, str, float], int] = {}
    for block in blocks:
        key = (block.kind, block.variant, block.level)
        levels[key] = levels.get(key, 0) + block.repeats
    assert set(levels.values()) == {7}
    assert {(CPU, REQUESTS, 98), (CPU, LIMITS, 98), (MEMORY, PLAIN, 0)} <= set(levels)


def test_a_round_is_in_random_order_that_the_seed_decides() -> None:
    first, again, other = (
        [block.label for block in measurements.make_blocks(MeasurementPlan(seed=seed), GROUPS)]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)


def test_memory_above_nine_tenths_of_what_is_available_is_never_held() -> None:
    # 0.9 x 30 GiB = 27 GiB for load and task; 26 of 32 GiB are 81.25 %.
    plan = MeasurementPlan(memory_levels=(0, 81.25, 81.5, 90))
    held = [b.level for b in measurements.make_blocks(plan, NO_GROUPS) if b.kind == MEMORY]
    assert sorted(set(held)) == [0, 81.25]
    assert measurements.unsafe_levels(plan, NO_GROUPS) == [81.5, 90]


def test_without_control_groups_only_the_plain_variant_is_measured() -> None:
    blocks = measurements.make_blocks(MeasurementPlan(), NO_GROUPS)
    assert {block.variant for block in blocks} == {PLAIN}


@pytest.mark.parametrize(
    ("level", "request_m"), [(0, 0), (50, 8000), (91, 14560), (98, 15100)], ids=str
)
def test_requests_of_the_load_are_frozen_where_they_no_longer_fit(
    level: float, request_m: int
) -> None:
    # 16 cores: 16000 - 900 = 15100 mCPU are left next to the task.
    assert measurements.load_request_m(16, level) == request_m


def test_orders_name_one_load_per_core_or_one_for_all_memory() -> None:
    cpu = LoadBlock(CPU, PLAIN, 40.0, 0, 1)
    memory = LoadBlock(MEMORY, PLAIN, 50.0, 0, 1)
    idle = LoadBlock(CPU, PLAIN, 0.0, 0, 1)
    assert measurements.make_orders(NO_GROUPS, cpu) == [{"load": "cpu", "duty": 0.4}] * 4
    (order,) = measurements.make_orders(NO_GROUPS, memory)
    assert order == {"load": "memory", "bytes": 16 * GIB, "floor_bytes": 3 * GIB}
    assert measurements.make_orders(NO_GROUPS, idle) == []


def test_a_task_is_left_out_when_memory_has_become_scarce(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine_state, "available_bytes", lambda: 2 * GIB)
    order = measurements.make_order(MeasurementPlan(), LoadBlock(MEMORY, PLAIN, 0.0, 0, 1))
    # 2 GiB - 1 GiB of the task is below half of the floor of 3 GiB; no process is asked.
    assert measurements.ask_safely(None, order, NO_GROUPS) is None  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measure a tiny plan on this machine, two blocks of the CPU task and one of memory."""
    folder = tmp_path_factory.mktemp("blocks")
    machine = dataclasses.replace(measurements.inspect_machine(), cores=1, parent="none")
    for block, record in measurements.run_blocks(TINY, machine, folder, ignore):
        assert len(record.values) == 2
        assert min(record.values) > 0.0
        # CPU time has a resolution of 10 ms, so a short load may show none.
        assert record.load_reached == 0.0 or block.level > 0.0
    return folder


def test_a_finished_block_is_not_measured_again(
    measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("measured again")

    machine = dataclasses.replace(measurements.inspect_machine(), cores=1, parent="none")
    monkeypatch.setattr(measurements, "measure", refuse)
    kept = measurements.run_blocks(TINY, machine, measured, ignore)
    assert len(kept) == 3
    with pytest.raises(AssertionError, match="again"):
        measurements.run_blocks(dataclasses.replace(TINY, number=101), machine, measured, ignore)
