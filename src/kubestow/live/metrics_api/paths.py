"""Parses request paths into queries and the permissions they need.

The permission is the one that ``RequestInfoFactory`` of ``k8s.io/apiserver`` reads from the path:
a metric is a subresource of its object, and an external metric is a resource that is listed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

from kubestow.live.metrics_api.auth import ResourceAttributes

CUSTOM, EXTERNAL = "custom.metrics.k8s.io", "external.metrics.k8s.io"
VERSIONS: Final = {CUSTOM: ("v1beta2", "v1beta1"), EXTERNAL: ("v1beta1",)}  # preferred one first
NAMESPACES: Final = "namespaces"
ALL: Final = "*"
# It becomes part of paths of our own requests to the API server.
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class MetricQuery:
    """A query for metric values.

    Attributes:
        group: ``custom.metrics.k8s.io`` or ``external.metrics.k8s.io``.
        version: Version of the group.
        resource: Resource as in the path; empty for an external metric.
        namespace: Namespace of the object; empty for cluster-scoped objects.
        name: Name of the object; ``*`` for all selected ones.
        metric: Name of the metric.
        attributes: The permission it needs.
    """

    group: str
    version: str
    resource: str
    namespace: str
    name: str
    metric: str
    attributes: ResourceAttributes


def segments(raw_path: bytes) -> list[str] | None:
    """Return the decoded segments of a raw path; ``None`` if one is invalid.

    >>> segments(b"/apis/x/pods/%2A/a%2Fb")
    ['apis', 'x', 'pods', '*', 'a/b']
    """
    try:
        parts = [unquote_to_bytes(part).decode() for part in raw_path.strip(b"/").split(b"/")]
    except UnicodeDecodeError:
        return None
    invalid = any(part in ("", ".", "..") or not part.isprintable() for part in parts)
    return None if invalid else parts


def read(parts: list[str]) -> MetricQuery | None:
    """Return the query of a path; ``None`` if it is not a query."""
    match parts:
        case ["apis", group, version, *rest] if version in VERSIONS.get(group, ()):
            if rest[:1] == [NAMESPACES] and not _NAMESPACE.fullmatch("".join(rest[1:2])):
                return None
            return _read_custom(version, rest) if group == CUSTOM else _read_external(version, rest)
    return None


def _read_custom(version: str, rest: list[str]) -> MetricQuery | None:
    match rest:
        case ["namespaces", namespace, "metrics", metric]:
            attributes = ResourceAttributes(
                "get", "", CUSTOM, version, "metrics", "", namespace, metric
            )
            return MetricQuery(CUSTOM, version, NAMESPACES, "", namespace, metric, attributes)
        case ["namespaces", namespace, resource, name, metric]:
            attributes = ResourceAttributes(
                "get", "", CUSTOM, version, resource, metric, namespace, name
            )
            return MetricQuery(CUSTOM, version, resource, namespace, name, metric, attributes)
        case [resource, name, metric] if resource != NAMESPACES:
            attributes = ResourceAttributes("get", "", CUSTOM, version, resource, metric, "", name)
            return MetricQuery(CUSTOM, version, resource, "", name, metric, attributes)
    return None


def _read_external(version: str, rest: list[str]) -> MetricQuery | None:
    match rest:
        case ["namespaces", namespace, metric]:
            attributes = ResourceAttributes("list", "", EXTERNAL, version, metric, "", namespace)
            return MetricQuery(EXTERNAL, version, "", namespace, "", metric, attributes)
    return None
