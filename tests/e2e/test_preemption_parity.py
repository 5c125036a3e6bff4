"""Victims of preemption in fresh random clusters, chosen by the genuine code and by ours."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from kubestow.model import states
from kubestow.policies.placing.profiles import profile
from kubestow.policies.placing.scheduler import nominations, preemption, scheduler
from tests.e2e import volume_parity
from tests.policies.placing import recorded

pytestmark = pytest.mark.e2e

CASES, SEED = 400, 4717
SCHEDULER = scheduler.Scheduler(profile.Profile(), volume_parity.FEATURES)


@pytest.mark.timeout(600)
def test_nodes_and_victims_equal_those_of_kube_scheduler() -> None:
    counts: Counter[str] = Counter()
    for case in volume_parity.answered("preemption", CASES, SEED, "-preempt"):
        assert not case["answer"].get("error"), case["answer"]
        cluster = recorded.build(case["objects"])
        state = states.from_cluster(cluster)
        waiting = nominations.from_cluster(cluster, state)
        # The genuine code ends a case after the first preemption.
        for pod, answer in zip(cluster.pending, case["answer"]["pods"], strict=False):
            assert not answer.get("error"), (case["id"], answer["error"])
            theirs = answer.get("preemption")
            best = _best(waiting, pod, state) if theirs else []
            placement = waiting.place(SCHEDULER, pod, state, None)
            assert (placement.pod.key, placement.node) == (answer["pod"], answer["node"])
            assert (placement.nomination is None) == (theirs is None), (case["id"], answer)
            # Of nodes that are equally good, upstream takes any.
            assert theirs is None or theirs in best, (case["id"], theirs, best)
            counts["preempted"] += theirs is not None
            counts["hopeless"] += theirs is None and answer["node"] is None
    assert counts["preempted"] > CASES // 4
    assert counts["hopeless"] > CASES // 10


def _best(
    waiting: nominations.Nominations, pod: Any, state: states.ClusterState
) -> list[dict[str, Any]]:
    """Return the nodes that are equally good, with their victims."""
    candidates = preemption.find_candidates(
        pod, state, waiting.filters(SCHEDULER, pod), waiting.running, waiting.allowed
    )
    least = min(map(preemption.rank, candidates), default=None)
    return [
        {
            "node": state.names[candidate.row],
            "victims": sorted(victim.pod.key for victim in candidate.victims),
        }
        for candidate in candidates
        if preemption.rank(candidate) == least
    ]
