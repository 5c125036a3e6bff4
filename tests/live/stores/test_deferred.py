"""A store that opens when it can, and is swept once an hour by whoever writes."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from kubestow.live.stores import decisions, engines, faults, retentions
from kubestow.live.stores.deferred import SWEEP_EVERY_S, DeferredStore
from kubestow.model.decisions import DecisionRecord

DAY_S = 86_400.0


def record(name: str) -> DecisionRecord:
    return DecisionRecord("sizing", f"workload/{name}", "admission", "done")


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now_s


def subjects(url: str) -> list[str]:
    with engines.open_store(url) as store:
        names = ("old", "kept", "newest", "last")
        result = [f"workload/{name}" for name in names]
        return [subject for subject in result if decisions.newest_decisions(store, subject)]


def test_old_decisions_go_once_an_hour_while_new_ones_are_written(tmp_path: Path) -> None:
    url, clock = f"sqlite:///{tmp_path / 'store.db'}", Clock()
    store = DeferredStore(url, retentions.Retention(decisions=DAY_S), clock)
    store.write([record("old")])
    clock.now_s += DAY_S - 60.0
    store.write([record("kept")])  # the old one is a minute short of a day
    assert subjects(url) == ["workload/old", "workload/kept"]
    clock.now_s += 120.0
    store.write([record("newest")])  # two minutes after the last sweep: nothing is swept
    assert subjects(url) == ["workload/old", "workload/kept", "workload/newest"]
    clock.now_s += SWEEP_EVERY_S
    store.write([record("last")])
    assert subjects(url) == ["workload/kept", "workload/newest", "workload/last"]
    store.close()


def test_a_sweep_that_fails_does_not_lose_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise faults.StoreUnavailableError("store", "gone")

    monkeypatch.setattr(retentions, "sweep", fail)
    url = f"sqlite:///{tmp_path / 'store.db'}"
    store = DeferredStore(url, clock=Clock())
    with caplog.at_level(logging.WARNING):
        store.write([record("old")])
    assert "cannot remove old rows from the store: store: gone" in caplog.text
    assert subjects(url) == ["workload/old"]
    store.close()
