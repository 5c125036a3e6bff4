"""JSON patches (RFC 6902) of single keys; all other keys stay unchanged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kubestow.live.admission.mutation import ContainerChange
from kubestow.live.admission.pod_documents import AdmittedResources, PodDocument

Operation = dict[str, Any]


def escape(key: str) -> str:
    """Write a key as a part of a JSON pointer (RFC 6901).

    >>> escape("kubestow.io/changed"), escape("a~b")
    ('kubestow.io~1changed', 'a~0b')
    """
    return key.replace("~", "~0").replace("/", "~1")


def resource_operations(
    document: PodDocument, changes: Iterable[ContainerChange]
) -> list[Operation]:
    """Return the operations that change amounts; missing parents are created.

    Args:
        document: The current pod.
        changes: The changes.
    """
    operations: list[Operation] = []
    made: set[str] = set()
    for change in changes:
        resources = document.spec.containers[change.index].resources
        base = f"/spec/containers/{change.index}/resources"
        path = f"{base}/{change.section}/{escape(change.resource)}"
        if change.new is None:
            operations.append({"op": "remove", "path": path})
            continue
        for parent, missing in _parents(base, resources, change.section):
            if missing and parent not in made:
                made.add(parent)
                operations.append({"op": "add", "path": parent, "value": {}})
        # "add" also replaces an existing amount.
        operations.append({"op": "add", "path": path, "value": str(change.new)})
    return operations


def annotation_operations(document: PodDocument, name: str, text: str) -> list[Operation]:
    """Return the operations that set an annotation."""
    operations: list[Operation] = []
    if document.metadata.annotations is None:
        operations.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    operations.append({"op": "add", "path": f"/metadata/annotations/{escape(name)}", "value": text})
    return operations


def _parents(base: str, present: AdmittedResources | None, section: str) -> list[tuple[str, bool]]:
    """Return the parent objects of a key, and whether they are missing."""
    inner = getattr(present, section) if present is not None else None
    return [(base, present is None), (f"{base}/{section}", inner is None)]
