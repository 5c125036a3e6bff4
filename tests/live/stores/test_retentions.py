"""Retention: what goes, what stays, and that nothing comes back."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from kubestow.live.stores import (
    claims,
    decisions,
    engines,
    evaluations,
    recommendations,
    retentions,
    runs,
    samples,
)
from kubestow.live.stores.recommendations import StoredRecommendation
from kubestow.live.stores.retentions import Retention, Swept
from kubestow.live.stores.samples import StoredSample
from kubestow.live.stores.schema import current
from kubestow.model import errors
from kubestow.model.decisions import DecisionRecord
from tests.live.stores.make import BUILD, count, run

FOR_GOOD = Retention(None, None, None, None)


def evaluate(store: engines.Store, pod: str, ended_s: float = 20.0) -> None:
    runs.record(store, run(pod, ended_s))
    held = claims.claim(store, run(pod).key, "me", 30.0, 10.0)
    assert held is not None
    evaluations.complete(store, held, evaluations.StoredEvaluation(), 30.0)


def test_old_samples_go_except_those_of_runs_that_wait(store: engines.Store) -> None:
    evaluate(store, "done")
    runs.record(store, run("waiting"))
    runs.record(store, run("running", ended_s=None))
    pods = ("done", "waiting", "running", "service")
    samples.insert(store, [StoredSample(BUILD, pod, t, 1.0) for pod in pods for t in (10.0, 50.0)])
    # Older than 100 - 60 is only t = 10, of "done" and of "service", which has no run.
    assert retentions.sweep(store, 100.0, replace(FOR_GOOD, samples=60.0)) == Swept(samples=2)
    left = {pod: [s.time_s for s in samples.read(store, BUILD, pod)] for pod in pods}
    assert left == {
        "done": [50.0],
        "waiting": [10.0, 50.0],
        "running": [10.0, 50.0],
        "service": [50.0],
    }


@pytest.mark.parametrize("batch", [1, 2, 3, 1000])
def test_small_batches_remove_as_much_as_large_ones(store: engines.Store, batch: int) -> None:
    samples.insert(store, [StoredSample(BUILD, "p", float(t), 1.0) for t in range(9)])
    keep = replace(FOR_GOOD, samples=4.0)
    assert retentions.sweep(store, 10.0, keep, batch) == Swept(samples=6)  # t = 0 to 5
    assert retentions.sweep(store, 10.0, keep, batch) == Swept()


def test_a_run_that_was_forgotten_is_not_evaluated_again(store: engines.Store) -> None:
    evaluate(store, "old", ended_s=20.0)
    runs.record(store, run("waiting", ended_s=20.0))
    runs.record(store, run("open", ended_s=None))
    assert retentions.sweep(store, 100.0, replace(FOR_GOOD, runs=50.0)) == Swept(runs=1)
    assert not runs.record(store, run("old", ended_s=20.0))  # its pod is still listed
    assert runs.record(store, run("waiting", ended_s=20.0))
    assert runs.record(store, run("open", ended_s=20.0))
    assert runs.record(store, run("new", ended_s=50.0))
    result = {each.key.pod_uid for each in runs.read(store, BUILD)}
    assert result == {"waiting", "open", "new"}


def test_the_mark_does_not_go_back(store: engines.Store) -> None:
    retentions.sweep(store, 100.0, replace(FOR_GOOD, runs=50.0))
    retentions.sweep(store, 100.0, replace(FOR_GOOD, runs=90.0))
    assert not runs.record(store, run("old", ended_s=49.0))


def test_the_newest_recommendation_of_a_container_stays(store: engines.Store) -> None:
    other = BUILD._replace(container="other")
    made = [StoredRecommendation(t, f"s{n}", {}) for n, t in enumerate((10.0, 20.0, 20.0))]
    recommendations.insert(store, BUILD, made)
    recommendations.insert(store, other, made[:1])
    swept = retentions.sweep(store, 100.0, replace(FOR_GOOD, recommendations=1.0))
    assert swept == Swept(recommendations=2)
    assert recommendations.newest_of_all(store) == {BUILD: made[2], other: made[0]}
    assert recommendations.newest(store, BUILD, 9) == (made[2],)


def test_old_decisions_go(store: engines.Store) -> None:
    made = [DecisionRecord("placing", "pod/a", "p", None, time=t) for t in (10.0, 60.0)]
    decisions.insert(store, made, 0.0)
    assert retentions.sweep(store, 100.0, replace(FOR_GOOD, decisions=50.0)) == Swept(decisions=1)
    assert decisions.newest_decisions(store, "pod/a") == (made[1],)


def test_what_is_kept_for_good_stays(store: engines.Store) -> None:
    evaluate(store, "a")
    samples.insert(store, [StoredSample(BUILD, "a", 1.0, 1.0)])
    assert retentions.sweep(store, 1e12, FOR_GOOD) == Swept()
    assert (count(store, current.samples_table), count(store, current.runs_table)) == (1, 1)


@pytest.mark.parametrize("value", [-1.0, math.nan], ids=["negative", "NaN"])
def test_a_time_that_makes_no_sense_is_refused(value: float) -> None:
    with pytest.raises(errors.InputError, match=r"retention\.runs: (-1\.0|nan): must be >= 0"):
        Retention(runs=value)


def test_an_empty_batch_is_refused(store: engines.Store) -> None:
    with pytest.raises(errors.InputError, match="batch: 0: must be >= 1"):
        retentions.sweep(store, 0.0, FOR_GOOD, batch=0)
