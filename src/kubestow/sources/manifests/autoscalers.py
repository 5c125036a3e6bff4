"""Reads HorizontalPodAutoscalers from manifests: autoscaling/v2, v2beta2 and v1.

The result is one document in the form of autoscaling/v2 that keeps the places of the original, for
``policies.scaling.hpa.read_autoscaler``.
"""

from __future__ import annotations

from typing import Any

from kubestow.model import decoding, errors
from kubestow.sources.manifests import documents

KIND = "HorizontalPodAutoscaler"
_SAME_FIELDS = ("autoscaling/v2", "autoscaling/v2beta2")
_V1 = "autoscaling/v1"
# Annotations of autoscaling/v1 for what it has no fields for (pkg/apis/autoscaling/annotations.go).
_HIDDEN = (
    "autoscaling.alpha.kubernetes.io/metrics",
    "autoscaling.alpha.kubernetes.io/behavior",
)


def read_autoscalers(source: str, name: str | None = None) -> decoding.Field:
    """Read the one autoscaler of a file, a folder, or ``-`` for standard input.

    Args:
        source: Where to read from; other kinds of objects are skipped.
        name: Which one, as ``name`` or ``namespace/name``, if there are several.

    Raises:
        InputError: If there is none or more than one, or its API version is unknown.
    """
    autoscalers = []
    for document in documents.read_documents(source):
        entry = decoding.Field(document.value, document.place)
        if not isinstance(document.value, dict):
            raise entry.refuse("expected a Kubernetes object (a mapping with apiVersion and kind)")
        if entry["kind"].text() == KIND and name in (None, *_names(entry)):
            autoscalers.append(entry)
    if len(autoscalers) != 1:
        expected = f"one {KIND}" if name is None else f"one {KIND} named {name}"
        names = ", ".join(_names(entry)[1] for entry in autoscalers)
        counted = f"{len(autoscalers)} of them: {names}" if autoscalers else "none"
        raise errors.InputError(source, f"expected {expected}, found {counted}")
    return _convert(autoscalers[0])


def _names(entry: decoding.Field) -> tuple[str, str]:
    metadata = entry["metadata"]
    name = metadata["name"].text("")
    return name, f"{metadata['namespace'].text('') or 'default'}/{name}"


def _convert(entry: decoding.Field) -> decoding.Field:
    version = entry["apiVersion"].choice((*_SAME_FIELDS, _V1))
    return _from_v1(entry) if version == _V1 else entry


def _from_v1(entry: decoding.Field) -> decoding.Field:
    """Turn the one CPU target of autoscaling/v1 into a metric."""
    for key, member in entry["metadata"]["annotations"].members():
        if key in _HIDDEN:
            raise member.refuse(
                "autoscaling/v1 hides metrics here; expected autoscaling/v2 "
                "(kubectl get hpa.v2.autoscaling)"
            )
    spec = dict(entry["spec"].mapping())
    target = entry["spec"]["targetCPUUtilizationPercentage"]
    if not target.missing:
        utilization = target.integer(least=1)
        metric: dict[str, Any] = {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": utilization},
            },
        }
        spec["metrics"] = [metric]
    return decoding.Field({**entry.mapping(), "spec": spec}, entry.place, entry.path)
