"""What terms share: loads, whole scores, stretching, and the registry."""

from __future__ import annotations

import dataclasses
import inspect
import timeit

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import errors, selectors
from kubestow.model.decoding import structures
from kubestow.policies.placing.terms import protocol, registry
from tests.policies.placing.term_scenes import CAPACITY, every, make_loads, make_pod, make_state

FLOATS = st.floats(-5.0, 15.0)


@pytest.mark.parametrize(
    ("score", "whole"),
    [(0.0, 0), (0.99, 0), (1.0, 1), (9.99, 9), (10.0, 10), (10.0 - 1e-12, 10), (12.0, 10)],
)
def test_scores_are_rounded_down(score: float, whole: int) -> None:
    assert protocol.whole_scores(np.array([score])).tolist() == [whole]


def test_what_is_no_number_counts_as_nothing() -> None:
    assert protocol.whole_scores(np.array([np.nan, np.inf, -np.inf])).tolist() == [0, 10, 0]


@given(st.lists(FLOATS, min_size=1))
def test_whole_scores_keep_the_order(scores: list[float]) -> None:
    result = protocol.whole_scores(np.array(scores))
    order = np.argsort(scores, kind="stable")
    assert (np.diff(result[order]) >= 0).all()
    assert ((result >= 0) & (result <= 10)).all()


@pytest.mark.parametrize(
    ("scores", "occupied", "sent"),
    [
        ([10.0, 10.0, 10.0], 0, [9, 10, 9]),  # n0 has a pod, and n1 comes before n2
        ([10.0, 9.9, 3.0], 0, [10, 9, 3]),  # one best already
        ([7.2, 7.9, 7.5], 1, [6, 7, 6]),  # the score decides before the pods do
        ([0.4, 0.9], 0, [0, 0]),  # nothing to take away
        ([np.nan, 0.5], 0, [0, 0]),
        ([], 0, []),
    ],
)
def test_one_node_is_sent_as_the_best(scores: list[float], occupied: int, sent: list[int]) -> None:
    state = make_state(*[CAPACITY] * 3)
    state.place(make_pod(1, 1, 1, 1, 1), occupied)
    rows, pod = np.arange(len(scores)), make_pod(2, 2, 2, 2, 2)
    assert protocol.sent_scores(pod, state, rows, np.array(scores)).tolist() == sent


def test_pods_with_preferences_leave_ties_to_the_scheduler() -> None:
    wanted = selectors.NodeSelectorTerm((selectors.Requirement("zone", "In", ("a",)),))
    pod = make_pod(2, 2, 2, 2, 2)
    preferring = dataclasses.replace(
        pod,
        spec=dataclasses.replace(pod.spec, preferred_nodes=(selectors.PreferredTerm(1, wanted),)),
    )
    state = make_state(*[CAPACITY] * 3)
    scores = np.array([10.0, 10.0, 9.0])
    assert protocol.sent_scores(preferring, state, every(state), scores).tolist() == [10, 10, 9]


@given(st.lists(FLOATS, min_size=1, max_size=9))
def test_scores_are_sent_with_a_single_best(scores: list[float]) -> None:
    state = make_state(*[CAPACITY] * len(scores))
    given_scores, pod = np.array(scores), make_pod(2, 2, 2, 2, 2)
    result = protocol.sent_scores(pod, state, every(state), given_scores)
    whole = protocol.whole_scores(given_scores)
    assert result.max() == whole.max()
    assert ((whole - result >= 0) & (whole - result <= 1)).all()
    if whole.max() > 0:
        assert (result == result.max()).sum() == 1


@given(st.lists(FLOATS, min_size=1), st.floats(0.0, 3.0))
def test_stretching_gives_ten_to_the_best_alone(values: list[float], least: float) -> None:
    given_values = np.array(values)
    result = protocol.stretch(given_values, least)
    assert result[given_values.argmax()] == 10.0
    assert ((result >= -1e-9) & (result <= 10.0)).all()
    spread = given_values.max() - given_values.min()
    if spread > max(least, 1e-3):
        assert result.min() == pytest.approx(0.0, abs=1e-9)


def test_a_range_that_does_not_matter_is_stretched_less() -> None:
    # 0.5 of a least range of 2 is a quarter of ten points.
    assert protocol.stretch(np.array([1.0, 1.5]), 2.0).tolist() == [7.5, 10.0]
    assert protocol.stretch(np.array([3.0, 3.0])).tolist() == [10.0, 10.0]
    assert protocol.stretch(np.zeros(0)).tolist() == []


def test_without_metrics_loads_are_requests() -> None:
    state = make_state(CAPACITY, CAPACITY)
    state.place(make_pod(600, 400, 2, 10, 5), 1)
    loads = protocol.Loads.by_requests(state)
    assert (loads.used == state.requested).all()
    assert not loads.assumed.any()


def test_assumed_load_is_added_to_what_is_measured_and_not_to_requests() -> None:
    state = make_state(CAPACITY, CAPACITY)
    state.place(make_pod(600, 400, 2, 10, 5), 1)
    cpu = state.columns["cpu"]
    used, assumed = np.zeros((2, len(state.columns))), np.zeros((2, len(state.columns)))
    used[:, cpu], assumed[:, cpu] = (100.0, np.nan), 50.0
    loads = protocol.Loads(used, assumed)
    assert loads.total(state)[:, cpu].tolist() == [150.0, 600.0]
    assert loads.total(state, assume=False)[:, cpu].tolist() == [100.0, 600.0]


@pytest.mark.parametrize("name", registry.TERMS)
def test_every_term_has_its_name_and_copes_with_nobody(name: str) -> None:
    term = registry.make_term(name)
    assert term.name == name
    state = make_state(CAPACITY)
    nobody = np.zeros(0, dtype=np.int64)
    loads = make_loads(state, [(0, 0, 0, 0, 0)])
    result = term.weigh(make_pod(600, 400, 2, 10, 5), state, loads, nobody)
    assert len(result.passes) == len(result.scores) == 0


@pytest.mark.parametrize("name", registry.TERMS)
def test_one_node_has_ten(name: str) -> None:
    state = make_state(CAPACITY)
    result = registry.make_term(name).weigh(
        make_pod(600, 400, 2, 10, 5), state, protocol.Loads.by_requests(state), every(state)
    )
    assert result.passes.tolist() == [True]
    assert result.scores.tolist() == [10.0]


@pytest.mark.parametrize("entry", registry.TERMS.entries(), ids=registry.TERMS.names())
def test_every_parameter_is_described_and_can_be_written_and_read(
    entry: registry.TermEntry,
) -> None:
    kind: type = entry.parameters
    described = structures.describe_members(kind)
    assert set(described) == {field.name for field in dataclasses.fields(kind)}
    assert inspect.getdoc(entry.parameters)
    written = structures.write_structure(entry.parameters())
    assert registry.make_term(entry.name, written).name == entry.name


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("nonsense", {}, "term: 'nonsense': must be one of clbp"),
        ("clbp", {"strikt": True}, "did you mean strict"),
        ("clbp", {"thresholds": {"cpu": 0}}, r"thresholds.cpu: 0: must be > 0"),
        ("clbp", {"judgements": [[1, 2], [0.5, 1]]}, "judgements: 2 rows: must be 5"),
        ("load-aware", {"weights": {"cpu": 0}}, "at least one weight > 0"),
    ],
)
def test_wrong_parameters_are_refused(
    name: str, parameters: dict[str, object], message: str
) -> None:
    with pytest.raises(errors.InputError, match=message):
        registry.make_term(name, parameters)


@pytest.mark.parametrize("name", registry.TERMS)
def test_five_thousand_nodes_take_little_time(name: str) -> None:
    state = make_state(*[CAPACITY] * 5000)
    rng = np.random.default_rng(1)
    used = state.allocatable * rng.uniform(0.0, 0.6, state.allocatable.shape)
    loads = protocol.Loads(used, np.zeros_like(used))
    term, pod, rows = registry.make_term(name), make_pod(60, 40, 1, 1, 1), every(state)
    term.weigh(pod, state, loads, rows)  # compiles
    best_s = min(timeit.repeat(lambda: term.weigh(pod, state, loads, rows), number=3, repeat=5)) / 3
    assert best_s < 0.02  # about 1 ms; a loop over nodes would take 50 ms and more
