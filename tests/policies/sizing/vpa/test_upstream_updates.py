"""The cases of upstream's own tests of the updater: priority, eviction, resize in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubestow.policies.sizing.vpa.actuation import pods, priorities, restrictions
from kubestow.policies.sizing.vpa.actuation.policies import (
    EvictionRequirement,
    UpdatePolicy,
    UpdaterParameters,
)
from kubestow.policies.sizing.vpa.actuation.priorities import Priority
from tests.policies.sizing.vpa import recorded
from tests.policies.sizing.vpa.oracle import instants

ALL = recorded.load("upstream_tables.jsonl.gz")


def cases(
    kind: str, wanted: Callable[[recorded.Json], bool] = lambda _: True
) -> pytest.MarkDecorator:
    result = [case for case in ALL if case["kind"] == kind and wanted(case)]
    assert result
    return pytest.mark.parametrize("case", result, ids=lambda c: f"{c['package']}-{c['name']}")


def boosted(case: recorded.Json) -> bool:
    """Tell whether a case is about the CPU boost at start, which is not modelled."""
    return "vpaCpuStartupBoost" in str(case["in"]) or "startupBoost" in str(case["in"])


def read_priority(value: recorded.Json) -> Priority:
    return Priority(value["OutsideRecommendedRange"], value["ScaleUp"], value["ResourceDiff"])


def seconds(pair: list[int]) -> float:
    return instants.to_seconds(recorded.to_ns(pair))


@cases("priority")
def test_the_urgency_of_an_update_is_upstreams(case: recorded.Json) -> None:
    pod, recommended = case["in"]
    got = priorities.update_priority(recorded.read_pod(pod), recorded.read_recommended(recommended))
    assert got == read_priority(case["out"])


@cases("judged", lambda case: not case["in"]["error"])
def test_pods_are_chosen_as_upstream_chooses_them(case: recorded.Json) -> None:
    given = case["in"]
    policy = recorded.update_policy_of(given["vpa"])
    flags = UpdaterParameters(
        threshold=given["config"]["MinChangePriority"],
        lifetime_s=given["config"]["lifetime"] / 1e9,
        oom_threshold_s=given["config"]["oom"] / 1e9,
        per_vpa_config=given["perVPA"],
    )
    rules = priorities.UpdateRules(
        recorded.policies_of(given["vpa"]), policy, flags, seconds(given["now"])
    )
    chosen = priorities.needs_update(
        recorded.read_pod(given["pod"]), read_priority(given["priority"]), rules
    )
    if policy.mode == "InPlace" and given["infeasible"] is not None:
        refused = recorded.read_recommended(given["infeasible"])
        now = recorded.read_recommended(given["recommendation"])
        chosen = chosen and priorities.has_lower(refused, now)
    assert chosen == case["out"]


@cases("sorted")
def test_urgent_pods_come_first(case: recorded.Json) -> None:
    ranked_pods = [
        (pods.UpdaterPod(name, ()), read_priority(value))
        for name, value, admitted in case["in"]
        if admitted
    ]
    by_name = {pod.name: result for pod, result in ranked_pods}
    got = [by_name[pod.name] for pod in priorities.order(ranked_pods)]
    # Upstream leaves the order of equal ones open, so their priorities are compared.
    assert got == [by_name[name] for name in case["out"]]


@cases("admitted")
def test_eviction_requirements_are_judged_as_upstream_judges_them(case: recorded.Json) -> None:
    given = case["in"]
    requirements = tuple(
        EvictionRequirement(tuple(one["resources"]), one["changeRequirement"])
        for one in given["requirements"] or ()
    )
    policy = UpdatePolicy(requirements=requirements if given["found"] else None)
    pod, recommended = given["pod"], recorded.read_recommended(given["recommendation"])
    assert priorities.admitted(recorded.read_pod(pod), recommended, policy) == case["out"]


def read_group(value: recorded.Json | None) -> restrictions.ReplicaGroup | None:
    if value is None:
        return None
    return restrictions.ReplicaGroup(
        value["configured"],
        value["running"],
        value["tolerance"],
        value.get("evicted", 0),
        value.get("resized", 0),
        below_minimum=value["below"],
    )


def times(given: recorded.Json) -> tuple[float, float]:
    """Return when a resize was first seen, and now."""
    now_s = 0.0 if given["now"] is None else seconds(given["now"])
    return now_s if given["since"] is None else seconds(given["since"]), now_s


@cases("groups", lambda case: not boosted(case))
def test_groups_are_formed_as_upstream_forms_them(case: recorded.Json) -> None:
    given = case["in"]
    live = [recorded.read_pod(pod) for pod in given["pods"] or ()]
    configured: dict[str, Any] = dict(given["configured"])
    for creator in configured:
        if creator.startswith("Job/"):  # a Job has no number of replicas, its live pods count
            configured[creator] = sum(pod.creator == creator for pod in live)
    flags = UpdaterParameters(
        min_replicas=given["minReplicas"], tolerance=given["tolerance"], skip_budget=given["skip"]
    )
    policy = recorded.update_policy_of(given["vpa"])
    got = restrictions.group(live, configured, policy, flags)
    assert got == {creator: read_group(value) for creator, value in case["out"].items()}


@cases("evict")
def test_pods_may_be_evicted_where_upstream_allows_it(case: recorded.Json) -> None:
    given = case["in"]
    pod, members = recorded.read_pod(given["pod"]), read_group(given["group"])
    got = restrictions.can_evict(pod, members, UpdaterParameters(), *times(given))
    assert got == case["out"]


@cases("resize", lambda case: not boosted(case))
def test_resizes_are_decided_as_upstream_decides_them(case: recorded.Json) -> None:
    given = case["in"]
    status = given["vpa"]["status"].get("recommendation")
    refused = given["infeasible"]
    asked = restrictions.Resizing(
        recorded.update_policy_of(given["vpa"]),
        UpdaterParameters(skip_budget=given["skip"], in_place=given["gate"]),
        None if status is None else recorded.read_recommended(status),
        None if refused is None else recorded.read_recommended(refused),
        *times(given),
    )
    got = restrictions.can_resize(
        recorded.read_pod(given["pod"]), read_group(given["group"]), asked
    )
    assert f"InPlace{got}" == case["out"]
