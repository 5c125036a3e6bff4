"""The table of values: the newest wins, old ones are dropped, and it is bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.live.metrics_api.values.table import FullError, MetricTable, MetricValue, Subject
from kubestow.live.servers import telemetry
from kubestow.model import quantities
from kubestow.model.selectors import LabelSelector, from_labels

A = Subject("pods", "default", "a", "rate")
ALL = LabelSelector()


def sample(time_s: float, value: int = 1) -> MetricValue:
    return MetricValue(quantities.units(value), time_s)


def make_table(**how: float) -> MetricTable:
    return MetricTable(
        telemetry.Telemetry("test"), how.get("ttl_s", 300.0), int(how.get("most", 100))
    )


@given(st.permutations(range(6)))
def test_the_order_of_arrival_does_not_matter(times_s: list[int]) -> None:
    kept = make_table()
    for time_s in times_s:
        kept.put(A, (), sample(time_s, time_s), 10.0)
    assert kept.find(A, ALL, 10.0) == [((), sample(5, 5))]
    assert len(kept) == 1


def test_labels_make_series() -> None:
    kept = make_table()
    kept.put(A, (("to", "x"),), sample(1.0), 1.0)
    kept.put(A, (("to", "y"),), sample(2.0), 2.0)
    assert [labels for labels, _ in kept.find(A, ALL, 2.0)] == [(("to", "y"),), (("to", "x"),)]
    assert len(kept.find(A, from_labels({"to": "x"}), 2.0)) == 1


def test_old_values_are_forgotten_after_a_while() -> None:
    kept = make_table(ttl_s=10.0)
    kept.put(A, (), sample(0.0), 0.0)
    assert kept.find(A, ALL, 10.0)
    assert kept.find(A, ALL, 10.1) == []
    assert (kept.sweep(30.0), len(kept)) == (0, 1)
    assert (kept.sweep(30.1), len(kept)) == (1, 0)
    assert list(kept.metrics_of(external=False)) == []


def test_there_is_room_for_so_many_series() -> None:
    kept = make_table(ttl_s=10.0, most=2)
    for name in "ab":
        kept.put(Subject("pods", "x", name, "rate"), (), sample(0.0), 0.0)
    kept.put(Subject("pods", "x", "a", "rate"), (), sample(1.0), 1.0)
    with pytest.raises(FullError):
        kept.put(Subject("pods", "x", "c", "rate"), (), sample(2.0), 2.0)
    # Old ones make room: b was measured more than three times to live ago.
    kept.put(Subject("pods", "x", "c", "rate"), (), sample(30.5), 30.5)
    assert len(kept) == 2


def test_listeners_hear_of_late_values_too() -> None:
    kept, times = make_table(), list[float]()
    kept.listen(lambda _subject, _labels, result: times.append(result.time_s))
    assert kept.put(A, (), sample(2.0), 2.0)
    assert not kept.put(A, (), sample(1.0), 2.0)
    assert times == [2.0, 1.0]


def test_metrics_are_distinguished() -> None:
    kept = make_table()
    kept.put(A, (), sample(1.0), 1.0)
    kept.put(Subject("", "default", "", "depth"), (), sample(1.0), 1.0)
    assert list(kept.metrics_of(external=False)) == [("pods", "rate")]
    assert list(kept.metrics_of(external=True)) == [("", "depth")]
