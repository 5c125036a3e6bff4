"""JSON patches (RFC 6902) on single keys, so that whatever stands beside them survives."""

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
    """Return the operations that change amounts; parents that are missing are made.

    Args:
        document: The pod as it is.
        changes: What to change.
    """
    found: list[Operation] = []
    made: set[str] = set()
    for change in changes:
        resources = document.spec.containers[change.index].resources
        base = f"/spec/containers/{change.index}/resources"
        path = f"{base}/{change.section}/{escape(change.resource)}"
        if change.new is None:
            found.append({"op": "remove", "path": path})
            continue
        for parent, missing in _parents(base, resources, change.section):
            if missing and parent not in made:
                made.add(parent)
                found.append({"op": "add", "path": parent, "value": {}})
        # An amount that is there is replaced by "add", too.
        found.append({"op": "add", "path": path, "value": str(change.new)})
    return found


def annotation_operations(document: PodDocument, name: str, text: str) -> list[Operation]:
    """Return the operations that set an annotation."""
    found: list[Operation] = []
    if document.metadata.annotations is None:
        found.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    found.append({"op": "add", "path": f"/metadata/annotations/{escape(name)}", "value": text})
    return found


def _parents(base: str, found: AdmittedResources | None, section: str) -> list[tuple[str, bool]]:
    """Return the objects a key stands in, and whether they are missing."""
    inner = getattr(found, section) if found is not None else None
    return [(base, found is None), (f"{base}/{section}", inner is None)]
