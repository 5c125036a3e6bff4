"""The metrics API over HTTP: routes, discovery, responses."""

from kubestow.live.metrics_api.serving.app import COMPONENT, MetricsApiApp
from kubestow.live.metrics_api.serving.queries import QueryService

__all__ = ["COMPONENT", "MetricsApiApp", "QueryService"]
