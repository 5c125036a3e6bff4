"""Fresh random clusters, answered by the genuine kube-scheduler code and by ours."""

from __future__ import annotations

import pytest

from tests.e2e import volume_parity
from tests.policies.placing import recorded

pytestmark = pytest.mark.e2e

CASES = 600
SEED = 4711  # not the seed of the recorded cases
VOLUME_CASES, VOLUME_SEED = 500, 4713


@pytest.mark.timeout(900)
def test_every_decision_equals_kube_scheduler() -> None:
    pods = cases = 0
    for case in volume_parity.answered("any", CASES, SEED):
        cases += 1
        if case["answer"].get("error"):
            continue
        got, expected = recorded.both_answers(case, volume_parity.FEATURES)
        assert got == expected, case["id"]
        pods += len(got)
    assert cases == CASES
    assert pods > CASES  # most cases have several pods


@pytest.mark.timeout(900)
def test_every_decision_on_pods_with_volumes_equals_kube_scheduler() -> None:
    result, differences = volume_parity.compare(VOLUME_CASES, VOLUME_SEED)
    assert not differences, "\n".join(differences[:10])
    assert result["cases"] == VOLUME_CASES
    assert result["placed"] > VOLUME_CASES  # later pods see what earlier ones bound
    assert len(result["reasons"]) > 25
