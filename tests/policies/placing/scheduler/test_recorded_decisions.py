"""Decisions of the real kube-scheduler 1.37.1 on 1800 random clusters, to the last digit."""

from __future__ import annotations

import pytest

from kubestow.model import errors, states
from kubestow.policies.placing.batch import scheduler
from kubestow.policies.placing.profiles import profile, versions
from tests.policies.placing import recorded

CASES = [
    *recorded.load("scheduler_1_37/random_cases.jsonl.gz"),
    *recorded.load("scheduler_1_37/volume_cases.jsonl.gz"),
]
FEATURES = versions.scheduler_features("1.37")
CHUNK = 100
CHUNKS = [CASES[i : i + CHUNK] for i in range(0, len(CASES), CHUNK)]


@pytest.mark.parametrize("chunk", CHUNKS, ids=[chunk[0]["id"] for chunk in CHUNKS])
def test_decisions_and_scores_equal_those_of_kube_scheduler(chunk: list[recorded.Json]) -> None:
    for case in chunk:
        if not case["answer"].get("error"):
            got, expected = recorded.both_answers(case, FEATURES)
            assert got == expected, case["id"]


@pytest.mark.parametrize(
    "case", [c for c in CASES if c["answer"].get("error")], ids=lambda case: case["id"]
)
def test_configurations_that_kube_scheduler_refuses_are_refused(case: recorded.Json) -> None:
    with pytest.raises(errors.InputError):
        recorded.read_profiles(case["config"])


@pytest.mark.parametrize("chunk", CHUNKS, ids=[chunk[0]["id"] for chunk in CHUNKS])
def test_batches_choose_the_same_nodes(chunk: list[recorded.Json]) -> None:
    for case in chunk:
        if case["answer"].get("error"):
            continue
        cluster = recorded.build(case["objects"])
        result = recorded.read_profiles(case.get("config"))
        if len(result) > 1:
            continue  # a batch serves one profile
        state = states.from_cluster(cluster)
        wanted = [p for p in cluster.pending if p.spec.scheduler_name == result[0].name]
        rows = scheduler.place_batch(wanted, state, result[0], FEATURES)
        nodes = [None if row < 0 else state.nodes[row].name for row in rows]
        assert nodes == [pod["node"] for pod in case["answer"]["pods"]], case["id"]


def test_the_recorded_cases_exercise_every_score() -> None:
    scored = {
        plugin
        for case in CASES
        for pod in case["answer"].get("pods", [])
        for plugins in pod["scores"].values()
        for plugin, score in plugins.items()
        if score
    }
    assert scored >= set(profile.SCORES) - {profile.DEVICES}
