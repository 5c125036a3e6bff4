"""Random pods, policies and LimitRanges, capped and admitted by the genuine code and by ours."""

from __future__ import annotations

import pytest

from kubestow.policies.sizing.vpa.actuation import admission, priorities
from kubestow.policies.sizing.vpa.capping import capping
from tests.policies.sizing.vpa import recorded

CASES = recorded.load("random_pods.jsonl.gz")
CHUNK = 50


@pytest.mark.parametrize("start", range(0, len(CASES), CHUNK))
def test_capping_admission_and_priority_equal_the_genuine_ones(start: int) -> None:
    for case in CASES[start : start + CHUNK]:
        given, out = case["in"], case["out"]
        containers = recorded.read_containers(given["pod"])
        recommended = recorded.read_recommended(given["vpa"]["status"]["recommendation"])
        policies, ranges = recorded.policies_of(given["vpa"]), recorded.read_ranges(given)
        capped, _ = capping.cap_for_pod(recommended, containers, policies, ranges)
        expected = recorded.read_recommended(out["recommendation"])
        assert recorded.written(capped) == recorded.written(expected), case["name"]

        urgency = priorities.update_priority(recorded.read_pod(given["pod"]), capped)
        assert urgency.outside == out["priority"]["OutsideRecommendedRange"], case["name"]
        assert urgency.grows == out["priority"]["ScaleUp"], case["name"]
        assert urgency.difference == pytest.approx(out["priority"]["ResourceDiff"], rel=1e-15)

        result = admission.recommended_resources(containers, recommended, policies, ranges)
        for container, theirs in zip(containers, out["resources"], strict=True):
            mine = result.get(container.name)
            for part, word in (("requests", "Requests"), ("limits", "Limits")):
                got = dict(getattr(mine, part)) if mine else {}
                assert got == recorded.read_amounts(theirs[word]), (case["name"], container.name)
