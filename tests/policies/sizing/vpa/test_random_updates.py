"""Two rounds of the updater on random workloads, against the genuine updater."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubestow.policies.sizing.vpa.actuation import pods, updates
from kubestow.policies.sizing.vpa.actuation.policies import (
    EvictionRequirement,
    UpdatePolicy,
    UpdaterParameters,
)
from tests.policies.sizing.vpa import recorded

CASES = recorded.load("random_updates.jsonl.gz")
NOW_S = 2e6  # ages in the data count back from here


def read_pods(given: recorded.Json) -> tuple[pods.UpdaterPod, ...]:
    """Return the pods of the targeted controller with their ages."""
    result = []
    for value in given["Pods"]:
        pod = recorded.read_pod(value)
        age_s, killed = given["Ages"].get(pod.name), given["Oom"].get(pod.name)
        ended = {}
        if killed is not None:
            ended = {"c0": pods.Termination("OOMKilled", NOW_S - killed[0], NOW_S - killed[1])}
        started_s = None if age_s is None else NOW_S - age_s
        result.append(replace(pod, started_s=started_s, terminations=ended))
    return tuple(pod for pod in result if pod.creator == "ReplicaSet/rs")


def read_policy(vpa: recorded.Json) -> UpdatePolicy:
    requirements = tuple(
        EvictionRequirement(tuple(one["resources"]), one["changeRequirement"])
        for one in vpa["spec"]["updatePolicy"].get("evictionRequirements", ())
    )
    return replace(recorded.update_policy_of(vpa), requirements=requirements)


def read_case(given: recorded.Json) -> updates.UpdateCase:
    return updates.UpdateCase(
        read_pods(given),
        {f"ReplicaSet/{name}": count for name, count in given["Replicas"].items()},
        recorded.read_recommended(given["Vpa"]["status"]["recommendation"]),
        recorded.policies_of(given["Vpa"]),
        read_policy(given["Vpa"]),
        parameters=UpdaterParameters(
            min_replicas=given["MinReplicas"],
            tolerance=given["Tolerance"],
            skip_budget=given["Skip"],
            in_place=given["InPlace"],
            per_vpa_config=given["PerVPA"],
        ),
        now_s=NOW_S,
        refusing=given["Refusing"],
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_rounds_end_as_those_of_the_genuine_updater(case: recorded.Json) -> None:
    given = case["in"]
    round_ = read_case(given)
    memory = updates.UpdaterMemory({name: NOW_S - age for name, age in given["Since"].items()})
    for expected in case["out"]:
        plan = updates.plan_updates(round_, memory)
        assert list(plan.resize) == expected["resize"]
        assert list(plan.evict) == expected["evict"]
        assert len(plan.memory.infeasible) == expected["infeasible"]
        memory = plan.memory
        round_ = replace(round_, recommended=recorded.read_recommended(given["Next"]))
