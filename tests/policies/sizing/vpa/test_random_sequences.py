"""Random sequences of samples, OOM kills, roll-outs and restarts, against the genuine code."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.model.decoding import fields
from tests.policies.sizing.vpa import recorded
from tests.policies.sizing.vpa.oracle import memory as oracle_memory
from tests.policies.sizing.vpa.oracle.recommender import ScalarVpa

CASES = recorded.load("random_sequences.jsonl.gz")


def name_of(case: recorded.Json) -> str:
    return str(case["id"])


def assert_checkpoints_equal(got: recorded.Json, expected: recorded.Json) -> None:
    """Compare checkpoints; sums may differ in the last bits, since upstream adds in any order."""
    assert got.keys() == expected.keys()
    for name, status in expected.items():
        for kind in ("cpuHistogram", "memoryHistogram"):
            mine, theirs = got[name].pop(kind), status.pop(kind)
            total = theirs.get("totalWeight", 0.0)  # upstream's JSON leaves zeros out
            assert mine["totalWeight"] == pytest.approx(total, rel=1e-12)
            assert mine["bucketWeights"] == theirs.get("bucketWeights", {})
            reference = theirs.get("referenceTimestamp") or "0001-01-01T00:00:00Z"
            assert mine["referenceTimestamp"] == reference
        for key in ("firstSampleStart", "lastSampleStart"):
            status[key] = status.get(key) or "0001-01-01T00:00:00Z"
        assert got[name] == {"totalSamplesCount": 0, **status}


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_recommendations_equal_those_of_the_genuine_recommender(case: recorded.Json) -> None:
    vpa = ScalarVpa(recorded.read_parameters(case), recorded.read_policies(case["policy"]))
    gathering = vpa.gathering
    memory = oracle_memory.VpaMemory()
    answers: list[Any] = list(case["answers"])
    for round_ in case["rounds"]:
        time_s, flags = round_[0], round_[4]
        memory = vpa.observe(memory, recorded.read_news(case, round_))
        if flags & 1:
            assert recorded.plain(vpa.recommend(memory)) == answers.pop(0), time_s
        if flags & 2:
            saved = memory.save_checkpoints(gathering, time_s)
            memory = oracle_memory.restore(fields.Field(saved, "checkpoint"), gathering, time_s)
            assert_checkpoints_equal(saved, answers.pop(0))
    assert not answers
