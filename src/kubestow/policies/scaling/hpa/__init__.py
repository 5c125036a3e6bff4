"""The HorizontalPodAutoscaler: an exact model of each release."""

from kubestow.policies.scaling.hpa.behavior import (
    apply_behavior,
    down_limit,
    scale_events,
    up_limit,
)
from kubestow.policies.scaling.hpa.configuration import (
    DEFAULT_METRIC,
    read_autoscaler,
    read_behavior,
)
from kubestow.policies.scaling.hpa.go_arithmetic import MAX_INT32, milli, nanoseconds
from kubestow.policies.scaling.hpa.hpa import ABOVE, BELOW, Hpa, HpaParameters, make_calculator
from kubestow.policies.scaling.hpa.memory import HpaMemory
from kubestow.policies.scaling.hpa.metrics import MetricSet
from kubestow.policies.scaling.hpa.requests import request_milli
from kubestow.policies.scaling.hpa.specification import (
    AVERAGE_VALUE,
    PODS,
    RESOURCE,
    UTILIZATION,
    VALUE,
    AutoscalerSpec,
    MetricSpec,
)
from kubestow.policies.scaling.hpa.versions import DEFAULT_VERSION, HpaFeatures, hpa_features

__all__ = [
    "ABOVE",
    "AVERAGE_VALUE",
    "BELOW",
    "DEFAULT_METRIC",
    "DEFAULT_VERSION",
    "MAX_INT32",
    "PODS",
    "RESOURCE",
    "UTILIZATION",
    "VALUE",
    "AutoscalerSpec",
    "Hpa",
    "HpaFeatures",
    "HpaMemory",
    "HpaParameters",
    "MetricSet",
    "MetricSpec",
    "apply_behavior",
    "down_limit",
    "hpa_features",
    "make_calculator",
    "milli",
    "nanoseconds",
    "read_autoscaler",
    "read_behavior",
    "request_milli",
    "scale_events",
    "up_limit",
]
