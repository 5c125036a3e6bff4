"""Preemption against upstream's own tables, and what they leave open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kubestow.model import clusters, nodes, pods, quantities, states
from kubestow.policies.placing.profiles import catalog, versions
from kubestow.policies.placing.scheduler import preemption, scheduler
from tests.model import make

DATA = Path(__file__).parents[3] / "data" / "preemption_1_37" / "upstream_preemption.json"
UPSTREAM: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
SCHEDULER = scheduler.Scheduler(
    catalog.make_profile("kube-scheduler"), versions.scheduler_features("1.37")
)
NOW_NS = 1000.0  # a pod without a start time has started just now


def ids(name: str) -> list[str]:
    return [case["name"] for case in UPSTREAM[name]]


class Case:
    """A case of upstream's tables as model objects."""

    def __init__(self, case: dict[str, Any]) -> None:
        capacity = {k: quantities.parse(v) for k, v in UPSTREAM["capacity"].items()}
        self.names: list[str] = case["nodes"]
        result = tuple(nodes.Node(name, capacity) for name in self.names)
        self.state = states.from_cluster(clusters.Cluster(nodes=result))
        self.pod = _pod(case["pod"])
        self.allowed = {} if case.get("allowed") is None else {"foo": int(case["allowed"])}
        self.running: dict[int, list[preemption.Running]] = {}
        for entry in case["pods"]:
            row = self.names.index(entry["node"])
            started = NOW_NS if entry["started"] is None else float(entry["started"])
            running = preemption.Running(
                _pod(entry), started, (entry["app"],) if entry["app"] else ()
            )
            self.running.setdefault(row, []).append(running)
            self.state.place(running.pod, row)

    def choose(self, offset: int = 0) -> preemption.Preemption | None:
        return preemption.choose_victims(
            self.pod, self.state, SCHEDULER, self.running, self.allowed, offset
        )


def _pod(entry: dict[str, Any]) -> pods.Pod:
    container = pods.Container(
        "c", requests={k: quantities.parse(v) for k, v in entry["requests"].items()}
    )
    return pods.Pod(entry["name"], pods.PodSpec((container,), priority=entry["priority"]))


@pytest.mark.parametrize("case", UPSTREAM["select_best"], ids=ids("select_best"))
def test_the_node_is_the_one_upstream_chooses(case: dict[str, Any]) -> None:
    made = Case(case)
    result = made.choose()
    assert result is not None
    assert made.names[result.row] in case["expected"]


@pytest.mark.parametrize("case", UPSTREAM["dry_run"], ids=ids("dry_run"))
def test_the_victims_on_every_node_are_those_of_upstream(case: dict[str, Any]) -> None:
    made = Case(case)
    for row, name in enumerate(made.names):
        # Only this node has pods to give, so that it is the one that is chosen, if any.
        made.running, everything = {row: made.running.get(row, [])}, made.running
        result = made.choose()
        made.running = everything
        expected = case["candidates"].get(name)
        if expected is None:
            assert result is None
            continue
        assert result is not None
        assert sorted(v.pod.name for v in result.victims) == sorted(expected["victims"])
        assert result.broken_budgets == expected["violations"]


@pytest.mark.parametrize("case", UPSTREAM["dry_run"], ids=ids("dry_run"))
def test_the_state_ends_as_it_began(case: dict[str, Any]) -> None:
    made = Case(case)
    before = made.state.requested.copy()
    made.choose()
    assert np.array_equal(made.state.requested, before)


def small(name: str, priority: int, **more: Any) -> pods.Pod:
    return make.pod(make.container(cpu="1", memory="1"), name=name, priority=priority, **more)


def crowded(count: int, budgets: dict[int, str]) -> Case:
    """Return nodes of one core, each with one pod of low priority."""
    made = Case({"nodes": [], "pods": [], "pod": UPSTREAM["dry_run"][0]["pod"]})
    made.names = [f"n{i}" for i in range(count)]
    result = tuple(make.node(name, cpu="1", memory="9") for name in made.names)
    made.state = states.from_cluster(clusters.Cluster(nodes=result))
    made.pod = small("p", 10)
    for row in range(count):
        running = preemption.Running(
            small(f"v{row}", 0), 0.0, (budgets[row],) if row in budgets else ()
        )
        made.running[row] = [running]
        made.state.place(running.pod, row)
    return made


def test_candidates_are_looked_for_until_one_breaks_no_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # "looks past numCandidates until a non-PDB violating node is found": 2 of 5 nodes are enough,
    # but from the offset 4 on (n4, n0, n1 guarded) only n2 breaks nothing.
    monkeypatch.setattr(preemption, "LEAST_CANDIDATES", 2)
    monkeypatch.setattr(preemption, "LEAST_PERCENTAGE", 40)
    made = crowded(5, {0: "foo", 1: "foo", 4: "foo"})
    made.allowed = {"foo": 0}
    result = made.choose(offset=4)
    assert result is not None
    assert (made.names[result.row], result.broken_budgets) == ("n2", 0)


def test_enough_candidates_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preemption, "LEAST_CANDIDATES", 2)
    monkeypatch.setattr(preemption, "LEAST_PERCENTAGE", 40)
    made = crowded(5, {})
    made.running[2] = [preemption.Running(small("better", -5), 0.0)]
    result = made.choose(offset=4)  # n4 and n0 are enough; n2 would have been better
    assert result is not None
    assert made.names[result.row] == "n4"


def test_a_budget_is_spent_once() -> None:
    # One disruption is left and both must go: one of the two breaks it.
    made = crowded(1, {0: "foo"})
    made.allowed = {"foo": 1}
    other = preemption.Running(small("w", 0), 1.0, ("foo",))
    made.state = states.from_cluster(
        clusters.Cluster(nodes=(make.node("n0", cpu="2", memory="9"),))
    )
    made.running[0].append(other)
    for running in made.running[0]:
        made.state.place(running.pod, 0)
    made.pod = make.pod(make.container(cpu="2", memory="1"), name="p", priority=10)
    result = made.choose()
    assert result is not None
    assert (len(result.victims), result.broken_budgets) == (2, 1)


def test_a_node_whose_pods_are_too_small_is_no_candidate() -> None:
    made = crowded(2, {})
    made.pod = make.pod(make.container(cpu="2", memory="1"), name="p", priority=10)
    assert made.choose() is None


def test_a_selector_that_excludes_the_node_is_not_cured_by_preemption() -> None:
    made = crowded(2, {})
    made.pod = small("p", 10, node_selector={"disk": "ssd"})
    assert made.choose() is None
