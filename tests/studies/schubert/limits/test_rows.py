"""Verdicts on the statements about full machines, on made-up times."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from kubestow.studies.schubert.limits import rows as limits_rows
from kubestow.studies.schubert.limits.cgroups import Parent
from kubestow.studies.schubert.limits.measurements import (
    CPU,
    GIB,
    LIMITS,
    MEMORY,
    PLAIN,
    REQUESTS,
    LimitRecord,
    LoadBlock,
    Machine,
    MeasurementPlan,
)

PLAN = MeasurementPlan()
THESIS = Machine(16, 32 * GIB, 31 * GIB, Parent(Path("/nowhere"), 2))


def make_blocks(
    kind: str, variant: str, factors: dict[float, float], total_gib: float = 32.0
) -> list[tuple[LoadBlock, LimitRecord]]:
    """Return two rounds of 30 times each, around 100 ms times a factor."""
    rng = np.random.default_rng(3)
    result = []
    for level, factor in factors.items():
        for visit in range(2):
            values = (0.1 * factor * (1.0 + 0.01 * rng.standard_normal(30))).tolist()
            held = int(level / 100.0 * total_gib * GIB) if kind == MEMORY else 0
            record = LimitRecord("", values, level / 100.0, level / 100.0, held, GIB, "now")
            result.append((LoadBlock(kind, variant, level, visit, 30), record))
    return result


def row_of(rows: list[dict[str, Any]], start: str) -> dict[str, Any]:
    (result,) = [row for row in rows if row["statement"].startswith(start)]
    return result


def test_rounds_of_a_level_are_put_together() -> None:
    (level,) = limits_rows.merge_levels(make_blocks(CPU, REQUESTS, {50.0: 1.0}))
    assert level["n"] == len(level["values_s"]) == 60
    assert level["median_s"] == pytest.approx(0.1, rel=0.02)
    assert level["load_reached"] == 0.5


def test_levels_without_a_value_are_left_out() -> None:
    block = LoadBlock(MEMORY, PLAIN, 80.0, 0, 30)
    assert limits_rows.merge_levels([(block, LimitRecord("", [], 0.0, 0.0, 0, 0, "now"))]) == []


@pytest.mark.parametrize(
    ("risen_from_gib", "verdict"), [(27, "reproduced"), (16, "not reproduced")], ids=str
)
def test_memory_is_reproduced_where_the_limit_is_that_of_the_thesis(
    risen_from_gib: int, verdict: str
) -> None:
    factors = {gib / 0.32: 1.5 if gib >= risen_from_gib else 1.0 for gib in (0, 8, 16, 26, 27, 28)}
    levels = limits_rows.merge_levels(make_blocks(MEMORY, PLAIN, factors))
    row = limits_rows.memory_row(levels, PLAN, THESIS)
    assert row["verdict"] == verdict
    if verdict == "reproduced":
        assert row["interval"] == pytest.approx([27 / 32, 28 / 32], abs=1e-4)


def test_memory_that_never_rises_is_not_reproduced_and_says_how_far_it_went() -> None:
    levels = limits_rows.merge_levels(make_blocks(MEMORY, PLAIN, {0.0: 1.0, 75.0: 1.0}))
    row = limits_rows.memory_row(levels, PLAN, THESIS)
    assert row["verdict"] == "not reproduced"
    # 24 GiB held and 1 GiB of the task, of 32.
    assert row["found"] == "no limit found up to 78.1% in use"


def test_the_cpu_statements_of_the_thesis_on_times_like_its_own() -> None:
    free = {0.0: 1.0, 50.0: 1.0, 90.0: 1.04, 95.0: 1.04, 98.0: 1.0, 100.0: 1.0}
    limited = {level: 1.2 * factor for level, factor in free.items()} | {98.0: 1.5, 100.0: 1.5}
    blocks = make_blocks(CPU, REQUESTS, free) + make_blocks(CPU, LIMITS, limited)
    rows = limits_rows.make_rows(limits_rows.merge_levels(blocks), PLAN, THESIS)
    for start in ("CPU, requests only: no", "CPU, requests only: times", "CPU, limits", "CPU: "):
        assert row_of(rows, start)["verdict"] == "reproduced", start
    assert row_of(rows, "CPU, limits")["interval"] == [95.0, 98.0]
    assert row_of(rows, "CPU: ")["mean"] == pytest.approx(1.3, abs=0.1)
    assert row_of(rows, "memory")["rule"] == "not-measured"


def test_the_cpu_statements_fail_on_a_machine_that_suffers() -> None:
    factors = {0.0: 1.0, 60.0: 1.0, 90.0: 1.3, 95.0: 1.4, 98.0: 1.5, 100.0: 1.6}
    blocks = make_blocks(CPU, REQUESTS, factors)
    blocks += make_blocks(CPU, LIMITS, dict.fromkeys(factors, 1.0))
    rows = limits_rows.make_rows(limits_rows.merge_levels(blocks), PLAN, THESIS)
    assert row_of(rows, "CPU, requests only: no")["interval"] == [60.0, 90.0]
    assert {row["verdict"] for row in rows} == {"not reproduced"}


def test_what_was_not_measured_has_its_reason() -> None:
    machine = Machine(2, 8 * GIB, 7 * GIB, "groups cannot be made here")
    levels = limits_rows.merge_levels(make_blocks(CPU, PLAIN, {0.0: 1.0, 100.0: 1.0}))
    rows = limits_rows.make_rows(levels, PLAN, machine)
    assert row_of(rows, "CPU, limits")["found"] == "groups cannot be made here"
    assert row_of(rows, "CPU, without control groups")["verdict"] == "reproduced"
    assert {row["rule"] for row in rows} <= set(limits_rows.RULES)


def test_series_carry_what_the_rule_found() -> None:
    blocks = make_blocks(CPU, PLAIN, {0.0: 1.0, 50.0: 1.0, 100.0: 1.5})
    (series,) = limits_rows.make_series(limits_rows.merge_levels(blocks))
    assert (series["last_good"], series["first_bad"]) == (50.0, 100.0)
    assert [change["slower"] for change in series["changes"]] == [False, True]


def test_a_machine_that_is_not_quiet_reproduces_nothing() -> None:
    blocks = make_blocks(CPU, PLAIN, {0.0: 1.0, 100.0: 1.0})
    machine = Machine(4, 8 * GIB, 7 * GIB, "no groups")
    noisy = [
        (block, msgspec.structs.replace(record, busy=record.load_reached + 0.4))
        for block, record in blocks
    ]
    # Of four cores the task has one at most: 0.4 - 0.25 is the work of others.
    levels = limits_rows.merge_levels(noisy, 0.0, 4)
    assert {level["others"] for level in levels} == {0.15}
    row = row_of(limits_rows.make_rows(levels, PLAN, machine), "CPU, without control groups")
    assert (row["verdict"], row["verdict_if_quiet"]) == ("not reproduced", "reproduced")
    assert row["found"].endswith("other work took up to 15% of all cores")


def test_a_pause_is_no_time_of_the_task() -> None:
    record = LimitRecord("", [0.1] * 4, 0.0, 0.5, 0, 0, "now")
    # Timed 0.4 of 0.8 s on one of two cores: a quarter; the other quarter is the work of others.
    assert limits_rows.others_share(record, 0.1, 2) == pytest.approx(0.25)
