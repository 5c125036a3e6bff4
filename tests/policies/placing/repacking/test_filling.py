"""List heuristics with constraints, checked by the interpreted scheduler."""

from __future__ import annotations

import numpy as np
import pytest

from kubestow.policies.placing import packing, repacking
from tests.policies.placing.repacking.drawn import draw_problem, is_allowed


@pytest.mark.parametrize("seed", range(12))
def test_every_heuristic_places_pods_only_where_the_filters_admit_them(seed: int) -> None:
    problem = draw_problem(seed)
    for name in packing.HEURISTICS:
        filling = repacking.fill(problem, packing.HEURISTICS.get(name))
        assert is_allowed(problem, filling.rows), name
        assert filling.cost == (filling.unplaced, len(filling.used))


@pytest.mark.parametrize("seed", range(100, 106))
def test_a_replay_keeps_what_the_filters_admit_and_nothing_else(seed: int) -> None:
    problem = draw_problem(seed)
    filling = repacking.fill(problem, packing.HEURISTICS.get("first-fit"))
    assert (repacking.replay(problem, filling.rows).rows == filling.rows).all()
    rng = np.random.default_rng(seed)
    at_random = rng.integers(0, len(problem.state), len(problem.items))
    kept = repacking.replay(problem, at_random)
    assert is_allowed(problem, kept.rows)
    assert ((kept.rows == at_random) | (kept.rows == packing.UNPLACED)).all()


def test_the_checker_notices_a_node_that_does_not_admit_a_pod() -> None:
    problem = draw_problem(3)
    refusing = np.argwhere(~problem.admitted[problem.class_of_item])
    rows = np.full(len(problem.items), packing.UNPLACED)
    rows[refusing[0][0]] = refusing[0][1]
    assert not is_allowed(problem, rows)
