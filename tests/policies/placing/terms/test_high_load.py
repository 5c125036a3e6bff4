"""The taint of high load as a state machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kubestow.model import errors
from kubestow.model.decoding import fields, structures
from kubestow.policies.placing.terms import high_load
from tests.policies.placing.term_scenes import CAPACITY, FIVE, make_state

USUAL = high_load.HighLoadParameters()
STRICT = high_load.HighLoadParameters(strict=True)
NAN = float("nan")


def walk(
    parameters: high_load.HighLoadParameters, *updates: tuple[float, tuple[float, ...]]
) -> list[bool]:
    """Return whether one node has the taint after each update with (time, shares)."""
    memory, result = high_load.begin(1), []
    for time_s, shares in updates:
        memory, _ = high_load.update_high_load(memory, np.array([shares]), time_s, parameters)
        result.append(bool(memory.tainted[0]))
    return result


def test_any_resource_at_eighty_percent_taints_and_all_below_seventy_clear() -> None:
    updates = [
        (0.0, (0.79, 0.79)),
        (60.0, (0.2, 0.8)),
        (120.0, (0.2, 0.79)),
        (180.0, (0.2, 0.70)),
        (240.0, (0.71, 0.2)),
        (300.0, (0.69, 0.69)),
    ]
    assert walk(USUAL, *updates) == [False, True, True, True, True, False]


def test_as_printed_it_flaps_around_eighty_percent() -> None:
    updates = [(float(k), (0.8 if k % 2 else 0.79,)) for k in range(6)]
    assert walk(STRICT, *updates) == [False, True, False, True, False, True]
    assert walk(USUAL, *updates) == [False, True, True, True, True, True]


def test_a_node_keeps_what_it_has_for_a_while() -> None:
    updates = [(0.0, (0.9,)), (59.0, (0.1,)), (60.0, (0.1,)), (61.0, (0.9,)), (120.0, (0.9,))]
    assert walk(USUAL, *updates) == [True, True, False, False, True]


def test_what_is_unknown_changes_nothing() -> None:
    updates = [
        (0.0, (NAN, NAN)),
        (60.0, (NAN, 0.9)),
        (120.0, (NAN, NAN)),
        (180.0, (NAN, 0.1)),
        (240.0, (0.1, 0.1)),
    ]
    assert walk(USUAL, *updates) == [False, True, True, True, False]


def test_changes_name_the_nodes() -> None:
    memory = high_load.begin(3)
    memory, changes = high_load.update_high_load(
        memory, np.array([[0.9], [0.1], [0.8]]), 0.0, USUAL
    )
    assert (changes.added.tolist(), changes.removed.tolist()) == ([0, 2], [])
    memory, changes = high_load.update_high_load(
        memory, np.array([[0.1], [0.9], [0.9]]), 60.0, USUAL
    )
    assert (changes.added.tolist(), changes.removed.tolist()) == ([1], [0])


def test_memory_follows_nodes_that_come_and_go() -> None:
    memory, _ = high_load.update_high_load(high_load.begin(2), np.array([[0.1], [0.9]]), 5.0, USUAL)
    moved = high_load.renumber(memory, np.array([1]), 2)
    assert moved.tainted.tolist() == [True, False, False]
    assert moved.since_s.tolist() == [5.0, -np.inf, -np.inf]


def test_levels_that_exclude_each_other_are_refused() -> None:
    document = fields.Field({"high": 0.6}, "taint")
    with pytest.raises(errors.InputError, match=r"must not be above high 0\.6"):
        structures.read_structure(high_load.HighLoadParameters, document)


def test_shares_leave_out_what_a_node_does_not_offer() -> None:
    state = make_state(CAPACITY, (4000, 8192, 0, 120, 100))
    total = state.allocatable.astype(np.float64) / 2
    result = high_load.load_shares(state, total, (*FIVE, "unknown"))
    assert result.tolist() == [[0.5] * 5, [0.5, 0.5, 0.0, 0.5, 0.5]]


class Tainting(RuleBasedStateMachine):
    """Whatever loads come: dwell is kept, and changes follow the two levels."""

    @initialize(dwell=st.floats(0.0, 100.0))
    def begin(self, dwell: float) -> None:
        self.parameters = high_load.HighLoadParameters(dwell=dwell)
        self.memory = high_load.begin(4)
        self.time_s = 0.0
        self.last_change_s = np.full(4, -np.inf)

    @rule(
        wait_s=st.floats(0.0, 100.0),
        shares=st.lists(st.floats(0.0, 1.2), min_size=8, max_size=8),
    )
    def update(self, wait_s: float, shares: list[float]) -> None:
        self.time_s += wait_s
        loads = np.array(shares).reshape(4, 2)
        before = self.memory.tainted
        self.memory, changes = high_load.update_high_load(
            self.memory, loads, self.time_s, self.parameters
        )
        largest = loads.max(axis=1)
        assert (largest[changes.added] >= self.parameters.high).all()
        assert (largest[changes.removed] < self.parameters.low).all()
        changed = np.flatnonzero(before != self.memory.tainted)
        assert sorted(changed) == sorted([*changes.added, *changes.removed])
        waited_s = self.time_s - self.last_change_s
        assert (waited_s[changed] >= self.parameters.dwell).all()
        free = waited_s >= self.parameters.dwell
        assert self.memory.tainted[free & (largest >= self.parameters.high)].all()
        assert not self.memory.tainted[free & (largest < self.parameters.low)].any()
        self.last_change_s[changed] = self.time_s

    @invariant()
    def memory_knows_when(self) -> None:
        if hasattr(self, "memory"):
            assert (self.memory.since_s == self.last_change_s).all()


TestTainting = Tainting.TestCase


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30))
def test_hysteresis_never_changes_more_often_than_the_printed_rule(loads: list[float]) -> None:
    updates = [(float(k), (share,)) for k, share in enumerate(loads)]
    calm = high_load.HighLoadParameters(dwell=0.0)
    changes = [np.count_nonzero(np.diff([False, *walk(p, *updates)])) for p in (calm, STRICT)]
    assert changes[0] <= changes[1]
