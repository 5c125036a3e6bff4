"""How many nodes are evaluated, against upstream's own table, and where the next sample starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.policies.placing.scheduler import sampling

DATA = Path(__file__).parents[3] / "data" / "preemption_1_37" / "upstream_feasible_nodes.json"
CASES: list[dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_enough_nodes_are_as_many_as_upstream_says(case: dict[str, Any]) -> None:
    # A profile's percentage counts before the global one.
    percentage = case["global"] if case["profile"] is None else case["profile"]
    assert sampling.enough(case["nodes"], percentage) == case["expected"]


@pytest.mark.parametrize(
    ("nodes", "percentage", "expected"),
    [(99, 0, 99), (100, 0, 100), (100, 10, 100), (250, 0, 120), (5625, 0, 281), (100_000, 0, 5000)],
)
def test_the_share_falls_with_the_size_of_the_cluster(
    nodes: int, percentage: int, expected: int
) -> None:
    # 250: 50 - 250 // 125 = 48 %, 120 nodes; 5625: 50 - 45 = 5 %; below that it never falls
    assert sampling.enough(nodes, percentage) == expected


def test_the_look_goes_round_and_the_next_begins_at_the_first_node_left_out() -> None:
    feasible = np.arange(300)
    chosen, following = sampling.take(feasible, 300, sampling.NodeSample(250, 40))  # 120 are enough
    assert chosen.tolist() == [*range(250, 300), *range(70)]
    assert following == 70


def test_nodes_that_were_refused_on_the_way_are_not_looked_at_again_first() -> None:
    # Rows 100 to 149 are not feasible: upstream passes them while it searches for one node too
    # many.
    feasible = np.array([*range(100), *range(150, 300)])
    chosen, following = sampling.take(feasible, 300, sampling.NodeSample(0, 10))
    assert chosen.tolist() == list(range(100))
    assert following == 150


def test_with_just_enough_feasible_nodes_all_were_looked_at() -> None:
    feasible = np.arange(0, 200, 2)  # 100 of 200: as many as are enough
    chosen, following = sampling.take(feasible, 200, sampling.NodeSample(7, 10))
    assert chosen.tolist() == feasible.tolist()
    assert following == 7


@given(
    st.integers(1, 400).flatmap(
        lambda n: st.tuples(
            st.just(n), st.sets(st.integers(0, n - 1)), st.integers(0, 2 * n), st.integers(0, 100)
        )
    )
)
def test_a_sample_is_feasible_without_repetition_and_large_enough(
    drawn: tuple[int, set[int], int, int],
) -> None:
    nodes, feasible, start, percentage = drawn
    rows = np.array(sorted(feasible), dtype=np.int64)
    chosen, following = sampling.take(rows, nodes, sampling.NodeSample(start, percentage))
    assert set(chosen.tolist()) <= feasible
    assert len(set(chosen.tolist())) == len(chosen)
    assert len(chosen) == min(len(feasible), sampling.enough(nodes, percentage))
    assert 0 <= following < nodes
