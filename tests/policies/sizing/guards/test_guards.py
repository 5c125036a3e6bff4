"""Guards: each rule by worked numbers, and what holds after all of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubestow.model import limit_ranges, quantities, requests
from kubestow.model.keys import ContainerKey
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing.guards import heaps, rules
from kubestow.policies.sizing.guards.guards import (
    CPU,
    MEMORY,
    MIB,
    GuardContext,
    GuardParameters,
)
from kubestow.policies.sizing.recommendations import Recommendation

PLAIN = GuardParameters()


def key(container: str) -> ContainerKey:
    return ContainerKey("shop", "Deployment", "web", container)


def current(**containers: tuple[str, str] | tuple[str, str, str, str]) -> dict[str, Any]:
    result = {}
    for name, stated in containers.items():
        amounts = [quantities.parse(text) for text in stated]
        limits = dict(zip((CPU, MEMORY), amounts[2:], strict=False))
        result[name] = ContainerResources({CPU: amounts[0], MEMORY: amounts[1]}, limits)
    return result


def one(
    cpu_m: int, mebibytes: int, facts: GuardContext, parameters: GuardParameters = PLAIN
) -> Recommendation:
    (result,) = rules.guard(
        (Recommendation(key("c"), {CPU: cpu_m, MEMORY: mebibytes * MIB}),), facts, parameters
    )
    return result


def test_by_default_memory_is_limited_to_its_request_and_cpu_is_not() -> None:
    result = one(300, 200, GuardContext(current(c=("1", "1Gi"))))
    assert result.requests == {CPU: 300, MEMORY: 200 * MIB}
    assert result.limits == {MEMORY: 200 * MIB}
    assert result.reasons == ()


def test_small_changes_are_not_made() -> None:
    # 950 of 1000 m is a change of 5 %, 512 of 1024 MiB one of half.
    result = one(950, 512, GuardContext(current(c=("1", "1Gi"))))
    assert result.requests == {CPU: 1000, MEMORY: 512 * MIB}
    assert result.reasons == ("cpu: change below 10 %",)


def test_an_autoscaled_request_stays_and_the_note_names_the_target_that_would_do() -> None:
    # 60 % of 1000 m are 600 m; of 800 m that would be 75 %.
    result = one(800, 512, GuardContext(current(c=("1", "1Gi")), autoscaled={CPU: 60}))
    assert result.requests[CPU] == 1000
    assert result.reasons == (
        "cpu: an HPA scales on 60 % of this request; 75 % of the new one would scale alike",
    )


def test_no_spiral_under_an_autoscaler() -> None:
    # Usage per pod is 80 % of the request, whatever it is: the unguarded rule would ask for 0.8,
    # 0.64, 0.51 ... of it.
    stated = current(c=("1", "1Gi"))
    for _ in range(5):
        facts = GuardContext(stated, autoscaled={CPU: 80})
        result = one(int(0.8 * facts.request("c", CPU)), 512, facts)
        stated = current(c=(f"{result.requests[CPU]}m", "512Mi"))
    assert result.requests[CPU] == 1000


def test_floors() -> None:
    result = one(1, 1, GuardContext())
    assert result.requests == {CPU: 10, MEMORY: 32 * MIB}


@pytest.mark.parametrize(
    ("killed", "wanted", "expected"),
    [
        (300, 200, 400),  # + 100 MiB is more than x 1.2
        (1000, 200, 1200),
        (1000, 1500, 1500),
    ],
)
def test_what_was_killed_is_never_recommended_again(
    killed: int, wanted: int, expected: int
) -> None:
    facts = GuardContext(current(c=("1", f"{killed}Mi")), oom_killed_bytes={"c": killed * MIB})
    assert one(500, wanted, facts).requests[MEMORY] == expected * MIB


def test_a_kill_counts_more_than_an_autoscaler_and_than_a_small_change() -> None:
    facts = GuardContext(
        current(c=("1", "1000Mi")), oom_killed_bytes={"c": 1000 * MIB}, autoscaled={MEMORY: 80}
    )
    assert one(500, 1050, facts).requests[MEMORY] == 1200 * MIB


def test_a_heap_is_not_cut() -> None:
    heap = heaps.JavaHeap(1024 * MIB, None, "heap flag")
    result = one(500, 300, GuardContext(current(c=("1", "4Gi")), heaps={"c": heap}))
    assert result.requests[MEMORY] == 1280 * MIB
    assert result.reasons == ("Java heap of 1024 MiB",)


def test_an_unknown_heap_is_not_shrunk_but_may_grow() -> None:
    heap = heaps.JavaHeap(None, None, "image")
    facts = GuardContext(current(c=("1", "4Gi")), heaps={"c": heap})
    assert one(500, 300, facts).requests[MEMORY] == 4096 * MIB
    assert one(500, 6000, facts).requests[MEMORY] == 6000 * MIB


def test_the_whole_pod_fits_the_largest_node() -> None:
    # 3000 and 3000 m on a node of 4000 m: both had 1000, so 2000 of growth are shared 1 : 1.
    facts = GuardContext(current(a=("1", "1Gi"), b=("1", "1Gi")), node={CPU: 4000, MEMORY: 2**40})
    pod = tuple(Recommendation(key(name), {CPU: 3000, MEMORY: 2**30}) for name in "ab")
    result = rules.guard(pod, facts, PLAIN)
    assert [sized.requests[CPU] for sized in result] == [2000, 2000]
    assert "cpu: no node is larger" in result[0].reasons


def test_containers_without_a_recommendation_take_their_room_too() -> None:
    facts = GuardContext(current(a=("1", "1Gi"), b=("3", "1Gi")), node={CPU: 4500, MEMORY: 2**40})
    (result,) = rules.guard((Recommendation(key("a"), {CPU: 9000}),), facts, PLAIN)
    assert result.requests[CPU] == 1500


def test_a_pod_that_never_fitted_shrinks_in_proportion() -> None:
    facts = GuardContext(current(a=("6", "1Gi"), b=("2", "1Gi")), node={CPU: 4000, MEMORY: 2**40})
    pod = (Recommendation(key("a"), {CPU: 6000}), Recommendation(key("b"), {CPU: 2000}))
    result = rules.guard(pod, facts, PLAIN)
    assert [sized.requests[CPU] for sized in result] == [3000, 1000]


def test_the_quota_is_shared_by_all_replicas() -> None:
    # 4 replicas of 1000 m; 2000 m are left, so each may have 500 m more.
    facts = GuardContext(current(c=("1", "1Gi")), replicas=4, quota={"requests.cpu": 2000})
    assert one(3000, 1024, facts).requests[CPU] == 1500


def test_memory_limits_count_against_their_quota_when_they_follow_requests() -> None:
    facts = GuardContext(
        current(c=("1", "1Gi", "2", "1Gi")), replicas=2, quota={"limits.memory": 1024 * MIB}
    )
    assert one(1000, 9000, facts).requests[MEMORY] == 1536 * MIB


def ranges(least: str, most: str) -> limit_ranges.LimitRanges:
    item = limit_ranges.LimitRangeItem(
        "Container",
        minimum={CPU: quantities.parse(least)},
        maximum={CPU: quantities.parse(most)},
    )
    return limit_ranges.combine([item])


@pytest.mark.parametrize(("wanted", "expected"), [(50, 100), (500, 500), (900, 800)])
def test_limit_ranges_bound_requests_and_want_a_limit(wanted: int, expected: int) -> None:
    result = one(wanted, 512, GuardContext(current(c=("2", "1Gi")), ranges=ranges("100m", "800m")))
    assert result.requests[CPU] == expected
    assert result.limits[CPU] == 800


def test_guaranteed_pods_stay_guaranteed() -> None:
    facts = GuardContext(current(c=("1", "1Gi", "1", "1Gi")), quality=requests.QosClass.GUARANTEED)
    result = one(300, 200, facts)
    assert result.limits == result.requests == {CPU: 300, MEMORY: 200 * MIB}


@pytest.mark.parametrize(
    ("rule", "limit"), [("none", None), ("keep", 2000), ("ratio", 600), ("request", 300)]
)
def test_rules_for_limits(rule: Any, limit: int | None) -> None:
    # Request 1000 m, limit 2000 m; 300 m are recommended.
    result = one(
        300, 512, GuardContext(current(c=("1", "1Gi", "2", "2Gi"))), GuardParameters(cpu_limit=rule)
    )
    assert result.limits.get(CPU) == limit


@settings(max_examples=200)
@given(
    wanted=st.lists(
        st.tuples(st.integers(0, 20_000), st.integers(0, 2**36)), min_size=1, max_size=4
    ),
    now=st.lists(st.tuples(st.integers(1, 8000), st.integers(1, 2**34)), min_size=4, max_size=4),
    killed=st.integers(0, 2**33),
    node=st.tuples(st.integers(100, 16_000), st.integers(2**28, 2**36)),
    guaranteed=st.booleans(),
)
def test_after_all_guards_the_pod_fits_and_limits_hold(
    wanted: list[tuple[int, int]],
    now: list[tuple[int, int]],
    killed: int,
    node: tuple[int, int],
    guaranteed: bool,
) -> None:
    names = [f"c{place}" for place in range(len(wanted))]
    stated = {
        name: ContainerResources({CPU: quantities.millis(cpu_m), MEMORY: quantities.units(memory)})
        for name, (cpu_m, memory) in zip(names, now, strict=False)
    }
    facts = GuardContext(
        stated,
        oom_killed_bytes={"c0": killed},
        node={CPU: node[0], MEMORY: node[1]},
        quality=requests.QosClass.GUARANTEED if guaranteed else requests.QosClass.BURSTABLE,
    )
    pod = tuple(
        Recommendation(key(name), {CPU: cpu_m, MEMORY: memory})
        for name, (cpu_m, memory) in zip(names, wanted, strict=True)
    )
    result = rules.guard(pod, facts, PLAIN)
    for place, resource in enumerate((CPU, MEMORY)):
        assert sum(sized.requests[resource] for sized in result) <= node[place]
    for sized in result:
        assert all(amount >= 0 for amount in sized.requests.values())
        assert sized.limits[MEMORY] >= sized.requests[MEMORY]
        assert (CPU in sized.limits) == guaranteed
    capped = any("no node is larger" in note for note in result[0].reasons)
    if killed and not capped:
        assert result[0].requests[MEMORY] > killed
