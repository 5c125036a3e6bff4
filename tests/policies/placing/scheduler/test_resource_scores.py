"""Resource scores with worked arithmetic, and the flaw of the 85 % knee."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import clusters, pods, states
from kubestow.policies.placing.profiles import catalog, profile, versions
from kubestow.policies.placing.scheduler import resource_scores
from kubestow.policies.placing.scheduler import scheduler as scheduler_scheduler
from kubestow.policies.placing.scheduler.cycle import Cycle
from tests.model.make import container, node, pod


def cycle(profile: profile.Profile, *, cpu: str, memory: str, version: str = "1.37") -> Cycle:
    """Return a pod meeting one node of 10 cores and 10 000 bytes."""
    state = states.from_cluster(clusters.Cluster((node("n", cpu="10", memory="10000"),)))
    wanted = pod(container(cpu=cpu, memory=memory))
    return Cycle(wanted, state, profile, versions.scheduler_features(version))


def test_least_allocated() -> None:
    # CPU (10000 - 2500) * 100 / 10000 = 75, memory (10000 - 5000) * 100 / 10000 = 50
    # mean (75 + 50) / 2 = 62.5 -> 62
    stock = profile.Profile()
    assert resource_scores.allocation(cycle(stock, cpu="2500m", memory="5000")).tolist() == [62]


def test_most_allocated() -> None:
    # 25 and 50: (25 + 50) / 2 = 37.5 -> 37
    most = catalog.make_profile("most-allocated")
    assert resource_scores.allocation(cycle(most, cpu="2500m", memory="5000")).tolist() == [37]


@pytest.mark.parametrize(
    ("percent", "score"), [(0, 10), (85, 100), (86, 0), (100, 0), (42, 54), (17, 28)]
)
def test_shape_points_of_the_thesis(percent: int, score: int) -> None:
    # between 0 and 85: 10 + 90 * p / 85 in integers: 42 -> 10 + 44 = 54; 17 -> 10 + 18 = 28
    shape = catalog.make_profile("schubert-85").fit.shape
    assert resource_scores.shape_value(shape, np.array([percent])).tolist() == [score]


@pytest.mark.parametrize(
    ("cpu", "memory", "upstream", "thesis", "fixed"),
    [
        ("9", "8500", 100, 50, 55),  # the resource over the knee is forgotten: 100 / 1
        ("9", "6000", 73, 36.5, 54),  # 73 / 1; fixed (10 + 90 + 10 * 60 / 85) / 2 = 53.5 -> 54
        ("9", "9000", 0, 0, 10),
    ],
)
def test_the_knee_is_not_enforced_when_one_resource_is_over(
    cpu: str, memory: str, upstream: int, thesis: float, fixed: int
) -> None:
    strict = cycle(catalog.make_profile("schubert-85"), cpu=cpu, memory=memory)
    assert resource_scores.allocation(strict).tolist() == [upstream]
    shape = strict.profile.fit.shape
    percents = np.array([int(float(cpu) * 10), int(memory) // 100])
    assert resource_scores.shape_value(shape, percents).mean() == thesis
    mended = cycle(catalog.make_profile("schubert-85-fixed"), cpu=cpu, memory=memory)
    assert resource_scores.allocation(mended).tolist() == [fixed]


def test_balance_before_and_since_1_36() -> None:
    # after placing: fractions 0.25 and 0.75, deviation 0.25 -> 75; the empty node is at 100
    # since 1.36: 50 + (50 + 75 - 100) / 2 = 62.5 -> 62
    stock = profile.Profile()
    old = cycle(stock, cpu="2500m", memory="7500", version="1.35")
    new = cycle(stock, cpu="2500m", memory="7500", version="1.36")
    before, since = resource_scores.balance(old), resource_scores.balance(new)
    assert before is not None
    assert since is not None
    assert (before.tolist(), since.tolist()) == ([75], [62])


def test_pods_without_requests_are_not_balanced_since_1_33() -> None:
    stock = profile.Profile()
    assert resource_scores.balance(cycle(stock, cpu="0", memory="0")) is None
    assert resource_scores.balance(cycle(stock, cpu="0", memory="0", version="1.32")) is not None


def test_upstreams_zero_rule_prefers_a_node_over_the_limit() -> None:
    # a would have CPU 90 %, memory 80 %: 94 / 1; b 40 % each: (52 + 52) / 2
    assert chosen("schubert-85", [(7, 60), (2, 20)], (2, 20)) == 0
    assert chosen("schubert-85-fixed", [(7, 60), (2, 20)], (2, 20)) == 1


def chosen(name: str, loads: list[tuple[int, int]], wanted: tuple[int, int]) -> int | None:
    """Return the node a profile chooses; loads are cores of 10 and percent of memory."""

    def made(load: tuple[int, int]) -> pods.Pod:
        return pod(container(cpu=str(load[0]), memory=str(load[1] * 100)))

    nodes = tuple(
        node(f"n{i}", {"kubernetes.io/hostname": f"n{i}"}, cpu="10", memory="10000")
        for i in range(len(loads))
    )
    state = states.from_cluster(clusters.Cluster(nodes))
    for row, load in enumerate(loads):
        state.place(made(load), row)
    scheduler = scheduler_scheduler.Scheduler(
        catalog.make_profile(name), versions.scheduler_features()
    )
    return scheduler.place(made(wanted), state).row


@given(
    st.lists(st.tuples(st.integers(0, 10), st.integers(0, 100)), min_size=2, max_size=6),
    st.tuples(st.integers(0, 4), st.integers(0, 40)),
)
def test_the_fixed_profile_goes_over_the_limit_only_where_it_must(
    loads: list[tuple[int, int]], wanted: tuple[int, int]
) -> None:
    def within(row: int) -> bool:
        cpu, memory = loads[row][0] + wanted[0], loads[row][1] + wanted[1]
        return cpu * 10 <= catalog.LIMIT_PERCENT and memory <= catalog.LIMIT_PERCENT

    row = chosen("schubert-85-fixed", loads, wanted)
    if any(within(r) for r in range(len(loads))):
        assert row is not None
        assert within(row)


def test_a_placement_explains_itself_as_a_decision_record() -> None:
    nodes = (node("a", cpu="4", memory="4Gi"), node("b", cpu="2", memory="4Gi"), node("c", cpu="1"))
    state = states.from_cluster(clusters.Cluster(nodes))
    scheduler = scheduler_scheduler.Scheduler(profile.Profile(), versions.scheduler_features())
    record = scheduler.place(pod(container(cpu="1", memory="1Gi")), state).record()
    assert (record.kind, record.subject, record.outcome) == ("placing", "pod/default/p", "a")
    assert [candidate.name for candidate in record.candidates] == ["a", "b"]
    best = record.candidates[0]
    assert best.total == sum(best.terms.values())
    assert record.rejected == {"c": "Insufficient memory"}
    assert record.as_json()["numbers"] == {"feasible": 2.0, "ties": 1.0}
