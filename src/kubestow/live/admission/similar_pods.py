"""Pods that are alike, remembered with what was found for the first of them.

The pods of a rollout differ in their names, and a decision goes by everything else: so it is worked
out once, and again when what was learned or what is known of the cluster has changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import msgspec

from kubestow.live.admission.learned_table import LearnedTable
from kubestow.live.admission.pod_documents import PodDocument
from kubestow.live.admission.policy import AdmissionPolicy, is_named
from kubestow.live.admission.review import AdmissionRequest
from kubestow.live.caches import NamespaceBounds
from kubestow.model.keys import ContainerKey

MOST: Final = 1000  # pods that are not alike
_MOST_KEY_BYTES: Final = 2**14
_ENCODER: Final = msgspec.json.Encoder()

Finding = TypeVar("Finding")


@dataclass(frozen=True, slots=True)
class SimilarPods(Generic[Finding]):
    """What was found from one state of things.

    Attributes:
        values: What was learned then.
        around: What was known of the cluster then.
        found: Findings by likeness.
    """

    values: Mapping[ContainerKey, object] | None
    around: NamespaceBounds
    found: dict[bytes, Finding] = field(default_factory=dict)

    def holds(self, table: LearnedTable | None, around: NamespaceBounds) -> bool:
        """Return whether things are as they were; a table that was read again may be the same."""
        return self.around is around and self.values is (table.values if table else None)

    def keep(self, likeness: bytes, finding: Finding) -> None:
        """Remember something; what is too large or too much is forgotten."""
        if len(likeness) <= _MOST_KEY_BYTES:
            if len(self.found) >= MOST:
                self.found.clear()
            self.found[likeness] = finding


def likeness(request: AdmissionRequest, document: PodDocument, policy: AdmissionPolicy) -> bytes:
    """Return what two pods have in common that are decided on alike.

    Args:
        request: What is asked.
        document: The pod.
        policy: Says which labels name a workload.
    """
    metadata = document.metadata
    # A pod without label and controller may be known by its own name (``identities.identify``).
    controlled = any(owner.controller for owner in metadata.owner_references or ())
    if controlled or is_named(policy, document.labels):
        metadata = msgspec.structs.replace(metadata, name="")
    return _ENCODER.encode((request.namespace, request.dry_run, metadata, document.spec))
