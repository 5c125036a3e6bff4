"""The bounded history that estimators are asked about."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.simulation.loops import usage_history
from kubestow.simulation.loops.usage_history import EPOCH_S, ObservedUsage


def add(history: ObservedUsage, row: int, time_s: float, cpu: float, memory: float) -> None:
    history.add(np.array([row]), time_s, np.array([cpu]), np.array([memory]))


def test_of_several_samples_in_a_cell_the_largest_counts() -> None:
    history = ObservedUsage(60.0, 3600.0)
    row = history.open(0).row
    for time_s, cpu, memory in ((0.0, 1.0, 50.0), (15.0, 3.0, 40.0), (60.0, 2.0, 10.0)):
        add(history, row, time_s, cpu, memory)
    usage = history.usage(["web"], [0], np.zeros(1), runs=False)
    assert usage.cpu_cores.tolist() == [[3.0, 2.0]]
    assert usage.memory_bytes.tolist() == [[50.0, 10.0]]
    assert (usage.step_s, usage.end_s) == (60.0, EPOCH_S + 60.0)


def test_what_is_older_than_the_history_is_forgotten() -> None:
    history = ObservedUsage(60.0, 600.0)  # ten points
    row = history.open(0).row
    for minute in range(1000):
        add(history, row, 60.0 * minute, float(minute), 1.0)
    usage = history.usage(["web"], [0], np.zeros(1), runs=False)
    assert usage.cpu_cores.tolist() == [[float(minute) for minute in range(990, 1000)]]


def test_time_goes_on_where_nothing_was_seen() -> None:
    history = ObservedUsage(20.0, 200.0)
    row = history.open(0).row
    add(history, row, 0.0, 1.0, 1.0)
    nothing = np.zeros(0)
    history.add(np.zeros(0, dtype=np.int64), 40.0, nothing, nothing)
    cpu = history.usage(["web"], [0], np.zeros(1), runs=False).cpu_cores
    assert cpu.shape == (1, 3)
    assert np.isnan(cpu[0, 1:]).all()


def test_only_finished_runs_count_as_runs() -> None:
    history = ObservedUsage(60.0, 3600.0)
    done, cut, going = (history.open(0) for _ in range(3))
    for value, series in enumerate((done, cut, going), start=1):
        add(history, series.row, 0.0, float(value), 1.0)
    history.close(done, 100.0, whole=True)
    history.close(cut, 100.0, whole=False)
    assert history.usage(["job"], [0], np.zeros(1), runs=True).cpu_cores.tolist() == [[1.0]]
    later = history.usage(["job"], [0], np.zeros(1), runs=True, since_s=100.0)
    assert not len(later.owners)
    assert len(history.usage(["job"], [0], np.zeros(1), runs=False).owners) == 3


def test_of_pods_that_are_gone_the_last_ones_are_kept() -> None:
    history = ObservedUsage(60.0, 3600.0)
    for number in range(usage_history.MOST_GONE + 30):
        series = history.open(0)
        add(history, series.row, 0.0, float(number), 1.0)
        history.close(series, float(number), whole=True)
    kept = history.usage(["job"], [0], np.zeros(1), runs=True).cpu_cores[:, 0]
    assert sorted(kept) == [float(n) for n in range(30, usage_history.MOST_GONE + 30)]


@pytest.mark.parametrize("since_s", [0.0, 120.0])
def test_news_begin_at_the_last_question(since_s: float) -> None:
    history = ObservedUsage(60.0, 3600.0)
    row = history.open(0).row
    for minute in range(5):
        add(history, row, 60.0 * minute, float(minute), 1.0)
    news = history.usage(["web"], [0], np.zeros(1), runs=False, since_s=since_s)
    assert news.cpu_cores[0, 0] == since_s / 60.0
