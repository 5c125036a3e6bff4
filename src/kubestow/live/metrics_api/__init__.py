"""The metrics API: custom and external metrics, including forecasts, for a real HPA."""

from kubestow.live.metrics_api.auth import ClientCertificateContext
from kubestow.live.metrics_api.host import MetricsApiHost, MetricsApiOptions
from kubestow.live.metrics_api.manifests import GROUPS, READER, api_services, cluster_rules
from kubestow.live.metrics_api.serving import COMPONENT
from kubestow.live.metrics_api.values import MetricRules, read_rules

__all__ = [
    "COMPONENT",
    "GROUPS",
    "READER",
    "ClientCertificateContext",
    "MetricRules",
    "MetricsApiHost",
    "MetricsApiOptions",
    "api_services",
    "cluster_rules",
    "read_rules",
]
