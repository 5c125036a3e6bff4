"""Decisions on their way to the store."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence

from kubestow.live.servers import telemetry
from kubestow.live.stores import faults
from kubestow.live.stores.journal import Journal
from kubestow.model.decisions import DecisionRecord


def record(number: int = 0) -> DecisionRecord:
    return DecisionRecord("sizing", f"workload/{number}", "admission", "done")


def put(journal: Journal, count: int) -> None:
    for number in range(count):
        journal.put(functools.partial(record, number))


class Gate:
    """A store that can be shut."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.kept: list[DecisionRecord] = []
        self.tried = threading.Event()
        self.error: Exception | None = None

    def write(self, records: Sequence[DecisionRecord]) -> None:
        self.tried.set()
        if self.error is not None:
            raise self.error
        assert self.open.wait(20.0)
        self.kept += records


def test_what_waits_is_written_at_the_end() -> None:
    gate, metrics = Gate(), telemetry.Telemetry("test")
    journal = Journal(gate.write, metrics)
    gate.open.set()
    put(journal, 1200)  # more than one batch
    journal.start()
    assert journal.stop() == 0
    assert [each.subject for each in gate.kept] == [f"workload/{n}" for n in range(1200)]
    assert 'kubestow_test_decisions_total{result="written"} 1200.0' in metrics.write().decode()


def test_nobody_waits_for_a_store_that_hangs_and_what_is_too_much_is_dropped() -> None:
    gate, metrics = Gate(), telemetry.Telemetry("test")
    journal = Journal(gate.write, metrics, most=10)
    journal.start()
    put(journal, 1)
    assert gate.tried.wait(10.0)
    put(journal, 25)  # returns at once; ten wait
    written = metrics.write().decode()
    assert 'kubestow_test_decisions_total{result="dropped"} 15.0' in written
    assert "kubestow_test_decisions_waiting 11.0" in written
    gate.open.set()
    assert journal.stop() == 0
    assert len(gate.kept) == 11


def test_what_could_not_be_written_is_kept_for_later() -> None:
    gate, metrics = Gate(), telemetry.Telemetry("test")
    gate.error = faults.StoreUnavailableError("db", "down")
    journal = Journal(gate.write, metrics)
    journal.start()
    put(journal, 3)
    assert gate.tried.wait(10.0)
    gate.error = None
    gate.open.set()
    assert journal.stop() == 0  # ends the pause, too
    assert len(gate.kept) == 3


def test_what_is_lost_at_the_end_is_counted() -> None:
    gate, metrics = Gate(), telemetry.Telemetry("test")
    gate.error = faults.StoreUnavailableError("db", "down")
    journal = Journal(gate.write, metrics)
    journal.start()
    put(journal, 3)
    assert journal.stop(wait_s=5.0) == 3
    assert 'kubestow_test_decisions_total{result="lost"} 3.0' in metrics.write().decode()


def test_a_record_that_cannot_be_written_does_not_hold_up_others() -> None:
    gate, metrics = Gate(), telemetry.Telemetry("test")
    gate.error = ValueError("odd")
    journal = Journal(gate.write, metrics)
    journal.start()
    put(journal, 1)
    labels = {"result": "lost"}
    while not metrics.registry.get_sample_value("kubestow_test_decisions_total", labels):
        pass
    gate.error = None
    gate.open.set()
    put(journal, 1)
    assert journal.stop() == 0
    assert len(gate.kept) == 1


def test_a_record_that_cannot_be_made_does_not_hold_up_others() -> None:
    gate = Gate()
    gate.open.set()
    journal = Journal(gate.write, telemetry.Telemetry("test"))

    def fail() -> DecisionRecord:
        raise ValueError("odd")

    journal.put(fail)
    put(journal, 1)
    journal.start()
    assert journal.stop() == 0
    assert len(gate.kept) == 1
