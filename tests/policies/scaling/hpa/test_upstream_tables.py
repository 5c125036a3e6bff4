"""The cases of upstream's own table tests, function by function."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from kubestow.model.decoding import fields
from kubestow.policies.scaling.hpa import behavior as hpa_behavior
from kubestow.policies.scaling.hpa import (
    configuration,
    hpa,
    pod_groups,
    replica_calculator,
    requests,
)
from kubestow.policies.scaling.hpa import memory as hpa_memory
from kubestow.policies.scaling.hpa import specification as specs
from tests.policies.scaling import recorded
from tests.policies.scaling.recorded import Json

SECOND_NS = 10**9


def cases(function: str) -> list[Json]:
    """Return the calls of a function; those of one test that loops inside are numbered."""
    result = recorded.load(f"upstream_{function}.json.gz")
    observation: Counter[str] = Counter()
    for case in result:
        observation[case["test"]] += 1
        number = observation[case["test"]]
        case["id"] = case["test"] if number == 1 else f"{case['test']}#{number}"
    return result


def name_of(case: Json) -> str:
    return str(case["id"])


def rules(given: Json | None) -> specs.ScalingRules:
    policies = (given or {}).get("policies") or []
    return specs.ScalingRules(
        window_s=(given or {}).get("stabilizationWindowSeconds", 0),
        select=(given or {}).get("selectPolicy", "Max"),
        policies=tuple(
            specs.HpaScalingPolicy(p["type"], p["value"], p["periodSeconds"]) for p in policies
        ),
    )


def events(given: Json) -> hpa_memory.HpaMemory:
    return hpa_memory.HpaMemory(
        up_events=recorded.stamps(given["up"]), down_events=recorded.stamps(given["down"])
    )


# Source and target of the metric that each function of replica_calculator.go serves.
SERVED = {
    "get_resource_replicas": (specs.RESOURCE, specs.UTILIZATION),
    "get_metric_replicas": (specs.PODS, specs.AVERAGE_VALUE),
    "get_object_metric_replicas": (specs.OBJECT, specs.VALUE),
    "get_object_per_pod_metric_replicas": (specs.OBJECT, specs.AVERAGE_VALUE),
    "get_external_metric_replicas": (specs.EXTERNAL, specs.VALUE),
    "get_external_per_pod_metric_replicas": (specs.EXTERNAL, specs.AVERAGE_VALUE),
}


def check_proposal(function: str, case: Json) -> None:
    given, expected = case["in"], case["out"]
    source, target = SERVED[function]
    features = recorded.gated(given["gates"])
    container = given.get("container", "")
    if container:
        source = specs.CONTAINER_RESOURCE
    kind = (given.get("object") or {}).get("kind", "")
    metric = specs.MetricSpec(
        source, given["name"], target, given["target"], container, object_kind=kind
    )
    down, up = given["tolerances"]
    calculator = replica_calculator.Calculator(
        low=1.0 - down,
        high=1.0 + up,
        distance=None,
        initialisation_ns=given["init"],
        delay_ns=given["delay"],
        features=features,
        namespace="default",
    )
    observation = recorded.make_observation(given, features)
    if "error" in expected:
        with pytest.raises(replica_calculator.Unavailable) as caught:
            calculator.propose(metric, observation, 0)
        # Ours says "a container" where only its request is known.
        assert expected["error"].partition(" in container")[0] in str(caught.value)
        return
    proposal = calculator.propose(metric, observation, 0)
    assert proposal.replicas == expected["replicas"]
    assert proposal.usage == expected["usage"]


@pytest.mark.parametrize("case", cases("get_resource_replicas"), ids=name_of)
def test_a_share_of_the_request_gives_upstreams_replicas(case: Json) -> None:
    check_proposal("get_resource_replicas", case)


@pytest.mark.parametrize("case", cases("get_metric_replicas"), ids=name_of)
def test_a_metric_of_pods_gives_upstreams_replicas(case: Json) -> None:
    check_proposal("get_metric_replicas", case)


@pytest.mark.parametrize("case", cases("get_object_metric_replicas"), ids=name_of)
def test_a_value_of_an_object_gives_upstreams_replicas(case: Json) -> None:
    check_proposal("get_object_metric_replicas", case)


@pytest.mark.parametrize("case", cases("get_object_per_pod_metric_replicas"), ids=name_of)
def test_an_average_of_an_object_gives_upstreams_replicas(case: Json) -> None:
    check_proposal("get_object_per_pod_metric_replicas", case)


@pytest.mark.parametrize("case", cases("get_external_metric_replicas"), ids=name_of)
def test_an_external_value_gives_upstreams_replicas(case: Json) -> None:
    check_proposal("get_external_metric_replicas", case)


@pytest.mark.parametrize("case", cases("get_external_per_pod_metric_replicas"), ids=name_of)
def test_an_external_average_gives_upstreams_replicas(case: Json) -> None:
    check_proposal("get_external_per_pod_metric_replicas", case)


@pytest.mark.parametrize("case", cases("group_pods"), ids=name_of)
def test_pods_are_grouped_like_upstream(case: Json) -> None:
    given, expected = case["in"], case["out"]
    table = recorded.make_table(given["pods"], [], recorded.STOCK)
    result = recorded.make_samples(given["metrics"], table)
    groups = pod_groups.Groups._make(
        pod_groups.group(
            0,
            given["name"] == "cpu",
            given["init"],
            given["delay"],
            100,
            table.phases,
            table.readies,
            table.deleted,
            table.started_s,
            table.ready_since_s,
            result.values_milli,
            result.present,
            result.sampled_s,
            result.window_s,
            result.values_milli,
        )
    )
    counts = (groups.ready, groups.unready, groups.missing)
    assert counts == (expected["ready"], len(expected["unready"]), len(expected["missing"]))
    assert len(table) - sum(counts) == len(expected["ignored"])


@pytest.mark.parametrize("case", cases("calculate_requests"), ids=name_of)
def test_requests_are_counted_like_upstream(case: Json) -> None:
    given, expected = case["in"], case["out"]
    features = recorded.gated(given["gates"])
    result = {
        pod["name"]: requests.request_milli(
            recorded.make_pod(pod), given["name"], given["container"], features
        )
        for pod in given["pods"]
    }
    if "error" in expected:
        assert min(result.values()) < 0
        assert ("not found" in expected["error"]) == (min(result.values()) == -2)
    else:
        assert result == expected["requests"]


@pytest.mark.parametrize("case", cases("convert_desired_replicas_with_rules"), ids=name_of)
def test_fixed_limits_equal_upstream(case: Json, monkeypatch: pytest.MonkeyPatch) -> None:
    given, expected = case["in"], case["out"]
    monkeypatch.setattr(hpa_behavior, "UP_FACTOR", 8.0)  # as upstream's tests set it
    result = hpa_behavior.limit_by_rules(
        given["current"], given["desired"], given["min"], given["max"]
    )
    assert (result.replicas, result.reason) == (
        expected["replicas"],
        (expected["reason"], expected["message"]),
    )


@pytest.mark.parametrize("case", cases("convert_desired_replicas_with_behavior_rate"), ids=name_of)
def test_limits_of_a_behavior_equal_upstream(case: Json) -> None:
    given, expected = case["in"], case["out"]
    behavior = specs.Behavior(rules(given["scaleUp"]), rules(given["scaleDown"]))
    spec = specs.AutoscalerSpec(given["max"], (), given["min"], behavior)
    result = hpa_behavior.limit_by_behavior(
        spec, behavior, events(given), given["current"], given["desired"], 0
    )
    assert (result.replicas, result.reason) == (
        expected["replicas"],
        (expected["reason"], expected["message"]),
    )


@pytest.mark.parametrize("case", cases("calculate_scale_up_limit_with_scaling_rules"), ids=name_of)
def test_the_limit_upwards_equals_upstream(case: Json) -> None:
    given = case["in"]
    result = hpa_behavior.up_limit(given["current"], rules(given["rules"]), events(given), 0)
    assert result == case["out"]["replicas"]


@pytest.mark.parametrize("case", cases("calculate_scale_down_limit_with_behaviors"), ids=name_of)
def test_the_limit_downwards_equals_upstream(case: Json) -> None:
    given = case["in"]
    result = hpa_behavior.down_limit(given["current"], rules(given["rules"]), events(given), 0)
    assert result == case["out"]["replicas"]


@pytest.mark.parametrize("case", cases("get_replicas_change_per_period"), ids=name_of)
def test_changes_of_a_period_are_summed_like_upstream(case: Json) -> None:
    given = case["in"]
    cutoff_ns = -given["period"] * SECOND_NS
    result = hpa_behavior.changed_since(recorded.stamps(given["events"]), cutoff_ns)
    assert result == case["out"]["replicas"]


@pytest.mark.parametrize("case", cases("stabilize_recommendation"), ids=name_of)
def test_the_largest_recent_recommendation_wins_like_upstream(case: Json) -> None:
    given, expected = case["in"], case["out"]
    entries = recorded.stamps(given["recommendations"])
    replicas, after = hpa_behavior.stabilize_by_rules(entries, given["desired"], given["window"], 0)
    assert replicas == expected["replicas"]
    assert recorded.amounts(after) == recorded.amounts(expected["recommendations"])


@pytest.mark.parametrize("case", cases("stabilize_recommendation_with_behaviors"), ids=name_of)
def test_both_windows_stabilize_like_upstream(case: Json) -> None:
    given, expected = case["in"], case["out"]
    replicas, after = hpa_behavior.stabilize_by_behavior(
        recorded.stamps(given["recommendations"]),
        given["current"],
        given["desired"],
        given["up"] * SECOND_NS,
        given["down"] * SECOND_NS,
        0,
    )
    assert replicas == expected["replicas"]
    assert recorded.amounts(after) == recorded.amounts(expected["recommendations"])


@pytest.mark.parametrize("case", cases("store_scale_event"), ids=name_of)
def test_scale_events_are_stored_like_upstream(case: Json) -> None:
    given, expected = case["in"], case["out"]
    change = given["new"] - given["previous"]
    direction, key = ("up", "scaleUp") if change > 0 else ("down", "scaleDown")
    stored = recorded.stamps(given[direction])
    if given.get("behavior") is not None:
        policies = (given["behavior"].get(key) or {}).get("policies") or []
        longest = max((policy["periodSeconds"] for policy in policies), default=0)
        stored = hpa_memory.store_event(stored, abs(change), longest * SECOND_NS, 0)
    assert recorded.amounts(stored) == recorded.amounts(expected[direction])


# What a sync depends on that an observation does not have.
INEXPRESSIBLE = {
    "TestConditionInvalidSelectorMissing": "the scale has no selector",
    "TestConditionInvalidSelectorUnparsable": "the scale's selector cannot be parsed",
    "TestConditionAmbiguousSelectorWhenFullSelectorOverlapBetweenHPAs": "two autoscalers",
    "TestConditionAmbiguousSelectorWhenPartialSelectorOverlapBetweenHPAs": "two autoscalers",
    "TestConditionFailedUpdateScale": "the target cannot be written",
}
SOURCES = ("Resource", "ContainerResource", "Pods", "Object", "External")


def is_expressible(case: Json) -> bool:
    # An API server refuses other source types, such as the tests' CheddarCheese.
    known = all(metric["type"] in SOURCES for metric in case["in"]["hpa"]["spec"]["metrics"])
    return known and case["test"].partition("/")[0] not in INEXPRESSIBLE


SYNCS = [case for case in cases("reconcile_autoscaler") if is_expressible(case)]


def read_lenient(given: Json) -> specs.AutoscalerSpec:
    """Read an autoscaler that an API server would refuse for scaling a CPU metric to zero."""
    spec = {**given["spec"]}
    least = spec.get("minReplicas", 1)
    document = {**given, "spec": {**spec, "minReplicas": max(least, 1)}}
    for metric in spec["metrics"]:
        for source in metric.values():
            if isinstance(source, dict) and not source["target"]["type"]:
                # The controller does not come to look at it.
                source["target"] = {"type": "Utilization", "averageUtilization": 50}
    result = configuration.read_autoscaler(fields.Field(document, "hpa"), recorded.STOCK)
    return replace(result, min_replicas=least)


@pytest.mark.parametrize("case", SYNCS, ids=name_of)
def test_whole_syncs_equal_upstream(case: Json, monkeypatch: pytest.MonkeyPatch) -> None:
    given, expected = case["in"], case["out"]
    monkeypatch.setattr(hpa_behavior, "UP_FACTOR", 8.0)  # as upstream's tests set it
    features = recorded.gated(given["gates"])
    spec = read_lenient(given["hpa"])
    parameters = hpa.HpaParameters(
        tolerance=given["tolerance"],
        downscale_stabilization_s=given["window"] / 1e9,
        cpu_initialization_period_s=given["init"] / 1e9,
        initial_readiness_delay_s=given["delay"] / 1e9,
    )
    scaler = hpa.Hpa(spec, parameters, features)
    memory = hpa_memory.HpaMemory(
        recommendations=recorded.stamps(given["recommendations"])
        if "recommendations" in given
        else None,
        up_events=recorded.stamps(given["up"]),
        down_events=recorded.stamps(given["down"]),
        scaled_to_zero=spec.scaled_to_zero,
    )
    decision, after = scaler.decide(recorded.make_observation(given, features), memory)
    assert decision.proposed == expected["proposed"]
    for condition in decision.conditions:
        assert [condition.status, condition.reason] == expected["conditions"][condition.kind][:2]
    if decision.proposed is not None or decision.rescale:
        assert decision.desired == expected["desired"]
    assert after.recommendations is not None
    assert recorded.amounts(after.recommendations) == recorded.amounts(expected["recommendations"])
    assert recorded.amounts(after.up_events) == recorded.amounts(expected["up"])
    assert recorded.amounts(after.down_events) == recorded.amounts(expected["down"])


# metrics/utilization_test.go: samples, requests, target; ratio and percent.
SHARES = [
    pytest.param(126, 200, 50, 1.26, 63, id="base case"),
    pytest.param(1, 3, 33, 1.0, 33, id="percent is cut, not rounded"),  # 33.3 % -> 33 %
]


@pytest.mark.parametrize(("total", "requested", "target", "ratio", "percent"), SHARES)
def test_a_share_is_whole_percent(
    total: int, requested: int, target: int, ratio: float, percent: int
) -> None:
    result, whole = replica_calculator._share(total, requested, target)
    assert result == pytest.approx(ratio)
    assert whole == percent


def test_without_requests_there_is_no_share() -> None:
    with pytest.raises(
        replica_calculator.Unavailable, match="no metrics returned matched known pods"
    ):
        replica_calculator._share(126, 0, 50)
