"""Response documents of the metrics API: lists of values, discovery, errors; plain values.

The schemas are those of ``k8s.io/metrics/pkg/apis/{custom_metrics,external_metrics}``; the field
for the window is ``window`` in ``v1beta1`` and ``windowSeconds`` in ``v1beta2``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from kubestow.live.metrics_api import paths
from kubestow.live.metrics_api.kinds import ResourceKind
from kubestow.live.metrics_api.paths import CUSTOM, EXTERNAL, VERSIONS
from kubestow.live.metrics_api.values import Labels, MetricValue, Subject
from kubestow.model import decoding
from kubestow.model.selectors import LabelSelector

REASONS: Final = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
}


class Value(NamedTuple):
    """A metric value of an object."""

    subject: Subject
    sample: MetricValue


def custom_list(
    version: str, kind: ResourceKind, values: Iterable[Value], selector: LabelSelector
) -> dict[str, Any]:
    """Return a MetricValueList."""
    chosen = decoding.selector_json(selector)
    write = _value_v1beta1 if version == "v1beta1" else _value_v1beta2
    items = [write(kind, each.subject, each.sample, chosen) for each in values]
    return _list("MetricValueList", f"{CUSTOM}/{version}", items)


def external_list(
    version: str, metric: str, series: Iterable[tuple[Labels, MetricValue]]
) -> dict[str, Any]:
    """Return an ExternalMetricValueList."""
    items = [
        {
            "metricName": metric,
            "metricLabels": dict((*labels, *sample.notes)),
            "timestamp": timestamp(sample.time_s),
            **_window("window", sample),
            "value": str(sample.value),
        }
        for labels, sample in series
    ]
    return _list("ExternalMetricValueList", f"{EXTERNAL}/{version}", items)


def _list(kind: str, version: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": version, "metadata": {}, "items": items}


def _object(kind: ResourceKind, subject: Subject) -> dict[str, str]:
    inside = {"namespace": subject.namespace} if subject.namespace else {}
    return {
        "kind": kind.kind,
        **inside,
        "name": subject.name,
        "apiVersion": kind.api_version,
    }


def _value_v1beta1(
    kind: ResourceKind, subject: Subject, sample: MetricValue, chosen: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        "describedObject": _object(kind, subject),
        "metricName": subject.metric,
        "timestamp": timestamp(sample.time_s),
        **_window("window", sample),
        "value": str(sample.value),
        "selector": chosen,
    }


def _value_v1beta2(
    kind: ResourceKind, subject: Subject, sample: MetricValue, chosen: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        "describedObject": _object(kind, subject),
        "metric": {"name": subject.metric, "selector": chosen},
        "timestamp": timestamp(sample.time_s),
        **_window("windowSeconds", sample),
        "value": str(sample.value),
    }


def _window(name: str, sample: MetricValue) -> dict[str, int]:
    return {} if sample.window_s is None else {name: round(sample.window_s)}


def timestamp(time_s: float) -> str:
    """Return a time as ``metav1.Time`` writes it: whole seconds, in UTC.

    >>> timestamp(1_700_000_000.9)
    '2023-11-14T22:13:20Z'
    """
    return dt.datetime.fromtimestamp(time_s // 1, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status(code: int, message: str) -> dict[str, Any]:
    """Return a failure Status."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": REASONS.get(code, "Unknown"),
        "code": code,
    }


def missing(metric: str, resource: str, name: str = "") -> str:
    """Return the message of upstream's library for an unknown metric."""
    owner = f"{resource} {name}" if name and name != paths.ALL else resource
    return f"the server could not find the metric {metric} for {owner}"


def group(name: str) -> dict[str, Any]:
    """Return an APIGroup."""
    versions = [{"groupVersion": f"{name}/{each}", "version": each} for each in VERSIONS[name]]
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": name,
        "versions": versions,
        "preferredVersion": versions[0],
    }


def groups() -> dict[str, Any]:
    """Return the APIGroupList."""
    items = [group(name) for name in VERSIONS]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": items}


def resources(name: str, version: str, entries: Sequence[tuple[str, bool]]) -> dict[str, Any]:
    """Return the APIResourceList of a version.

    Args:
        name: API group.
        version: Its version.
        entries: Names, and whether they are namespaced.
    """
    kind = "MetricValueList" if name == CUSTOM else "ExternalMetricValueList"
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{name}/{version}",
        "resources": [
            {
                "name": each,
                "singularName": "",
                "namespaced": namespaced,
                "kind": kind,
                "verbs": ["get"],
            }
            for each, namespaced in entries
        ],
    }


def openapi(version: str) -> dict[str, Any] | None:
    """Return an OpenAPI document without paths: clients use discovery."""
    if version == "v2":
        info = {"title": "kubestow metrics", "version": "v1"}
        return {"swagger": "2.0", "info": info, "paths": {}}
    return {"paths": {}} if version == "v3" else None


class QueryRefusedError(Exception):
    """A request that is refused with a Status.

    Attributes:
        code: HTTP status.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
