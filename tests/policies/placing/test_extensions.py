"""Profiles with an extension: filter on survivors, points times weight times ten, and records."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kubestow.model import clusters, errors, nodes, pods, states
from kubestow.model.decoding import fields
from kubestow.policies.placing import extender_configuration
from kubestow.policies.placing.batch import scheduler as batch_scheduler
from kubestow.policies.placing.profiles import catalog, configuration, versions
from kubestow.policies.placing.profiles import profile as profiles_profile
from kubestow.policies.placing.scheduler import runs, sampling
from kubestow.policies.placing.scheduler import scheduler as scheduler_scheduler
from kubestow.policies.placing.terms import protocol, registry
from tests.policies.placing.term_scenes import every, listed, make_loads, make_pod, make_state

TWO = ("cpu", "memory")
FEATURES = versions.scheduler_features("1.37")


def scheduler(
    term: str, weight: int = 1, base: profiles_profile.Profile | None = None, **parameters: Any
) -> scheduler_scheduler.Scheduler:
    """Return a scheduler with an extension, stock otherwise."""
    extension = profiles_profile.Extension(term, parameters, weight)
    return scheduler_scheduler.Scheduler(
        replace(base or profiles_profile.Profile(), extension=extension), FEATURES
    )


def loaded(*shares: float) -> tuple[states.ClusterState, protocol.Loads]:
    """Return equal nodes of which a share of CPU is in use, in percent."""
    state = make_state(*[(1000, 1000)] * len(shares), names=TWO)
    return state, make_loads(state, [(10 * share, 100) for share in shares], TWO)


def test_points_count_ten_times_the_weight() -> None:
    state, loads = loaded(10, 20, 50)
    pod = make_pod(100, 100, names=TWO)
    stock = scheduler_scheduler.Scheduler(profiles_profile.Profile(), FEATURES).place(pod, state)
    result = scheduler("load-aware", 3).place(pod, state, loads=loads)
    # Mean use with the pod is 20, 25 and 40 %: points 10, 7.5 and 0, rounded down.
    assert result.scores["load-aware"].tolist() == [300, 210, 0]
    assert (result.final == stock.final + result.scores["load-aware"]).all()
    assert result.node == "n0"


def test_nodes_the_term_refuses_are_not_scored_and_have_a_reason() -> None:
    state, loads = loaded(60, 10, 20)
    result = scheduler("load-aware").place(make_pod(100, 100, names=TWO), state, loads=loads)
    assert result.feasible.tolist() == [1, 2]
    assert result.rejected() == {
        "n0": "load-aware: cpu load would be at 70.0%, at most 65% is allowed"
    }
    assert len(result.scores["load-aware"]) == 2


def test_only_survivors_of_the_filters_are_asked() -> None:
    state, loads = loaded(1, 60, 20, 30)
    taint = nodes.Taint("closed")
    state.replace_node(0, replace(state.nodes[0], taints=(taint,)))
    result = scheduler("load-aware").place(make_pod(100, 100, names=TWO), state, loads=loads)
    assert result.feasible.tolist() == [2, 3]
    assert list(result.rejected()) == ["n0", "n1"]
    assert "taint" in result.rejected()["n0"]
    # n0 would have been the best; among the others n2 is.
    assert result.scores["load-aware"].tolist() == [100, 0]


def test_where_the_term_refuses_all_no_node_is_feasible() -> None:
    state, loads = loaded(60, 61)
    result = scheduler("load-aware").place(make_pod(100, 100, names=TWO), state, loads=loads)
    assert result.row is None
    assert set(result.rejected()) == {"n0", "n1"}


def test_a_node_that_is_left_alone_is_not_scored() -> None:
    state, loads = loaded(60, 10)
    result = scheduler("load-aware").place(make_pod(100, 100, names=TWO), state, loads=loads)
    assert result.node == "n1"
    assert result.scores == {}


def test_without_loads_requests_count() -> None:
    state, _ = loaded(0, 0)
    state.place(make_pod(500, 500, names=TWO), 0)
    result = scheduler("clbp").place(make_pod(10, 10, names=TWO), state)
    assert result.scores["clbp"].tolist() == [0, 100]


def test_an_extender_alone_scores_without_the_point_upstream_gives() -> None:
    state, loads = loaded(10, 20)
    bare = profiles_profile.Profile(scores=())
    result = scheduler("load-aware", 1, bare).place(
        make_pod(100, 100, names=TWO), state, loads=loads
    )
    assert result.final.tolist() == [100, 0]


def test_parts_are_in_the_record_and_in_json() -> None:
    state, loads = loaded(60, 10, 20)
    result = scheduler("load-aware").place(make_pod(100, 100, names=TWO), state, loads=loads)
    record = result.record()
    assert record.outcome == "n1"
    assert record.candidates[0].terms["load-aware/cpu"] == pytest.approx(0.8)
    assert record.candidates[0].terms["load-aware"] == 100.0
    assert record.rejected["n0"].startswith("load-aware: cpu load")
    written = result.as_json()
    assert written["scores"]["n2"]["load-aware"] == 0
    assert written["parts"]["n2"]["load-aware/memory"] == pytest.approx(0.8)
    stock = scheduler_scheduler.Scheduler(profiles_profile.Profile(), FEATURES)
    assert "parts" not in stock.place(make_pod(100, 100, names=TWO), state).as_json()


def test_candidates_are_those_of_the_sample() -> None:
    count = 150
    state = make_state(*[(1000, 1000)] * count, names=TWO)
    loads = make_loads(state, [(10 * (row % 50), 0) for row in range(count)], TWO)
    sample = sampling.NodeSample(start=60)
    result = scheduler("load-aware", 200).place(
        make_pod(10, 10, names=TWO), state, None, sample, loads
    )
    # A hundred nodes from row 60 on: 60 to 149 and 0 to 9. Of the emptiest, 0 and 100, the one
    # that the scheduler comes to first is sent as the best.
    assert sorted(result.feasible.tolist()) == [*range(10), *range(60, 150)]
    assert result.top.tolist() == [100]
    assert result.next_start == 10


def test_wrong_terms_are_refused_when_the_scheduler_is_made() -> None:
    with pytest.raises(errors.InputError, match="must be one of clbp"):
        scheduler("nonsense")
    with pytest.raises(errors.InputError, match="unknown key"):
        scheduler("clbp", nonsense=1)


def test_preemption_looks_at_the_filters_alone() -> None:
    state, _ = loaded(0, 0)
    state.place(make_pod(790, 100, names=TWO), 0)
    pod = make_pod(100, 100, names=TWO)
    result = scheduler("clbp")
    assert result.fits(pod, state, 0)  # 89 %: the term would refuse it
    assert result.place(pod, state).feasible.tolist() == [1]


def test_profiles_compare_and_hash_with_their_extension() -> None:
    first, second = catalog.make_profile("clbp"), catalog.make_profile("clbp")
    assert first == second
    assert hash(first) == hash(second)
    assert first != catalog.make_profile("load-aware")


def test_every_term_has_a_profile() -> None:
    for name in registry.TERMS:
        extension = catalog.make_profile(name).extension
        assert extension is not None
        assert extension.term == name
    assert catalog.make_profile("kube-scheduler").extension is None


@pytest.mark.parametrize("name", ["vector-dot", "k8s-vector-dot", "adaptive"])
def test_packing_outweighs_all_stock_scores(name: str) -> None:
    profile = catalog.make_profile(name)
    assert profile.extension is not None
    stock = 100 * sum(weight for _, weight in profile.scores)
    assert profile.extension.weight * protocol.POINT > stock
    # The term's best node is the emptiest but for one; stock spreading prefers the empty one.
    state = make_state(*[(1000, 1000)] * 3, names=TWO)
    for cpu, memory, row in ((400, 100, 0), (100, 400, 1)):
        state.place(make_pod(cpu, memory, names=TWO), row)
    pod = make_pod(30, 300, names=TWO)
    placement = scheduler_scheduler.Scheduler(profile, FEATURES).place(pod, state)
    best = registry.make_term(name).weigh(
        pod, state, protocol.Loads.by_requests(state), every(state)
    )
    assert placement.row == best.scores.argmax()


def test_batches_fall_back_to_one_by_one() -> None:
    state, _ = loaded(0, 0, 0)
    other, _ = loaded(0, 0, 0)
    wanted = [make_pod(100 + 10 * k, 50, names=TWO, name=f"p{k}") for k in range(12)]
    wanted.insert(3, make_pod(2000, 50, names=TWO, name="too large"))
    rows = batch_scheduler.place_batch(wanted, state, catalog.make_profile("clbp"), FEATURES)
    result = scheduler_scheduler.Scheduler(catalog.make_profile("clbp"), FEATURES)
    for pod, row in zip(wanted, rows.tolist(), strict=True):
        placement = result.place(pod, other)
        assert (placement.row if placement.row is not None else -1) == row
        if placement.row is not None:
            other.place(pod, placement.row)
    assert rows[3] == -1
    assert (state.requested == other.requested).all()


def test_pods_of_a_cluster_are_placed_with_the_extension() -> None:
    offered = listed(("cpu", "memory", "pods"), (1000, 1000, 110))
    full = make_pod(500, 500, names=TWO, name="full")
    cluster = clusters.Cluster(
        nodes=(nodes.Node("a", offered, {}), nodes.Node("b", offered, {})),
        pods=(replace(full, node_name="a"), make_pod(200, 200, names=TWO)),
    )
    for name, node in (("kube-scheduler", "b"), ("k8s-vector-dot", "a")):
        (result,) = runs.place_all(cluster, [catalog.make_profile(name)], FEATURES)
        assert result.node == node
        assert isinstance(result.pod, pods.Pod)


def test_the_configuration_has_an_extender() -> None:
    written = extender_configuration.write_extender_configuration(
        catalog.make_profile("clbp", "balanced"),
        "https://extender.example:8443",
        tls=extender_configuration.Tls(ca_file="/etc/ca.pem"),
    )
    assert written["extenders"] == [
        {
            "urlPrefix": "https://extender.example:8443",
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "weight": catalog.LOAD_WEIGHT,
            "nodeCacheCapable": True,
            "ignorable": True,
            "httpTimeout": "1000ms",
            "enableHTTPS": True,
            "tlsConfig": {"caFile": "/etc/ca.pem"},
        }
    ]
    assert written["profiles"] == [{"schedulerName": "balanced"}]
    (again,) = configuration.read_configuration(fields.Field(written, "c.yaml"))
    assert again == replace(catalog.make_profile("clbp", "balanced"), extension=None)


@pytest.mark.parametrize(
    ("term", "weight", "verbs"),
    [
        # The weights of stock scores sum up to 15: 1500 points, and a point of an extender is 10.
        ("vector-dot", 151, {"filterVerb"}),
        ("vector-dot", 150, {"prioritizeVerb"}),
        ("clbp", 151, {"filterVerb"}),
        ("clbp", 150, {"filterVerb", "prioritizeVerb"}),
    ],
)
def test_a_term_that_outdoes_all_scores_is_asked_once(
    term: str, weight: int, verbs: set[str]
) -> None:
    profile = profiles_profile.Profile(extension=profiles_profile.Extension(term, weight=weight))
    (extender,) = extender_configuration.write_extender_configuration(
        profile, "http://127.0.0.1:8888"
    )["extenders"]
    assert {key for key in extender if key.endswith("Verb")} == verbs
    assert ("weight" in extender) is ("prioritizeVerb" in verbs)


def test_a_profile_without_extension_gets_no_extender() -> None:
    written = extender_configuration.write_extender_configuration(
        catalog.make_profile("schubert-85"), "http://unused"
    )
    assert written == configuration.write_configuration([catalog.make_profile("schubert-85")])


@pytest.mark.parametrize(
    ("url", "tls", "weight", "message"),
    [
        ("extender:80", None, 1, "must begin with http"),
        ("https://extender", None, 1, "https needs tls"),
        ("http://extender", extender_configuration.Tls(), 1, "http takes no tls"),
        ("http://extender", None, 0, "weight: 0: must be > 0"),
    ],
)
def test_extenders_kube_scheduler_would_refuse_are_refused(
    url: str, tls: extender_configuration.Tls | None, weight: int, message: str
) -> None:
    profile = profiles_profile.Profile(extension=profiles_profile.Extension("clbp", weight=weight))
    with pytest.raises(errors.InputError, match=message):
        extender_configuration.write_extender_configuration(profile, url, tls=tls)


def test_ties_of_a_term_are_not_left_to_chance() -> None:
    state, loads = loaded(10, 10, 50)
    pod, result = make_pod(10, 10, names=TWO), scheduler("load-aware", 200)
    chosen = {
        result.place(pod, state, np.random.default_rng(seed), loads=loads).row for seed in range(20)
    }
    assert chosen == {0}
