"""HorizontalPodAutoscalers as specifications: defaults, and what an API server refuses."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubestow.model import errors
from kubestow.model.decoding import fields
from kubestow.policies.scaling.hpa import configuration, versions
from kubestow.policies.scaling.hpa import specification as specs

EXTERNAL: dict[str, Any] = {
    "type": "External",
    "external": {
        "metric": {"name": "rps"},
        "target": {"type": "AverageValue", "averageValue": "33.3"},
    },
}
CPU: dict[str, Any] = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
}


def read(spec: dict[str, Any], version: str = "1.37", **more: Any) -> specs.AutoscalerSpec:
    document = {"spec": {"maxReplicas": 5, **spec}, **more}
    return configuration.read_autoscaler(
        fields.Field(document, "hpa.yaml#1"), versions.hpa_features(version)
    )


def test_without_metrics_cpu_is_held_at_80_percent() -> None:
    result = read({})
    assert result.metrics == (specs.MetricSpec("Resource", "cpu", "Utilization", 80),)
    assert (result.min_replicas, result.behavior) == (1, None)


def test_an_empty_behavior_is_one_with_defaults() -> None:
    behavior = read({"behavior": {}}).behavior
    assert behavior == specs.Behavior()
    assert behavior is not None
    assert behavior.down.window_s is None
    assert [p.value for p in behavior.up.policies] == [4, 100]


def test_a_behavior_keeps_what_it_says_and_takes_defaults_for_the_rest() -> None:
    behavior = read({"behavior": {"scaleDown": {"selectPolicy": "Min", "tolerance": "0.05"}}})
    assert behavior.behavior is not None
    assert behavior.behavior.down == specs.ScalingRules(
        None, "Min", specs.DEFAULT_DOWN.policies, 0.05
    )


def test_metrics_of_all_sources_are_read() -> None:
    metric = {"name": "m", "selector": {"matchLabels": {"b": "2", "a": "1"}}}
    value = {"type": "Value", "value": "2k"}
    pods = {"type": "AverageValue", "averageValue": "100m"}
    described = {"kind": "Service", "name": "front"}
    container = {**CPU["resource"], "container": "app"}
    result = read(
        {
            "metrics": [
                {"type": "Pods", "pods": {"metric": metric, "target": pods}},
                {
                    "type": "Object",
                    "object": {"metric": metric, "target": value, "describedObject": described},
                },
                {"type": "ContainerResource", "containerResource": container},
                EXTERNAL,
            ]
        }
    ).metrics
    assert [(m.key, m.target, m.amount) for m in result] == [
        ("m", "AverageValue", 100),
        ("m", "Value", 2_000_000),
        ("app/cpu", "Utilization", 60),
        ("rps", "AverageValue", 33_300),
    ]
    assert result[0].selector == (
        "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},"
        "MatchExpressions:[]LabelSelectorRequirement{},}"
    )
    assert (result[1].object_kind, result[1].single, result[2].single) == ("Service", True, False)


def test_an_object_target_of_the_wrong_type_is_left_for_the_controller_to_report() -> None:
    target = {"type": "Value", "averageValue": "1"}
    entry = {
        "metric": {"name": "m"},
        "target": target,
        "describedObject": {"kind": "Service", "name": "front"},
    }
    assert read({"metrics": [{"type": "Object", "object": entry}]}).metrics[0].target == ""


def test_the_status_tells_whether_the_controller_scaled_to_zero() -> None:
    status = {"conditions": [{"type": "ScaledToZero", "status": "True"}]}
    assert read({}, status=status).scaled_to_zero
    assert not read({}).scaled_to_zero


def test_scaling_to_zero_is_allowed_from_1_37_on() -> None:
    spec = {"minReplicas": 0, "metrics": [EXTERNAL]}
    assert read(spec).min_replicas == 0
    with pytest.raises(errors.InputError, match="must be >= 1"):
        read(spec, "1.36")


def changed(metric: dict[str, Any], **target: Any) -> dict[str, Any]:
    metric = copy.deepcopy(metric)
    source = metric[metric["type"][0].lower() + metric["type"][1:]]
    source["target"].update(target)
    return {"metrics": [metric]}


BAD: list[tuple[dict[str, Any], str]] = [
    ({"maxReplicas": 0}, "spec.maxReplicas: 0: must be >= 1"),
    ({"maxReplicas": "5"}, "spec.maxReplicas: '5': expected a whole number"),
    ({"minReplicas": 9}, "spec.maxReplicas: 5: must be >= minReplicas, which is 9"),
    ({"minReplicas": 0}, "scaling to zero needs an Object or External metric"),
    ({"replicas": 3}, "spec.replicas: 3: unknown field"),
    ({"metrics": [{"type": "Cheese"}]}, "spec.metrics[0].type: 'Cheese': expected one of"),
    ({"metrics": [{"type": "Pods"}]}, "spec.metrics[0].pods: None: expected a mapping"),
    ({"metrics": [{**CPU, "pods": {}}]}, "must not be set for type Resource"),
    (changed(CPU, averageUtilization=0), "averageUtilization: 0: must be >= 1"),
    (changed(CPU, averageValue="1"), "expected either averageUtilization or averageValue"),
    (changed(EXTERNAL, averageValue="0"), "averageValue: '0': must be positive"),
    (changed(EXTERNAL, averageValue=None), "expected either value or averageValue"),
    (changed(EXTERNAL, value="1"), "must not be set together with averageValue"),
    (changed(EXTERNAL, type="Mean"), "target.type: 'Mean': expected one of"),
    (
        {"metrics": [{"type": "Pods",
                      "pods": {"metric": {"name": "m"}, "target": {"type": "Value"}}}]},
        "averageValue: None: expected a positive quantity",
    ),
    ({"behavior": {"scaleUp": {"policies": []}}}, "expected at least one policy"),
    ({"behavior": {"scaleUp": {"selectPolicy": "Most"}}}, "selectPolicy: 'Most': expected one of"),
    ({"behavior": {"scaleUp": {"tolerance": "-1"}}}, "tolerance: '-1': must not be negative"),
    (
        {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 3601}}},
        "stabilizationWindowSeconds: 3601: must be <= 3600",
    ),
    (
        {"behavior": {"scaleDown": {"policies": [{"type": "Pods", "value": 1}]}}},
        "policies[0].periodSeconds: None: expected a whole number",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "message"), BAD, ids=[m for _, m in BAD])
def test_what_an_api_server_refuses_is_refused_with_its_path(
    spec: dict[str, Any], message: str
) -> None:
    with pytest.raises(errors.InputError) as caught:
        read(spec)
    assert message in str(caught.value)
    assert str(caught.value).startswith("hpa.yaml#1: ")


def test_a_document_without_spec_is_refused() -> None:
    with pytest.raises(errors.InputError, match="spec: None: expected a mapping"):
        configuration.read_autoscaler(fields.Field({}, "x"), versions.hpa_features())
