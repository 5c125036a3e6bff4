"""What ``pack`` emits and proves, checked by the genuine kube-scheduler."""

from __future__ import annotations

import pytest

from tests.e2e import packing_parity

pytestmark = pytest.mark.e2e

CASES = 40
SEED = 77_000  # not the seed of the evidence


@pytest.mark.timeout(900)
def test_emitted_configurations_use_the_claimed_nodes_and_no_proof_is_beaten() -> None:
    result, problems = packing_parity.compare(CASES, SEED, seconds=2.0)
    assert not problems
    assert result["clusters"] >= CASES * 0.9
    assert result["proven_optimal"] > 0
    assert result["with_volumes"] > 0
