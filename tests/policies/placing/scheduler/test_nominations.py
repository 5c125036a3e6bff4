"""Preemption in a run over pending pods: nominations, victims, and what other pods see."""

from __future__ import annotations

from typing import Any

from kubestow import testing
from kubestow.policies.placing.profiles import profile
from tests.policies.placing.recorded import read_profiles
from tests.policies.placing.volume_scenes import claim, nodes, place, pod, volume


def running(name: str, cpu: str = "3", priority: int = 0, **more: Any) -> dict[str, Any]:
    return testing.pod(name, cpu=cpu, priority=priority, **{"on": "n1", **more})


def wanted(name: str, cpu: str = "2", priority: int = 10, **more: Any) -> dict[str, Any]:
    return testing.pod(name, cpu=cpu, priority=priority, **more)


def preempt(*objects: dict[str, Any], **options: Any) -> dict[str, Any]:
    placed = place(*objects, preemption=True, **options)
    return {
        name: placement.node or placement.as_json().get("preemption")
        for name, placement in placed.items()
    }


def test_a_pod_that_fits_nowhere_is_nominated_for_a_node() -> None:
    result = preempt(testing.node("n1"), running("low"), wanted("p"))
    assert result["p"] == {"node": "n1", "victims": ["default/low"], "broken_budgets": 0}


def test_without_preemption_nothing_is_nominated() -> None:
    objects = (testing.node("n1"), running("low"), wanted("p"))
    assert "preemption" not in place(*objects)["p"].as_json()
    off = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": {"postFilter": {"disabled": [{"name": "*"}]}}}],
    }
    (configured,) = read_profiles(off)
    assert preempt(*objects, profile=configured)["p"] is None
    assert preempt(*objects, profile=profile.Profile())["p"] is not None


def test_a_pod_that_never_preempts_does_not() -> None:
    objects = (testing.node("n1"), running("low"))
    assert preempt(*objects, wanted("p", preemptionPolicy="Never"))["p"] is None
    kind = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "gentle"},
        "value": 10,
        "preemptionPolicy": "Never",
    }
    gentle = testing.pod("p", cpu="2", priorityClassName="gentle")
    assert preempt(*objects, kind, gentle)["p"] is None


def test_the_node_with_fewer_broken_budgets_is_chosen() -> None:
    def budget(allowed: int) -> dict[str, Any]:
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b", "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": "web"}}},
            "status": {"disruptionsAllowed": allowed},
        }

    objects = (
        testing.node("n1"),
        testing.node("n2"),
        running("covered", labels={"app": "web"}),
        # Its higher priority would make n2 the worse choice, but budgets come first.
        running("free", priority=5, on="n2"),
        wanted("p"),
    )
    assert preempt(*objects, budget(1))["p"]["node"] == "n1"
    assert preempt(*objects, budget(0))["p"]["node"] == "n2"


def test_nominated_pods_count_for_pods_of_the_same_or_lower_priority() -> None:
    objects = (
        testing.node("n1"),
        running("low", "3"),
        wanted("p", "2", priority=10),
        wanted("same", "500m", priority=10),
        wanted("low-too", "500m", priority=0),
    )
    # 3 of 4 cores are taken. The nominated pod counts 2 more: 500 m do not fit beside both.
    result = preempt(*objects)
    assert result["p"]["node"] == "n1"
    assert result["low-too"] is None
    # With the victim away, 2 and 0.5 fit in 4 cores.
    assert result["same"] == {"node": "n1", "victims": ["default/low"], "broken_budgets": 0}


def test_a_pod_of_higher_priority_is_not_held_up_by_a_nomination_in_the_input() -> None:
    waiting = wanted("waiting", "4", priority=1)
    waiting["status"]["nominatedNodeName"] = "n1"
    objects = (testing.node("n1"), running("low", "1"), waiting)
    assert preempt(*objects, wanted("low-too", "1", priority=0))["low-too"] is None
    assert preempt(*objects, wanted("higher", "1", priority=2))["higher"] == "n1"


def test_a_pod_takes_the_node_that_was_freed_for_it() -> None:
    freed = wanted("p", "1")
    freed["status"]["nominatedNodeName"] = "n2"
    objects = (testing.node("n1"), testing.node("n2"), running("busy", "1", on="n2"), freed)
    assert preempt(*objects)["p"] == "n2"  # n1 is empty and scores better


def test_victims_must_make_volumes_available() -> None:
    mine = claim("data", bound="v", accessModes=["ReadWriteOncePod"])
    holder = pod("holder", "data", on="a0")
    coming = pod("p", "data", priority=10)
    result = preempt(*nodes("a", "b"), volume("v"), mine, holder, coming)
    # The claim is free only if its user goes, and that is tried on the user's node alone.
    assert result["p"] == {"node": "a0", "victims": ["default/holder"], "broken_budgets": 0}


def test_preemption_does_not_help_where_a_volume_cannot_be_reached() -> None:
    objects = (
        *nodes("a", "b"),
        volume("v", to="b"),
        claim("data", bound="v"),
        pod("low", on="a0"),
        testing.pod("full", cpu="4", on="b1", priority=10),
        pod("p", "data", priority=10),
    )
    assert preempt(*objects)["p"] is None
