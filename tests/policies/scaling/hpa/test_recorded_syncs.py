"""Thousands of syncs of the genuine controller of 1.37, hundreds of older ones, replayed."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.policies.scaling import recorded

CASES = recorded.load("random_syncs.jsonl.gz")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_every_decision_equals_the_controller(case: recorded.Json) -> None:
    got, expected = recorded.compare(case, recorded.replay(case))
    assert got == expected


OLDER = [
    pytest.param(case, version, id=f"{version}-{case['id']}")
    for version in ("1.29", "1.32", "1.33", "1.34", "1.35", "1.36")
    for case in recorded.load(f"random_syncs_{version.replace('.', '_')}.jsonl.gz")
]


@pytest.mark.parametrize(("case", "version"), OLDER)
def test_older_releases_are_equal_too(case: recorded.Json, version: str) -> None:
    got, expected = recorded.compare(case, recorded.replay(case, version))
    assert got == expected


def test_the_record_is_large_and_shows_every_rule() -> None:
    syncs = [sync for case in CASES for sync in case["syncs"]]
    assert len(syncs) >= 3000
    reasons = Counter(reason for s in syncs for _, reason in s["conditions"].values())
    often = {
        "ScaleDownStabilized", "ScaleUpStabilized", "ReadyForNewScale", "SucceededRescale",
        "TooManyReplicas", "TooFewReplicas", "ScaleUpLimit", "ScaleDownLimit", "ScalingDisabled",
        "ScaledToZero", "FailedGetResourceMetric", "FailedGetContainerResourceMetric",
        "FailedGetPodsMetric", "FailedGetObjectMetric", "FailedGetExternalMetric",
    }  # fmt: skip
    assert {reason for reason in often if reasons[reason] < 20} == set()
    kinds = Counter(m["type"] for c in CASES for m in c["hpa"]["spec"]["metrics"])
    assert min(kinds.values()) >= 20
    assert len(kinds) == 5
