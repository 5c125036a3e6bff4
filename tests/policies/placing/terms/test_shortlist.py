"""What is left on a shortlist: what is about as good as the best, and not too much of it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kubestow.model import errors, pods, selectors
from kubestow.policies.placing import extender_configuration
from kubestow.policies.placing.profiles import catalog
from kubestow.policies.placing.terms import shortlist


@pytest.mark.parametrize(
    ("scores", "left"),
    [
        ([], []),
        ([3.0], [0]),
        ([10.0, 9.0, 8.9], [0, 1]),  # a point behind is near, more is not
        ([9.5, 10.0, 8.4, 9.6], [0, 1, 3]),
        ([10.0] * 51, list(range(50))),  # of equal ones the first
        ([9.5] + [10.0] * 50, list(range(1, 51))),  # of others the best
        ([0.2, 0.9, math.nan], [0, 1, 2]),  # what is no number counts as 0
        ([math.nan, 2.0], [1]),
        ([12.0, 10.5, 9.2], [0, 1, 2]),  # more than 10 is 10
    ],
)
def test_the_best_are_left_in_their_order(scores: list[float], left: list[int]) -> None:
    assert shortlist.pick_shortlist(np.array(scores, dtype=np.float64)).tolist() == left


def test_of_a_thousand_alike_a_twentieth_is_left() -> None:
    assert shortlist.pick_shortlist(np.full(1000, 10.0)).tolist() == list(range(50))
    assert len(shortlist.pick_shortlist(np.full(1001, 10.0))) == 51  # 1001 / 20, rounded up


@given(arrays.arrays(np.float64, st.integers(1, 1500), elements=st.floats(0.0, 10.0)))
def test_the_best_is_left_and_nothing_worse_than_what_is_not(scores: np.ndarray) -> None:
    left = shortlist.pick_shortlist(scores)
    assert scores[left].max() == scores.max()
    assert len(left) <= max(50, math.ceil(len(scores) / 20))
    assert (np.diff(left) > 0).all()
    others = np.setdiff1d(np.arange(len(scores)), left)
    assert not len(others) or scores[others].max() <= scores[left].min()


@pytest.mark.parametrize(
    ("spec", "owner", "expected"),
    [
        ({}, None, False),
        ({}, "Job", False),
        ({}, "ReplicaSet", True),
        ({}, "StatefulSet", True),
        (
            {"preferred_nodes": (selectors.PreferredTerm(1, selectors.NodeSelectorTerm()),)},
            None,
            True,
        ),
    ],
)
def test_pods_that_are_spread_or_prefer_something_have_wishes(
    spec: dict[str, Any], owner: str | None, expected: bool
) -> None:
    reference = None if owner is None else pods.OwnerReference("v1", owner, "o")
    pod = pods.Pod("p", pods.PodSpec((pods.Container("c"),), **spec), owner=reference)
    assert shortlist.has_preferences(pod) is expected


@pytest.mark.parametrize("decision", catalog.DECISIONS)
@pytest.mark.parametrize("term", ["clbp", "load-aware", "vector-dot"])
def test_only_points_beside_other_scores_take_a_second_question(term: str, decision: str) -> None:
    profile = catalog.profile_of_term(term, decision, "mine")
    (extender,) = extender_configuration.write_extender_configuration(
        profile, "http://127.0.0.1:1"
    )["extenders"]
    twice = decision == catalog.WEIGHTED and term != "vector-dot"
    assert ("prioritizeVerb" in extender, "weight" in extender) == (twice, twice)
    assert extender["filterVerb"] == "filter"
    assert profile.name == "mine"


def test_what_is_no_decision_is_named() -> None:
    with pytest.raises(errors.InputError, match="'both': must be one of shortlist, alone"):
        catalog.profile_of_term("clbp", "both")
