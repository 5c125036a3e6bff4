"""Aggregated discovery (``apidiscovery.k8s.io/v2``), which the aggregator tries first.

Subresources here have no parent resource in their group: ``pods/rate`` is a metric of pods, which
belong to another API group. As upstream does, the parent is listed without a kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kubestow.live.metrics_api.paths import CUSTOM, VERSIONS

CONTENT_TYPE: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_NO_KIND: Final = {"group": "", "version": "", "kind": ""}

Entries = Sequence[tuple[str, bool]]
"""Names of metrics, with their resource, and whether they are namespaced."""


def is_accepted(accept: str) -> bool:
    """Return whether a client accepts aggregated discovery.

    >>> is_accepted("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
    True
    """
    required = {"application/json", "g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"}
    return any(required <= {part.strip() for part in each.split(";")} for each in accept.split(","))


def write(metrics: Mapping[str, Entries]) -> dict[str, Any]:
    """Return an APIGroupDiscoveryList.

    Args:
        metrics: Metrics by API group.
    """
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": group},
                "versions": [
                    {
                        "version": version,
                        "freshness": "Current",
                        "resources": _resources(group, version, metrics[group]),
                    }
                    for version in versions
                ],
            }
            for group, versions in VERSIONS.items()
        ],
    }


def _resources(group: str, version: str, entries: Entries) -> list[dict[str, Any]]:
    if group == CUSTOM:
        return _parents(version, entries)
    kind = {"group": group, "version": version, "kind": "ExternalMetricValueList"}
    return [{**_resource(name, namespaced, kind), "verbs": ["get"]} for name, namespaced in entries]


def _parents(version: str, entries: Entries) -> list[dict[str, Any]]:
    kind = {"group": CUSTOM, "version": version, "kind": "MetricValueList"}
    parents: dict[str, dict[str, Any]] = {}
    for name, namespaced in entries:
        resource, _, metric = name.partition("/")
        fresh = {**_resource(resource, namespaced, _NO_KIND), "verbs": [], "subresources": []}
        parent = parents.setdefault(resource, fresh)
        subresource = {"subresource": metric, "responseKind": kind, "verbs": ["get"]}
        parent["subresources"].append(subresource)
    return list(parents.values())


def _resource(name: str, namespaced: bool, kind: Mapping[str, str]) -> dict[str, Any]:
    return {
        "resource": name,
        "responseKind": dict(kind),
        "scope": "Namespaced" if namespaced else "Cluster",
        "singularResource": "",
    }
