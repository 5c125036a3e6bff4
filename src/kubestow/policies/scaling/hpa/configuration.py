"""Read a HorizontalPodAutoscaler of autoscaling/v2 into a specification.

Refuses, with the path, what an API server would refuse (``pkg/apis/autoscaling/validation``,
1.37), and fills in the same defaults (``pkg/apis/autoscaling/v2/defaults.go``).
"""

from __future__ import annotations

from kubestow.model import decoding, quantities
from kubestow.policies.scaling.hpa import go_arithmetic, versions
from kubestow.policies.scaling.hpa import specification as specs

_MAX_PERIOD_S, _MAX_WINDOW_S = 1800, 3600
_SOURCES = {
    specs.RESOURCE: "resource",
    specs.CONTAINER_RESOURCE: "containerResource",
    specs.PODS: "pods",
    specs.OBJECT: "object",
    specs.EXTERNAL: "external",
}
_TARGETS = (specs.UTILIZATION, specs.VALUE, specs.AVERAGE_VALUE)
_KNOWN = (
    "scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior",
    "targetCPUUtilizationPercentage",
)  # fmt: skip
# The default metric of autoscaling/v2 (DefaultCPUUtilization).
DEFAULT_METRIC = specs.MetricSpec(specs.RESOURCE, "cpu", specs.UTILIZATION, 80)


def read_autoscaler(
    document: decoding.Field, features: versions.HpaFeatures
) -> specs.AutoscalerSpec:
    """Read a decoded HorizontalPodAutoscaler.

    Raises:
        InputError: If an API server of the release would refuse it.
    """
    spec, metadata = document["spec"], document["metadata"]
    if spec.missing:
        raise spec.refuse("expected a mapping")
    for key, member in spec.members():
        if key not in _KNOWN:
            raise member.refuse(f"unknown field; expected one of {', '.join(_KNOWN)}")
    most = spec["maxReplicas"].integer(least=1, most=go_arithmetic.MAX_INT32)
    least = spec["minReplicas"].integer(1, least=0 if features.scale_to_zero else 1)
    if most < least:
        raise spec["maxReplicas"].refuse(f"must be >= minReplicas, which is {least}")
    metrics = tuple(_metric(item) for item in spec["metrics"].items()) or (DEFAULT_METRIC,)
    if least == 0 and not any(metric.single for metric in metrics):
        raise spec["minReplicas"].refuse("scaling to zero needs an Object or External metric")
    return specs.AutoscalerSpec(
        max_replicas=most,
        metrics=metrics,
        min_replicas=least,
        behavior=read_behavior(spec["behavior"]),
        name=metadata["name"].text("") or "autoscaler",
        namespace=metadata["namespace"].text("") or "default",
        scaled_to_zero=any(
            condition["type"].text("") == "ScaledToZero" and condition["status"].text("") == "True"
            for condition in document["status"]["conditions"].items()
        ),
    )


def _metric(item: decoding.Field) -> specs.MetricSpec:
    source = item["type"].choice(tuple(_SOURCES))
    for other, key in _SOURCES.items():
        if other != source and not item[key].missing:
            raise item[key].refuse(f"must not be set for type {source}")
    entry = item[_SOURCES[source]]
    if entry.missing:
        raise entry.refuse(f"expected a mapping, because the type is {source}")
    if source in (specs.RESOURCE, specs.CONTAINER_RESOURCE):
        target, amount = _resource_target(entry["target"])
        container = entry["container"].text() if source == specs.CONTAINER_RESOURCE else ""
        return specs.MetricSpec(source, entry["name"].text(), target, amount, container)
    target, amount = _value_target(source, entry["target"])
    described = entry["describedObject"]
    is_object = source == specs.OBJECT
    return specs.MetricSpec(
        source,
        entry["metric"]["name"].text(),
        target,
        amount,
        object_kind=described["kind"].text() if is_object else "",
        object_name=described["name"].text() if is_object else "",
        selector=_selector(entry["metric"]["selector"]),
    )


def _positive(field: decoding.Field) -> int:
    quantity = field.quantity()
    if quantity.nano <= 0:
        raise field.refuse("must be positive")
    return go_arithmetic.milli(quantity)


def _resource_target(target: decoding.Field) -> tuple[str, int]:
    target["type"].choice(_TARGETS)
    average, utilization = target["averageValue"], target["averageUtilization"]
    if average.missing == utilization.missing:
        raise target.refuse("expected either averageUtilization or averageValue")
    if not average.missing:
        return specs.AVERAGE_VALUE, _positive(average)
    return specs.UTILIZATION, utilization.integer(least=1, most=go_arithmetic.MAX_INT32)


def _value_target(source: str, target: decoding.Field) -> tuple[str, int]:
    kind = target["type"].choice(_TARGETS)
    average, value = target["averageValue"], target["value"]
    if source == specs.PODS:
        if average.missing:
            raise average.refuse("expected a positive quantity")
        return specs.AVERAGE_VALUE, _positive(average)
    if average.missing and value.missing:
        raise target.refuse("expected either value or averageValue")
    if source == specs.OBJECT:
        # The controller reads the field that the type names; if only the other is set, there is
        # no target.
        if kind == specs.VALUE and not value.missing:
            return specs.VALUE, _positive(value)
        if kind == specs.AVERAGE_VALUE and not average.missing:
            return specs.AVERAGE_VALUE, _positive(average)
        return "", 0
    if not average.missing and not value.missing:
        raise value.refuse("must not be set together with averageValue")
    if not average.missing:
        return specs.AVERAGE_VALUE, _positive(average)
    return specs.VALUE, _positive(value)


def _selector(field: decoding.Field) -> str:
    """Format a label selector as Go prints it; conditions and events quote it."""
    if field.missing:
        return "nil"
    labels = sorted(field["matchLabels"].labels().items())
    pairs = "".join(f"{key}: {value}," for key, value in labels)
    demands = "".join(
        f"LabelSelectorRequirement{{Key:{item['key'].text()},Operator:{item['operator'].text()},"
        f"Values:[{' '.join(item['values'].texts())}],}},"
        for item in field["matchExpressions"].items()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{demands}}},}}"
    )


def read_behavior(field: decoding.Field) -> specs.Behavior | None:
    """Read a ``behavior`` of autoscaling/v2; ``None`` if there is none.

    Raises:
        InputError: If an API server would refuse it.
    """
    if field.missing:
        return None
    return specs.Behavior(
        up=_rules(field["scaleUp"], specs.DEFAULT_UP),
        down=_rules(field["scaleDown"], specs.DEFAULT_DOWN),
    )


def _rules(field: decoding.Field, default: specs.ScalingRules) -> specs.ScalingRules:
    if field.missing:
        return default
    window, tolerance, policies = (
        field["stabilizationWindowSeconds"],
        field["tolerance"],
        field["policies"],
    )
    rules = tuple(_policy(item) for item in policies.items())
    if not policies.missing and not rules:
        raise policies.refuse("expected at least one policy")
    return specs.ScalingRules(
        window_s=default.window_s
        if window.missing
        else window.integer(least=0, most=_MAX_WINDOW_S),
        select=field["selectPolicy"].choice((specs.MAX, specs.MIN, specs.DISABLED), default.select),
        policies=rules or default.policies,
        tolerance=None if tolerance.missing else _tolerance(tolerance.quantity()),
    )


def _tolerance(quantity: quantities.Quantity) -> float:
    return go_arithmetic.approximate(quantity)


def _policy(item: decoding.Field) -> specs.HpaScalingPolicy:
    return specs.HpaScalingPolicy(
        kind=item["type"].choice((specs.PODS_POLICY, specs.PERCENT_POLICY)),
        value=item["value"].integer(least=1, most=go_arithmetic.MAX_INT32),
        period_s=item["periodSeconds"].integer(least=1, most=_MAX_PERIOD_S),
    )
