"""Learned values in memory: what is read, what is new, what is old."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubestow.live.admission.learned_reader import LearnedRow, StoredRows
from kubestow.live.admission.learned_table import WHOLE_S, LearnedCache
from kubestow.live.servers import telemetry
from kubestow.live.stores import faults, recommendations
from kubestow.live.stores.deferred import DeferredStore
from kubestow.model.keys import ContainerKey
from tests.live.admission import make


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def row(number: int, name: str, cpu: str, time_s: float) -> LearnedRow:
    content = {"version": 1, "requests": {"cpu": cpu}}
    return LearnedRow(number, ContainerKey("ns", "id", name, "c"), time_s, "s", content)


class Given:
    """Gives prepared rows, or fails."""

    def __init__(self) -> None:
        self.rows: list[LearnedRow] = []
        self.error: Exception | None = None
        self.asked: list[int | None] = []

    def everything(self) -> Iterable[LearnedRow]:
        return self._give(None)

    def since(self, number: int) -> Iterable[LearnedRow]:
        return self._give(number)

    def _give(self, number: int | None) -> Iterator[LearnedRow]:
        self.asked.append(number)
        if self.error is not None:
            raise self.error
        yield from self.rows


@pytest.fixture
def parts() -> tuple[LearnedCache, Given, Clock, telemetry.Telemetry]:
    given, clock, metrics = Given(), Clock(), telemetry.Telemetry("test")
    return LearnedCache(given, metrics, clock=clock), given, clock, metrics


Parts = tuple[LearnedCache, Given, Clock, telemetry.Telemetry]


def cpu_of(cache: LearnedCache, name: str) -> str:
    assert cache.table is not None
    return str(cache.table.values[ContainerKey("ns", "id", name, "c")].requests["cpu"])


def test_before_the_first_reading_there_is_no_table(parts: Parts) -> None:
    cache, *_ = parts
    assert cache.table is None
    assert cache.age_s == math.inf


def test_all_is_read_first_and_then_what_is_new(parts: Parts) -> None:
    cache, given, clock, _ = parts
    given.rows = [row(1, "a", "100m", 10.0), row(2, "b", "200m", 10.0)]
    assert cache.refresh()
    given.rows = [row(3, "a", "150m", 20.0)]
    assert cache.refresh()
    assert (cpu_of(cache, "a"), cpu_of(cache, "b")) == ("150m", "200m")
    assert given.asked == [None, 2]
    clock.now_s += WHOLE_S
    assert cache.refresh()  # everything again: what is gone from the store goes here, too
    assert given.asked == [None, 2, None]
    assert cache.table is not None
    assert len(cache.table.values) == 1


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (row(3, "a", "1", 9.0), "100m"),
        (row(3, "a", "1", 10.0), "1"),
        (row(0, "a", "1", 10.0), "100m"),
    ],
    ids=["older", "same time, higher number", "same time, lower number"],
)
def test_only_what_is_newer_replaces(parts: Parts, late: LearnedRow, expected: str) -> None:
    cache, given, *_ = parts
    given.rows = [row(1, "a", "100m", 10.0)]
    cache.refresh()
    given.rows = [late]
    cache.refresh()
    assert cpu_of(cache, "a") == expected


@pytest.mark.parametrize("error", [faults.StoreUnavailableError("db", "down"), OSError("odd")])
def test_a_store_that_is_down_only_ages_the_table(parts: Parts, error: Exception) -> None:
    cache, given, clock, metrics = parts
    given.rows = [row(1, "a", "100m", 10.0)]
    cache.refresh()
    given.error = error
    clock.now_s += 42.0
    assert not cache.refresh()
    assert (cpu_of(cache, "a"), cache.age_s) == ("100m", 42.0)
    written = metrics.write().decode()
    assert "kubestow_test_table_age_seconds 42.0" in written
    assert 'kubestow_test_table_reads_total{result="failed"} 1.0' in written
    given.error = None
    assert cache.refresh()
    assert cache.age_s == 0.0


@pytest.mark.parametrize(
    "content",
    [{"requests": []}, {"version": 2, "requests": {"cpu": "1"}}],
    ids=["malformed", "unknown version"],
)
def test_a_value_that_is_not_understood_takes_no_other_with_it(
    parts: Parts, content: dict[str, Any]
) -> None:
    cache, given, _, metrics = parts
    bad = LearnedRow(2, ContainerKey("ns", "id", "b", "c"), 1.0, "s", content)
    given.rows = [row(1, "a", "100m", 10.0), bad]
    assert cache.refresh()
    assert cache.table is not None
    assert len(cache.table.values) == 1
    assert "kubestow_test_table_bad_values_total 1.0" in metrics.write().decode()


def test_the_thread_reads_until_it_is_stopped() -> None:
    read = threading.Event()

    class Telling(Given):
        def since(self, number: int) -> Iterable[LearnedRow]:
            read.set()
            return super().since(number)

    cache = LearnedCache(Telling(), telemetry.Telemetry("test"), every_s=0.001)
    cache.start()
    assert read.wait(10.0)
    cache.stop()


def test_a_real_store_is_read_in_the_same_way(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.db"
    late = DeferredStore(url)
    cache = LearnedCache(StoredRows(late), telemetry.Telemetry("test"))
    assert cache.refresh()
    for cpu in ("100m", "200m"):
        made = [make.learned(cpu, time_s=float(n)) for n in range(3)]
        recommendations.insert(late.open(), make.WEB, made)
        assert cache.refresh()
        assert cache.table is not None
        assert str(cache.table.values[make.WEB].requests["cpu"]) == cpu
    late.close()


def test_a_recommendation_that_says_nothing_is_not_in_the_table(parts: Parts) -> None:
    cache, given, _, metrics = parts
    key = ContainerKey("ns", "id", "b", "c")
    given.rows = [LearnedRow(1, key, 1.0, "s", {"version": 1, "requests": {"disk": "1"}})]
    assert cache.refresh()
    assert cache.table is not None
    assert not cache.table.values
    assert "kubestow_test_table_bad_values_total 0.0" in metrics.write().decode()
