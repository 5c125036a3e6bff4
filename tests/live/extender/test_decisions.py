"""Filter and prioritize on a cache: known and unknown nodes, assumptions, records."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.live.caches import loads
from kubestow.live.extender import decisions, messages
from kubestow.model import arrays, pods, states
from kubestow.model.decisions import DecisionRecord
from kubestow.policies.placing.profiles import catalog
from kubestow.policies.placing.scheduler import scheduler as scheduler_scheduler
from kubestow.policies.placing.terms import protocol, registry
from tests.live.caches import test_cluster as made


class FreeCpu:
    """Scores by free CPU, refuses nodes that have none; counts how often it is asked."""

    name = "free-cpu"

    def __init__(self) -> None:
        self.pods: list[str] = []

    @property
    def asked(self) -> int:
        return len(self.pods)

    def weigh(
        self, pod: pods.Pod, state: states.ClusterState, loads: protocol.Loads, rows: arrays.Ints
    ) -> protocol.TermScores:
        self.pods.append(pod.key)
        cpu = state.columns["cpu"]
        free = (state.allocatable[rows, cpu] - loads.used[rows, cpu]).astype(np.float64)
        return protocol.TermScores(
            free > 0, protocol.stretch(free), {"free": free}, lambda at: f"{free[at]:g}m are free"
        )


class Scene:
    """A decider with nodes n0 (empty), n1 (half full), n2 (full), and what it recorded."""

    def __init__(
        self, term: protocol.Term | None = None, *, decision: str = catalog.WEIGHTED
    ) -> None:
        self.cache = made.make_cache("n0", "n1", "n2")
        self.cache.replace("Pod", [made.make_pod("x", "n1", "2"), made.make_pod("y", "n2", "4")])
        self.makers: list[Callable[[], DecisionRecord]] = []
        self.now_s = 100.0
        self.term = term or FreeCpu()
        self.decider = decisions.TermDecider(
            self.cache, self.term, None, self.makers.append, lambda: self.now_s, decision=decision
        )

    @property
    def records(self) -> list[DecisionRecord]:
        return [make() for make in self.makers]


def _question(*names: str, uid: str = "new", cpu: str = "500m") -> messages.ExtenderArgs:
    document = {"Pod": made.make_pod(uid, cpu=cpu), "Nodes": None, "NodeNames": list(names)}
    return messages.read_args(msgspec.json.encode(document))


def _scores(result: list[messages.HostPriority]) -> dict[str, int]:
    return {each.host: each.score for each in result}


def test_nodes_that_do_not_pass_are_named_with_the_reason() -> None:
    result = Scene().decider.filter(_question("n0", "n1", "n2"))
    assert result.node_names == ["n0", "n1"]
    assert result.failed_nodes == {"n2": "0m are free"}


def test_scores_of_zero_are_left_out() -> None:
    # Free: 4000m, 2000m, 0: stretched to 10, 5, 0.
    result = Scene().decider.prioritize(_question("n0", "n1", "n2"))
    assert _scores(result) == {"n0": 10, "n1": 5}


def test_a_node_the_cache_does_not_know_passes_without_a_score() -> None:
    scene = Scene()
    assert scene.decider.filter(_question("n2", "new", "n0")).node_names == ["new", "n0"]
    assert _scores(scene.decider.prioritize(_question("new", "n0"))) == {"n0": 10}
    assert scene.decider.unknown == 2


def test_prioritize_goes_on_from_the_filter_about_the_same_pod_and_nodes() -> None:
    term = FreeCpu()
    scene = Scene(term)
    scene.decider.filter(_question("n0", "n1"))
    scene.decider.prioritize(_question("n0", "n1"))
    assert term.asked == 1
    scene.decider.prioritize(_question("n0", "n1"))
    assert term.asked == 2  # it is used once
    scene.decider.filter(_question("n0", "n1"))
    scene.decider.prioritize(_question("n0"))
    scene.decider.filter(_question("n0", "n1"))
    scene.decider.prioritize(_question("n0", "n1", uid="other"))
    assert term.asked == 6


def test_the_next_pod_of_a_burst_sees_where_the_last_one_goes() -> None:
    scene = Scene()
    for uid in ("p0", "p1", "p2", "p3"):
        scene.decider.prioritize(_question("n0", "n1", uid=uid))
    # 4000m and 2000m free, pods of 500m: the first four all go to n0.
    scene.decider.settle()
    assert made.requested_m(scene.cache, "n0") == 2000
    # Now both have 2000m left and n1 has fewer pods: 9 and 10, without the 9 that both have.
    assert _scores(scene.decider.prioritize(_question("n0", "n1", uid="p4"))) == {"n1": 1}


def test_a_burst_is_spread_though_the_watch_says_nothing() -> None:
    scene = Scene()
    scene.cache.replace("Pod", [])
    went = []
    for uid in (f"p{number}" for number in range(9)):
        scores = _scores(scene.decider.prioritize(_question("n0", "n1", "n2", uid=uid)))
        went += [name for name, score in scores.items() if score == max(scores.values())]
    assert sorted(went) == ["n0"] * 3 + ["n1"] * 3 + ["n2"] * 3


def test_a_pod_with_one_node_left_is_assumed_there_without_scores() -> None:
    scene = Scene()
    scene.decider.filter(_question("n0", "n2"))
    scene.decider.settle()
    assert made.requested_m(scene.cache, "n0") == 500


def test_assumptions_end_when_nothing_comes_of_them() -> None:
    scene = Scene()
    scene.decider.prioritize(_question("n0"))
    scene.decider.settle()
    assert made.requested_m(scene.cache, "n0") == 500
    scene.now_s += decisions.ASSUMED_MOST_S + 1
    scene.decider.tidy()
    assert made.requested_m(scene.cache, "n0") == 0


def test_every_choice_is_recorded() -> None:
    scene = Scene()
    scene.decider.prioritize(_question("n0", "n1", "unknown"))
    (record,) = scene.records
    assert (record.kind, record.subject) == ("placing", "pod/default/new")
    assert (record.policy, record.outcome, record.time) == ("free-cpu", "n0", 100.0)
    assert [each.name for each in record.candidates] == ["n0", "n1"]
    assert record.candidates[0].terms == {"free": 4000.0}
    assert record.numbers == {"nodes": 3.0, "unknown": 1.0, "sent": 10.0}


def test_a_pod_that_fits_nowhere_is_recorded_with_the_reasons() -> None:
    scene = Scene()
    assert scene.decider.filter(_question("n2")).node_names == []
    (record,) = scene.records
    assert (record.outcome, record.rejected) == (None, {"0m are free": "1 nodes"})


def test_measured_loads_count_instead_of_requests() -> None:
    scene = Scene()
    node_loads = loads.NodeLoads()
    node_loads.measure(
        {
            name: loads.MeasuredLoads({"cpu": cpu_m}, 90.0)
            for name, cpu_m in (("n0", 3000.0), ("n1", 100.0), ("n2", 4000.0))
        }
    )
    decider = decisions.TermDecider(
        scene.cache, FreeCpu(), node_loads, scene.makers.append, lambda: 100.0
    )
    # Free: 1000m and 3900m.
    assert _scores(decider.prioritize(_question("n0", "n1"))) == {"n1": 10}


@pytest.mark.parametrize("name", registry.TERMS)
def test_every_term_can_be_asked(name: str) -> None:
    scene = Scene(registry.make_term(name))
    kept = json.loads(messages.write(scene.decider.filter(_question("n0", "n1"))))
    result = scene.decider.prioritize(_question("n0", "n1"))
    assert set(kept["nodenames"]) <= {"n0", "n1"}
    assert (len(kept["nodenames"]) == 1) is registry.TERMS.get(name).decisive
    assert all(0 <= each.score <= 10 for each in result)
    assert result


@pytest.mark.parametrize("name", registry.TERMS)
@given(
    placed=st.lists(
        st.tuples(st.sampled_from(("n0", "n1", "n2", "n3")), st.sampled_from(("100m", "300m"))),
        max_size=8,
    ),
    cpu=st.sampled_from(("100m", "200m", "900m")),
    prefers=st.booleans(),
)
def test_what_a_term_leaves_that_decides_alone_is_what_the_simulated_scheduler_takes(
    name: str, placed: list[tuple[str, str]], cpu: str, prefers: bool
) -> None:
    decision = catalog.WEIGHTED if registry.TERMS.get(name).decisive else catalog.ALONE
    scene = Scene(registry.make_term(name), decision=decision)
    scene.cache.replace("Node", [made.make_node(f"n{i}") for i in range(4)])
    scene.cache.replace(
        "Pod", [made.make_pod(f"p{i}", node, size) for i, (node, size) in enumerate(placed)]
    )
    document = made.make_pod("new", cpu=cpu)
    if prefers:
        requirement = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n3"]}
        preferred = [{"weight": 1, "preference": {"matchExpressions": [requirement]}}]
        affinity = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        document["spec"]["affinity"] = {"nodeAffinity": affinity}
    names = [f"n{i}" for i in range(4)]
    asked = msgspec.json.encode({"Pod": document, "Nodes": None, "NodeNames": names})
    pod = scene.cache.read_pod(msgspec.json.encode(document)).pod
    profile = catalog.profile_of_term(name, catalog.ALONE)
    scheduler = scheduler_scheduler.Scheduler(profile, made.FEATURES)
    wanted = scheduler.place(pod, scene.cache.state).node
    left = scene.decider.filter(messages.read_args(asked)).node_names
    assert isinstance(left, list)
    if wanted is None:  # clbp refuses nodes that would be full
        assert left == []
    elif prefers:  # nodes that tie are left to kube-scheduler, which knows the pod's preferences
        assert wanted in left
    else:
        assert left == [wanted]


def test_a_term_that_decides_alone_explains_why_others_were_refused() -> None:
    scene = Scene(decision=catalog.ALONE)
    result = scene.decider.filter(_question("n0", "n1", "n2"))
    assert (result.node_names, result.failed_nodes) == (["n0"], {"n2": "0m are free"})
    (record,) = scene.records
    assert [each.name for each in record.candidates] == ["n0", "n1"]


@pytest.mark.parametrize("name", ["clbp", "load-aware"])
@given(
    placed=st.lists(
        st.tuples(st.integers(0, 7), st.sampled_from(("100m", "300m", "2"))), max_size=12
    ),
    cpu=st.sampled_from(("100m", "200m", "900m")),
    owner=st.sampled_from((None, "ReplicaSet", "Job")),
)
def test_a_shortlist_is_what_the_simulated_scheduler_chooses_from(
    name: str, placed: list[tuple[int, str]], cpu: str, owner: str | None
) -> None:
    scene = Scene(registry.make_term(name), decision=catalog.SHORTLIST)
    names = [f"n{i}" for i in range(8)]
    scene.cache.replace("Node", [made.make_node(each) for each in names])
    scene.cache.replace(
        "Pod", [made.make_pod(f"p{i}", f"n{node}", size) for i, (node, size) in enumerate(placed)]
    )
    document = made.make_pod("new", cpu=cpu)
    if owner is not None:
        reference = {"apiVersion": "v1", "kind": owner, "name": "o", "controller": True}
        document["metadata"]["ownerReferences"] = [reference]
    asked = msgspec.json.encode({"Pod": document, "Nodes": None, "NodeNames": names})
    pod = scene.cache.read_pod(msgspec.json.encode(document)).pod
    profile = catalog.profile_of_term(name, catalog.SHORTLIST)
    result = scheduler_scheduler.Scheduler(profile, made.FEATURES).place(pod, scene.cache.state)
    left = scene.decider.filter(messages.read_args(asked)).node_names
    assert left == [result.nodes[row] for row in result.feasible]
    assert result.node is None or result.node in left
    assert owner == "ReplicaSet" or len(left) <= 1


def test_a_shortlist_is_recorded_and_counted_where_the_term_finds_it_best() -> None:
    scene = Scene(decision=catalog.SHORTLIST)
    # Free: 4000m, 2000m, 0: stretched to 10, 5, 0; within a point of the best there is one.
    result = scene.decider.filter(_question("n0", "n1", "n2"))
    assert (result.node_names, result.failed_nodes) == (["n0"], {"n2": "0m are free"})
    scene.decider.settle()
    assert made.requested_m(scene.cache, "n0") == 500
    (record,) = scene.records
    assert record.outcome == "n0"


def test_a_decisive_term_is_recorded_and_assumed_where_it_sends_the_pod() -> None:
    scene = Scene(registry.make_term("vector-dot"))
    names = scene.decider.filter(_question("n0", "n1", "new")).node_names
    assert isinstance(names, list)
    (left,) = names
    scene.decider.settle()
    assert made.requested_m(scene.cache, left) == {"n0": 500, "n1": 2500}[left]
    (record,) = scene.records
    assert (record.outcome, record.numbers["unknown"]) == (left, 1.0)


def test_nodes_pass_a_decisive_term_that_knows_none_of_them() -> None:
    scene = Scene(registry.make_term("vector-dot"))
    result = scene.decider.filter(_question("new", "newer"))
    assert json.loads(messages.write(result)) == {"nodenames": ["new", "newer"]}
    assert not scene.records
