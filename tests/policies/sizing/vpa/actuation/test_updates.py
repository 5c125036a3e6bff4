"""Rounds of the updater, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubestow.model import quantities
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing.vpa.actuation import priorities, updates
from kubestow.policies.sizing.vpa.actuation.pods import ResizeCondition, Termination, UpdaterPod
from kubestow.policies.sizing.vpa.actuation.policies import (
    UpdateMode,
    UpdatePolicy,
    UpdaterParameters,
)
from kubestow.policies.sizing.vpa.capping.pod_limits import PodContainer
from kubestow.policies.sizing.vpa.recommendations import VpaRecommendation

NOW_S = 1e6
HOUR_S = 3600.0


def amounts(**given: str) -> dict[str, quantities.Quantity]:
    return {name: quantities.parse(text) for name, text in given.items()}


def make_pod(number: int, cpu: str = "100m", age_s: float = HOUR_S) -> UpdaterPod:
    resources = ContainerResources(amounts(cpu=cpu, memory="100Mi"))
    return UpdaterPod(
        f"web-{number}", (PodContainer("web", resources),), "rs/web", started_s=NOW_S - age_s
    )


def recommend(cpu: str, lower: str, upper: str) -> priorities.Recommended:
    same = {"memory": "100Mi"}
    return (
        VpaRecommendation(
            "web",
            amounts(cpu=cpu, **same),
            amounts(cpu=lower, **same),
            amounts(cpu=upper, **same),
        ),
    )


def make_case(
    pods: list[UpdaterPod], mode: UpdateMode = "Recreate", **more: object
) -> updates.UpdateCase:
    given: dict[str, object] = {
        "recommended": recommend("300m", "200m", "400m"),
        "configured": {"rs/web": len(pods)},
        **more,
    }
    return updates.UpdateCase(tuple(pods), policy=UpdatePolicy(mode), now_s=NOW_S, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("replicas", "evicted"),
    [
        (1, 0),  # fewer than the two that are needed
        (2, 1),  # int(2 * 0.5) = 1 may be away
        (3, 1),  # int(1.5) = 1
        (5, 2),
        (10, 5),
    ],
)
def test_at_most_half_of_the_replicas_are_evicted(replicas: int, evicted: int) -> None:
    plan = updates.plan_updates(make_case([make_pod(n) for n in range(replicas)]))
    assert len(plan.evict) == evicted
    assert plan.resize == ()


def test_with_no_tolerance_one_pod_goes_if_all_run() -> None:
    case = make_case([make_pod(n) for n in range(3)], parameters=UpdaterParameters(tolerance=0.1))
    assert updates.plan_updates(case).evict == ("web-0",)
    missing = replace(case, configured={"rs/web": 4})
    assert updates.plan_updates(missing).evict == ()


def test_pods_that_need_more_come_first_then_those_that_change_most() -> None:
    pods = [make_pod(0, "150m"), make_pod(1, "900m"), make_pod(2, "50m"), make_pod(3, "190m")]
    # Changes: 150 -> 300 is 1.0; 900 -> 300 is 0.67 but shrinks; 50 -> 300 is 5.0; 190 is 0.58.
    case = make_case(pods, parameters=UpdaterParameters(tolerance=1.0))
    assert updates.plan_updates(case).evict == ("web-2", "web-0", "web-3", "web-1")


@pytest.mark.parametrize(
    ("cpu", "age_s", "updated"),
    [
        ("250m", HOUR_S, False),  # within its bounds and young
        ("250m", 13 * HOUR_S, True),  # lived twelve hours and changes by 20 %
        ("280m", 13 * HOUR_S, False),  # changes by 7 % only
        ("150m", 60.0, True),  # below the lower bound, however young
        ("450m", 60.0, True),  # above the upper bound
    ],
)
def test_who_is_updated(cpu: str, age_s: float, updated: bool) -> None:
    pods = [make_pod(0, cpu, age_s), make_pod(1, "300m")]
    assert updates.plan_updates(make_case(pods)).evict == (("web-0",) if updated else ())


@pytest.mark.parametrize(
    ("lived_s", "ago_s", "updated"),
    [(300.0, 60.0, True), (700.0, 60.0, False), (300.0, 700.0, False)],
)
def test_a_quick_oom_kill_calls_for_an_update(lived_s: float, ago_s: float, updated: bool) -> None:
    ended = Termination("OOMKilled", NOW_S - ago_s - lived_s, NOW_S - ago_s)
    pods = [replace(make_pod(0, "250m"), terminations={"web": ended}), make_pod(1, "300m")]
    assert updates.plan_updates(make_case(pods)).evict == (("web-0",) if updated else ())


def test_a_quick_oom_kill_changes_nothing_where_nothing_would_change() -> None:
    ended = Termination("OOMKilled", NOW_S - 100, NOW_S - 50)
    pods = [replace(make_pod(0, "300m"), terminations={"web": ended}), make_pod(1, "300m")]
    assert updates.plan_updates(make_case(pods)).evict == ()


@pytest.mark.parametrize("mode", ["Off", "Initial", "InPlace"])
def test_modes_that_leave_running_pods_alone(mode: UpdateMode) -> None:
    # InPlace is behind a feature gate that is off by default.
    plan = updates.plan_updates(make_case([make_pod(n) for n in range(4)], mode))
    assert (plan.resize, plan.evict) == ((), ())


def test_in_place_comes_before_eviction() -> None:
    plan = updates.plan_updates(make_case([make_pod(n) for n in range(4)], "InPlaceOrRecreate"))
    assert (len(plan.resize), plan.evict) == (2, ())


def test_a_refused_resize_ends_in_eviction() -> None:
    case = make_case([make_pod(0), make_pod(1)], "InPlaceOrRecreate", refusing=("web-0",))
    plan = updates.plan_updates(case)
    assert plan.resize == ("web-1",)
    # Of two replicas one is resized already, so the other has to wait.
    assert plan.evict == ()
    alone = replace(case, pods=(make_pod(0), make_pod(1, "300m")))
    assert updates.plan_updates(alone).evict == ("web-0",)


def test_a_deferred_resize_ends_in_eviction_after_five_minutes() -> None:
    waiting = replace(
        make_pod(0), conditions=(ResizeCondition("PodResizePending", True, "Deferred"),)
    )
    case = make_case([waiting, make_pod(1, "300m")], "InPlaceOrRecreate")
    first = updates.plan_updates(case)
    assert first.evict == ()
    assert first.memory.since_s == {"web-0": NOW_S}
    for waited_s, evicted in ((300.0, ()), (301.0, ("web-0",))):
        later = replace(case, now_s=NOW_S + waited_s)
        assert updates.plan_updates(later, first.memory).evict == evicted


def test_in_place_only_retries_a_refused_size_when_it_has_become_smaller() -> None:
    refused = replace(
        make_pod(0), conditions=(ResizeCondition("PodResizePending", True, "Infeasible"),)
    )
    case = make_case(
        [refused, make_pod(1, "300m")], "InPlace", parameters=UpdaterParameters(in_place=True)
    )
    first = updates.plan_updates(case)
    assert (first.resize, first.evict) == (("web-0",), ())
    assert updates.plan_updates(case, first.memory).resize == ()
    smaller = replace(case, recommended=recommend("250m", "200m", "400m"))
    assert updates.plan_updates(smaller, first.memory).resize == ("web-0",)


def test_pods_of_unknown_controllers_are_left() -> None:
    case = make_case([make_pod(n) for n in range(4)], configured={})
    assert updates.plan_updates(case).evict == ()
