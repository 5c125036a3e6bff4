"""The table of assumed loads: decay, expiry, moves, and that nothing is lost in writing."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import errors
from kubestow.model.decoding import fields
from kubestow.policies.placing.terms import assumed_loads

WINDOW_S = 60.0


def make_table(**entries: tuple[int, float]) -> assumed_loads.AssumedLoads:
    """Return a table of three nodes: CPU is averaged, memory is a gauge."""
    table = assumed_loads.AssumedLoads(3, [WINDOW_S, 0.0])
    for pod, (row, time_s) in entries.items():
        table.add(pod, row, [100.0, 10.0], time_s)
    return table


@pytest.mark.parametrize(
    ("measured_s", "cpu", "memory"),
    [
        (90.0, 100.0, 10.0),
        (100.0, 100.0, 10.0),
        (101.0, 100.0 * 59 / 60, 0.0),
        (115.0, 75.0, 0.0),
        (160.0, 0.0, 0.0),
        (200.0, 0.0, 0.0),
        (float("nan"), 100.0, 10.0),
    ],
)
def test_what_metrics_show_is_not_assumed(measured_s: float, cpu: float, memory: float) -> None:
    result = make_table(a=(1, 100.0)).at(100.0, measured_s)
    assert result[1] == pytest.approx((cpu, memory))
    assert not result[[0, 2]].any()


def test_measured_and_assumed_load_add_up_to_what_a_pod_uses() -> None:
    # A pod uses 100 from t = 100 on; metrics are means over the last 60 s, 15 s old.
    table = make_table(a=(0, 100.0))
    for now_s in np.arange(100.0, 200.0, 7.0):
        measured_s = now_s - 15.0
        shown = 100.0 * min(max(measured_s - 100.0, 0.0), WINDOW_S) / WINDOW_S
        assert shown + table.at(now_s, measured_s)[0, 0] == pytest.approx(100.0)


def test_nodes_may_be_measured_at_different_times() -> None:
    table = make_table(a=(0, 100.0), b=(1, 100.0))
    result = table.at(130.0, np.array([130.0, 115.0, 0.0]))
    assert result[:, 0].tolist() == [50.0, 75.0, 0.0]


def test_entries_expire_though_nothing_is_measured() -> None:
    table = make_table(a=(0, 100.0))
    assert table.at(399.9, 0.0)[0, 0] == 100.0
    assert table.at(400.0, 0.0)[0, 0] == 0.0


def test_pods_go_and_move() -> None:
    table = make_table(a=(0, 100.0), b=(1, 100.0), c=(1, 100.0))
    table.remove("a")
    table.remove("never there")
    assert table.at(100.0, 0.0)[:, 0].tolist() == [0.0, 200.0, 0.0]
    table.add("b", 2, [7.0, 0.0], 100.0)
    assert table.at(100.0, 0.0)[:, 0].tolist() == [0.0, 100.0, 7.0]
    assert len(table) == 2
    assert "b" in table
    assert "a" not in table


def test_what_is_shown_is_forgotten() -> None:
    table = make_table(a=(0, 100.0), b=(1, 150.0))
    table.forget(170.0, 165.0)
    assert "a" not in table
    assert table.at(170.0, 165.0)[:, 0].tolist() == [0.0, 75.0, 0.0]


def test_nodes_that_come_and_go_are_followed() -> None:
    table = make_table(a=(0, 100.0), b=(1, 100.0), c=(2, 100.0))
    table.renumber(np.array([1, -1, 0]), 2)
    assert table.at(100.0, 0.0)[:, 0].tolist() == [100.0, 100.0]
    assert "b" not in table


@pytest.mark.parametrize(
    ("row", "amounts"), [(3, [1.0, 1.0]), (-1, [1.0, 1.0]), (0, [1.0]), (0, [1.0, -1.0])]
)
def test_what_does_not_belong_in_the_book_is_refused(row: int, amounts: list[float]) -> None:
    with pytest.raises(errors.InputError, match="assumed load of a"):
        make_table().add("a", row, amounts, 0.0)


ENTRY = st.tuples(st.integers(0, 2), st.floats(0.0, 500.0), st.floats(0.0, 1000.0))
TIME_S = st.floats(0.0, 1000.0)


def fill(entries: list[tuple[int, float, float]]) -> assumed_loads.AssumedLoads:
    """Return a table of drawn entries."""
    table = assumed_loads.AssumedLoads(3, [WINDOW_S, 0.0])
    for number, (row, time_s, amount) in enumerate(entries):
        table.add(f"p{number}", row, [amount, 2 * amount], time_s)
    return table


@given(st.lists(ENTRY, max_size=100), TIME_S, TIME_S, TIME_S, TIME_S)
def test_loads_are_never_negative_and_only_decay(
    entries: list[tuple[int, float, float]], a: float, b: float, c: float, d: float
) -> None:
    table = fill(entries)
    (now_s, later_s), (measured_s, newer_s) = sorted((a, b)), sorted((c, d))
    early, late = table.at(now_s, measured_s), table.at(later_s, newer_s)
    assert (late >= 0.0).all()
    assert (late <= early + 1e-9).all()
    total = sum(amount for _, _, amount in entries)
    assert early[:, 0].sum() <= total * (1 + 1e-12)


@given(st.lists(ENTRY, max_size=100), TIME_S, TIME_S)
def test_a_book_is_the_sum_of_its_entries_and_survives_writing(
    entries: list[tuple[int, float, float]], now_s: float, measured_s: float
) -> None:
    table = fill(entries)
    alone = sum((fill([one]).at(now_s, measured_s) for one in entries), np.zeros((3, 2)))
    assert table.at(now_s, measured_s) == pytest.approx(alone)
    written = json.loads(json.dumps(table.as_json()))
    again = assumed_loads.read(fields.Field(written, "table"))
    assert (again.at(now_s, measured_s) == table.at(now_s, measured_s)).all()
    assert again.as_json() == table.as_json()
    table.forget(now_s, measured_s)
    assert table.at(now_s, measured_s) == pytest.approx(alone)


def test_a_book_that_is_none_is_refused() -> None:
    written = make_table(a=(0, 1.0)).as_json()
    written["entries"][0]["row"] = 9
    with pytest.raises(errors.InputError, match="row 9: no such node"):
        assumed_loads.read(fields.Field(written, "table"))
    with pytest.raises(errors.InputError, match="windowsS"):
        assumed_loads.read(fields.Field({"nodes": 1}, "table"))
