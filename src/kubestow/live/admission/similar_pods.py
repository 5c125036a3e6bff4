"""A cache of decisions for similar pods.

The pods of a rollout differ only in their names, and a decision depends on everything else: it is
made once, and again after learned values or the bounds of the cluster have changed.
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

MOST: Final = 1000  # distinct pods
_MOST_KEY_BYTES: Final = 2**14
_ENCODER: Final = msgspec.json.Encoder()

Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class SimilarPods(Generic[Entry]):
    """Decisions made with one state of learned values and bounds.

    Attributes:
        values: Learned values of that state.
        bounds: Bounds of the cluster in that state.
        entries: Decisions by pod key.
    """

    values: Mapping[ContainerKey, object] | None
    bounds: NamespaceBounds
    entries: dict[bytes, Entry] = field(default_factory=dict)

    def holds(self, table: LearnedTable | None, bounds: NamespaceBounds) -> bool:
        """Return whether the state is unchanged; a table that was read again may be the same."""
        return self.bounds is bounds and self.values is (table.values if table else None)

    def keep(self, key: bytes, decision: Entry) -> None:
        """Cache a decision; large keys are skipped, and a full cache is cleared."""
        if len(key) <= _MOST_KEY_BYTES:
            if len(self.entries) >= MOST:
                self.entries.clear()
            self.entries[key] = decision


def pod_key(request: AdmissionRequest, document: PodDocument, policy: AdmissionPolicy) -> bytes:
    """Return the cache key of a pod: everything that its decision depends on.

    Args:
        request: The admission request.
        document: The pod.
        policy: Defines the labels that name a workload.
    """
    metadata = document.metadata
    # A pod without label and controller may be identified by its name (``identities.identify``).
    controlled = any(owner.controller for owner in metadata.owner_references or ())
    if controlled or is_named(policy, document.labels):
        metadata = msgspec.structs.replace(metadata, name="")
    return _ENCODER.encode((request.namespace, request.dry_run, metadata, document.spec))
