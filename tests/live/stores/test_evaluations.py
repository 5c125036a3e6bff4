"""Evaluations: exactly one a run, whole or not at all, whoever dies meanwhile."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from kubestow.live.stores import (
    agents,
    claims,
    decisions,
    engines,
    evaluations,
    faults,
    recommendations,
    runs,
)
from kubestow.live.stores.agents import AgentState
from kubestow.live.stores.evaluations import StoredEvaluation
from kubestow.live.stores.recommendations import StoredRecommendation
from kubestow.live.stores.schema import current
from kubestow.model import errors
from tests.live.stores.make import BUILD, count, run
from tests.live.stores.workers import LEASE_S, NOW_S, results

ROOT = Path(__file__).parents[3]
PROCESSES, WORKLOADS, PODS = 4, 10, 20  # each process has two threads


@contextlib.contextmanager
def worker(mode: str, url: str, name: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.live.stores.workers", mode, url, name]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT)
    with process:
        try:
            yield process
        finally:
            process.kill()


def claimed(store: engines.Store, pod: str = "pod-1", now_s: float = NOW_S) -> claims.Claim:
    runs.record(store, run(pod))
    held = claims.claim(store, run(pod).key, "me", now_s, LEASE_S)
    assert held is not None
    return held


def test_results_are_written_with_the_mark(store: engines.Store) -> None:
    held = claimed(store)
    evaluations.evaluate(store, held, lambda states: results(held, states), NOW_S)
    assert agents.read(store, BUILD) == {"cpu": AgentState(["pod-1"], 1)}
    assert recommendations.newest(store, BUILD)[0].why == "pod-1"
    assert [record.policy for record in decisions.newest_decisions(store, "pod-1")] == ["me"]
    assert [each.evaluated_at_s for each in runs.read(store, BUILD)] == [NOW_S]
    assert claims.claim(store, held.run.key, "other", NOW_S + 1e6, LEASE_S) is None


def test_a_run_is_completed_once(store: engines.Store) -> None:
    held = claimed(store)
    evaluations.complete(store, held, results(held, {}), NOW_S)
    with pytest.raises(faults.ClaimLostError):
        evaluations.complete(store, held, StoredEvaluation(), NOW_S)
    assert count(store, current.recommendations_table) == 1


def test_who_is_late_but_was_not_replaced_still_counts(store: engines.Store) -> None:
    held = claimed(store)
    evaluations.complete(store, held, results(held, {}), NOW_S + 100 * LEASE_S)
    assert agents.read(store, BUILD)["cpu"].state == ["pod-1"]


def test_results_that_cannot_be_kept_leave_nothing(store: engines.Store) -> None:
    held = claimed(store)
    good = StoredRecommendation(NOW_S, "good", {})
    bad = StoredRecommendation(NOW_S, "bad", {}, why="\ud800")  # half a character
    mixed = StoredEvaluation({"cpu": AgentState([1])}, (good, bad))
    with pytest.raises(errors.InputError, match="recommendation of bad: differs when"):
        evaluations.complete(store, held, mixed, NOW_S)
    assert (agents.read(store, BUILD), count(store, current.recommendations_table)) == ({}, 0)
    evaluations.complete(store, held, results(held, {}), NOW_S)  # the claim still holds


def test_two_pods_of_one_identity_at_the_same_time_both_count(store: engines.Store) -> None:
    first, second = claimed(store, "pod-1"), claimed(store, "pod-2")
    calls = []

    def decide(states: Mapping[str, AgentState]) -> StoredEvaluation:
        calls.append(dict(states))
        if len(calls) == 1:  # the other one is faster
            evaluations.complete(store, second, results(second, states), NOW_S)
        return results(first, states)

    evaluations.evaluate(store, first, decide, NOW_S)
    assert calls == [{}, {"cpu": AgentState(["pod-2"], 1)}]
    assert agents.read(store, BUILD) == {"cpu": AgentState(["pod-2", "pod-1"], 2)}


def test_a_state_that_always_changes_is_given_up(store: engines.Store) -> None:
    held = claimed(store)

    def decide(_: Mapping[str, AgentState]) -> StoredEvaluation:
        return StoredEvaluation({"cpu": AgentState([], 7)})

    with pytest.raises(faults.StateConflictError, match="state of cpu: not version 7 now"):
        evaluations.evaluate(store, held, decide, NOW_S)
    assert [each.evaluated_at_s for each in runs.read(store, BUILD)] == [None]


def test_many_workers_evaluate_each_run_exactly_once(store: engines.Store, url: str) -> None:
    names = [f"job-{number}" for number in range(WORKLOADS)]
    pods = [f"pod-{number}" for number in range(PODS)]
    for pod in pods:  # neighbours are of different workloads, so that workers seldom conflict
        for name in names:
            runs.record(store, run(pod, workload=name))
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(worker("drain", url, f"w{number}")) for number in range(PROCESSES)
        ]
        for process in started:
            assert process.communicate(timeout=60.0)[1] == ""
            assert process.returncode == 0
    for name in names:
        key = run(workload=name).key.container
        state = agents.read(store, key)["cpu"]
        assert sorted(state.state) == sorted(pods)  # each once, none lost
        assert state.version == PODS
        assert all(each.evaluated_at_s == NOW_S for each in runs.read(store, key))
    assert count(store, current.recommendations_table) == WORKLOADS * PODS
    workers = {record.policy for pod in pods for record in decisions.newest_decisions(store, pod)}
    assert len(workers) > 1  # otherwise nothing was shown


@pytest.mark.parametrize("mode", ["hold", "halfway"], ids=["claimed", "in its transaction"])
def test_a_killed_worker_loses_no_run_and_leaves_no_half(
    store: engines.Store, url: str, mode: str
) -> None:
    runs.record(store, run())
    with worker(mode, url, "dead") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert agents.read(store, BUILD) == {}
        process.send_signal(signal.SIGKILL)
        process.wait(10.0)
    assert agents.read(store, BUILD) == {}
    assert claims.claim_next(store, "next", NOW_S + LEASE_S - 1, LEASE_S) is None
    held = claims.claim_next(store, "next", NOW_S + LEASE_S, LEASE_S)
    assert held is not None
    assert held.token == 2
    evaluations.evaluate(store, held, lambda states: results(held, states), NOW_S)
    assert agents.read(store, BUILD) == {"cpu": AgentState(["pod-1"], 1)}


def test_one_who_was_thought_dead_is_refused(store: engines.Store) -> None:
    late = claimed(store)
    held = claims.claim(store, run().key, "next", NOW_S + LEASE_S, LEASE_S)
    assert held is not None
    with pytest.raises(faults.ClaimLostError):  # before the next one is done
        evaluations.complete(store, late, results(late, {}), NOW_S)
    evaluations.complete(store, held, results(held, {}), NOW_S)
    with pytest.raises(faults.ClaimLostError):  # and after
        evaluations.complete(store, late, results(late, {}), NOW_S)
    assert agents.read(store, BUILD)["cpu"].version == 1
    assert [record.policy for record in decisions.newest_decisions(store, "pod-1")] == ["next"]
