"""Claims: who gets a run, for how long, and who does not."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from kubestow.live.stores import claims, engines, faults, runs
from tests.live.stores.make import BUILD, run

NOW_S, LEASE_S = 100.0, 60.0


def test_a_run_is_recorded_once_and_ends_once(store: engines.Store) -> None:
    for known in (run(ended_s=None), run(ended_s=20.0), run(ended_s=99.0), run(ended_s=None)):
        assert runs.record(store, known)
    assert runs.read(store, BUILD) == (run(ended_s=20.0),)


def test_runs_are_read_oldest_first_and_the_newest_of_them(store: engines.Store) -> None:
    known = [replace(run(f"pod-{number}"), began_s=float(number)) for number in (3, 1, 2)]
    for each in known:
        runs.record(store, each)
    expected = sorted(known, key=lambda each: each.began_s)
    assert runs.read(store, BUILD) == tuple(expected)
    assert runs.read(store, BUILD, newest=2) == tuple(expected[1:])


def test_a_claimed_run_is_nobody_elses_until_the_lease_ends(store: engines.Store) -> None:
    runs.record(store, run())
    held = claims.claim(store, run().key, "a", NOW_S, LEASE_S)
    assert held is not None
    assert (held.run, held.worker, held.until_s, held.token) == (run(), "a", 160.0, 1)
    assert claims.claim(store, run().key, "b", 159.9, LEASE_S) is None
    assert claims.claim_next(store, "b", 159.9, LEASE_S) is None
    taken = claims.claim_next(store, "b", 160.0, LEASE_S)
    assert taken is not None
    assert (taken.worker, taken.token) == ("b", 2)


@pytest.mark.parametrize("state", ["unknown", "running"])
def test_only_finished_runs_are_claimed(store: engines.Store, state: str) -> None:
    if state == "running":
        runs.record(store, run(ended_s=None))
    assert claims.claim(store, run().key, "a", NOW_S, LEASE_S) is None
    assert claims.claim_next(store, "a", NOW_S, LEASE_S) is None


def test_the_run_that_waited_longest_comes_first(store: engines.Store) -> None:
    for pod, ended_s in (("late", 30.0), ("early", 20.0)):
        runs.record(store, run(pod, ended_s))
    order = [claims.claim_next(store, "a", NOW_S, LEASE_S) for _ in range(3)]
    assert [held and held.run.key.pod_uid for held in order] == ["early", "late", None]


def test_a_claim_can_be_renewed_and_given_back(store: engines.Store) -> None:
    runs.record(store, run())
    held = claims.claim(store, run().key, "a", NOW_S, LEASE_S)
    assert held is not None
    longer = claims.renew(store, held, 150.0, LEASE_S)
    assert longer == replace(held, until_s=210.0)
    assert claims.claim_next(store, "b", 170.0, LEASE_S) is None
    claims.release(store, longer)
    assert claims.claim_next(store, "b", 170.0, LEASE_S) is not None


def test_a_lost_claim_can_be_neither_renewed_nor_given_back(store: engines.Store) -> None:
    runs.record(store, run())
    held = claims.claim(store, run().key, "a", NOW_S, LEASE_S)
    assert held is not None
    assert claims.claim(store, run().key, "a", 200.0, LEASE_S)  # the same worker, restarted
    for attempt in (
        lambda: claims.renew(store, held, 201.0, LEASE_S),
        lambda: claims.release(store, held),
    ):
        with pytest.raises(faults.ClaimLostError, match="run of pod pod-1: a no longer holds it"):
            attempt()


def test_of_many_who_ask_at_once_one_gets_the_run(store: engines.Store) -> None:
    runs.record(store, run())
    together, got = threading.Barrier(8), []

    def ask(name: str) -> None:
        together.wait()
        got.append(claims.claim(store, run().key, name, NOW_S, LEASE_S))

    threads = [threading.Thread(target=ask, args=(f"w{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8
    assert len([held for held in got if held]) == 1
