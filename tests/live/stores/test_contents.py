"""States, recommendations and decisions come back as they were."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kubestow.live.stores import agents, decisions, documents, engines, faults, recommendations
from kubestow.live.stores.agents import AgentState
from kubestow.live.stores.recommendations import StoredRecommendation
from kubestow.model import errors, quantities
from kubestow.model.decisions import Candidate, DecisionRecord
from tests.live.stores.make import BUILD

FINITE = st.floats(allow_nan=False, allow_infinity=False)
# Text that UTF-8 can write; 64 bits are what JSON readers agree on.
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
Q_TABLE = {"640": {"more": 0.1, "less": -1e-300, "stay": 1 / 3}, "runs": 12, "odd": "\u0000ü\n"}


@given(PLAIN)
def test_plain_values_survive_json(value: Any) -> None:
    documents.check("value", value)
    assert documents.decode(documents.encode(value)) == value


@given(state=st.dictionaries(TEXT, PLAIN, max_size=3))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_states_survive_the_database(store: engines.Store, state: dict[str, Any]) -> None:
    version = agents.read(store, BUILD).get("cpu", AgentState(None)).version
    agents.write(store, BUILD, "cpu", AgentState(state, version), 1.0)
    assert agents.read(store, BUILD)["cpu"] == AgentState(state, version + 1)


@pytest.mark.parametrize(
    "state",
    [{1: 2}, (1, 2), math.nan, {"a": [math.inf]}, object(), np.float64(math.nan)],
    ids=["number as key", "tuple", "NaN", "infinite", "object", "NumPy"],
)
def test_a_state_that_would_change_is_refused(store: engines.Store, state: Any) -> None:
    with pytest.raises(errors.InputError, match="state of cpu: differs when read back"):
        agents.write(store, BUILD, "cpu", AgentState(state), 1.0)
    assert agents.read(store, BUILD) == {}


def test_states_of_resources_are_kept_apart(store: engines.Store) -> None:
    agents.write(store, BUILD, "cpu", AgentState(Q_TABLE), 1.0)
    agents.write(store, BUILD, "memory", AgentState([]), 1.0)
    agents.write(store, BUILD, "memory", AgentState([1], 1), 2.0)
    expected = {"cpu": AgentState(Q_TABLE, 1), "memory": AgentState([1], 2)}
    assert agents.read(store, BUILD) == expected


@pytest.mark.parametrize("version", [0, 2], ids=["as new", "from the future"])
def test_a_state_of_another_version_is_not_overwritten(store: engines.Store, version: int) -> None:
    agents.write(store, BUILD, "cpu", AgentState("mine"), 1.0)
    with pytest.raises(faults.StateConflictError):
        agents.write(store, BUILD, "cpu", AgentState("yours", version), 1.0)
    assert agents.read(store, BUILD)["cpu"] == AgentState("mine", 1)


def test_recommendations_come_newest_first(store: engines.Store) -> None:
    made = [
        StoredRecommendation(t, "vpa", {"cpu": quantities.parse(f"{t:g}m")})
        for t in (1.0, 3.0, 2.0)
    ]
    recommendations.insert(store, BUILD, made)
    assert recommendations.newest(store, BUILD, 2) == (made[1], made[2])
    assert recommendations.newest_of_all(store) == {BUILD: made[1]}


def record(time_s: float | None, kind: str = "sizing") -> DecisionRecord:
    return DecisionRecord(
        kind,
        "pod/shop/web-0",
        "vpa",
        "512m",
        parameters={"target": 0.9, "names": ["a"]},
        time=time_s,
        candidates=(Candidate("n1", {"fit": 61.5}, 61.5), Candidate("n2")),
        rejected={"n3": "Insufficient memory"},
        numbers={"samples": 20160.0},
        backtest={"miss_rate": 0.01},
    )


def test_decisions_are_found_by_subject_newest_first(store: engines.Store) -> None:
    made = [record(1.0), record(3.0, "scaling"), record(2.0)]
    decisions.insert(store, made, now_s=0.0)
    assert decisions.newest_decisions(store, "pod/shop/web-0") == (made[1], made[2], made[0])
    assert decisions.newest_decisions(store, "pod/shop/web-0", limit=1) == (made[1],)
    assert decisions.newest_decisions(store, "pod/shop/web-0", kind="sizing") == (made[2], made[0])
    assert decisions.newest_decisions(store, "pod/shop/web-1") == ()


def test_a_decision_without_time_gets_the_time_it_was_kept(store: engines.Store) -> None:
    decisions.insert(store, [record(None)], now_s=7.0)
    assert decisions.newest_decisions(store, "pod/shop/web-0") == (record(7.0),)


def test_a_decision_is_kept_whatever_its_numbers_are(store: engines.Store) -> None:
    odd = DecisionRecord(
        "scaling",
        "hpa/web",
        "auto",
        None,
        parameters={"array": np.arange(2), "one": np.int64(3)},
        candidates=(Candidate("c", {"t": math.inf}, math.nan),),
        numbers={"skill": math.nan, "n": 2.0},
    )
    decisions.insert(store, [odd], now_s=1.0)
    (result,) = decisions.newest_decisions(store, "hpa/web")
    assert result.parameters == {"array": [0, 1], "one": 3}
    assert math.isnan(result.numbers["skill"])
    assert result.numbers["n"] == 2.0
    assert math.isnan(result.candidates[0].terms["t"])
    assert result.candidates[0].total is None
