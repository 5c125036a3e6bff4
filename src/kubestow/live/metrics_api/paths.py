"""What a path asks for, and which right that takes.

The right is the one that ``RequestInfoFactory`` of ``k8s.io/apiserver`` reads from the same path:
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
# It becomes a part of paths that the API server is asked for in our own name.
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class MetricQuery:
    """A question for values.

    Attributes:
        group: ``custom.metrics.k8s.io`` or ``external.metrics.k8s.io``.
        version: Version of the group.
        resource: As the path has it; empty for an external metric.
        namespace: Where; empty at the root.
        name: Of the object; ``*`` for all that are selected.
        metric: The metric.
        deed: What the right is asked for.
    """

    group: str
    version: str
    resource: str
    namespace: str
    name: str
    metric: str
    deed: ResourceAttributes


def segments(raw_path: bytes) -> list[str] | None:
    """Return the parts of a path as it came, decoded one by one; ``None`` if one is odd.

    >>> segments(b"/apis/x/pods/%2A/a%2Fb")
    ['apis', 'x', 'pods', '*', 'a/b']
    """
    try:
        found = [unquote_to_bytes(part).decode() for part in raw_path.strip(b"/").split(b"/")]
    except UnicodeDecodeError:
        return None
    odd = any(part in ("", ".", "..") or not part.isprintable() for part in found)
    return None if odd else found


def read(parts: list[str]) -> MetricQuery | None:
    """Return what the parts of a path ask for; ``None`` if it is nothing."""
    match parts:
        case ["apis", group, version, *rest] if version in VERSIONS.get(group, ()):
            if rest[:1] == [NAMESPACES] and not _NAMESPACE.fullmatch("".join(rest[1:2])):
                return None
            return _read_custom(version, rest) if group == CUSTOM else _read_external(version, rest)
    return None


def _read_custom(version: str, rest: list[str]) -> MetricQuery | None:
    match rest:
        case ["namespaces", namespace, "metrics", metric]:
            deed = ResourceAttributes("get", "", CUSTOM, version, "metrics", "", namespace, metric)
            return MetricQuery(CUSTOM, version, NAMESPACES, "", namespace, metric, deed)
        case ["namespaces", namespace, resource, name, metric]:
            deed = ResourceAttributes("get", "", CUSTOM, version, resource, metric, namespace, name)
            return MetricQuery(CUSTOM, version, resource, namespace, name, metric, deed)
        case [resource, name, metric] if resource != NAMESPACES:
            deed = ResourceAttributes("get", "", CUSTOM, version, resource, metric, "", name)
            return MetricQuery(CUSTOM, version, resource, "", name, metric, deed)
    return None


def _read_external(version: str, rest: list[str]) -> MetricQuery | None:
    match rest:
        case ["namespaces", namespace, metric]:
            deed = ResourceAttributes("list", "", EXTERNAL, version, metric, "", namespace)
            return MetricQuery(EXTERNAL, version, "", namespace, "", metric, deed)
    return None
