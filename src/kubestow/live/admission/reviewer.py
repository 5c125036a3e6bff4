"""Decides on one pod: who it is, whether it may be changed, what it gets, and what is said."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kubestow.live import caches
from kubestow.live.admission import explanations, patches, pod_documents, policy, similar_pods
from kubestow.live.admission import mutation as admission_mutation
from kubestow.live.admission import review as admission_review
from kubestow.live.admission.learned_table import LearnedCache, LearnedTable
from kubestow.live.admission.policy import AdmissionPolicy
from kubestow.live.stores import StoredRecommendation
from kubestow.model import identities, pods
from kubestow.model.decisions import DecisionRecord
from kubestow.model.keys import ContainerKey
from kubestow.sources import manifests

CHANGED, WOULD_CHANGE, UNCHANGED = "changed", "would_change", "unchanged"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReviewVerdict:
    """What becomes of a pod.

    Attributes:
        outcome: ``changed``, ``would_change`` or ``unchanged``.
        reason: Why it is unchanged, or ``dry_run``.
        patch: Operations of a JSON patch.
        warnings: Shown to whoever sent the pod.
        record: Makes the record of the decision, if there was one to make; not at once, since
            nobody waits for it.
        skipped: Why containers were passed over, and how many for each reason.
    """

    outcome: str
    reason: str = ""
    patch: list[patches.Operation] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    record: Callable[[], DecisionRecord] | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Finding:
    """What holds for all pods that are alike.

    Attributes:
        verdict: The verdict but for its record.
        outline: The record but for what is the pod's own; ``None`` if nothing is changed.
        learned: What was learned of containers that are changed.
    """

    verdict: ReviewVerdict
    outline: DecisionRecord | None = None
    learned: Mapping[str, StoredRecommendation] = field(default_factory=dict)


_NO_CREATION: Final = ReviewVerdict(UNCHANGED, "not-a-creation")


class Reviewer:
    """Decides on pods.

    Args:
        policy: What to go by.
        book: What was learned.
        around: Returns what is known of the cluster.
        clock: Tells the time, seconds since the epoch.
    """

    def __init__(
        self,
        policy: AdmissionPolicy,
        book: LearnedCache,
        around: Callable[[], caches.NamespaceBounds] = caches.unknown_bounds,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._policy, self._book, self._around, self._clock = policy, book, around, clock
        self._pod_reader = manifests.PodReader(most_specs=similar_pods.MOST)
        self._memory: similar_pods.SimilarPods[_Finding] = similar_pods.SimilarPods(None, around())

    def recall(self, request: admission_review.AdmissionRequest) -> ReviewVerdict | None:
        """Decide on a pod that is like one before; ``None`` if there was none.

        This takes no longer than to read the request, however long a decision takes.

        Raises:
            InputError: If the pod is not understood.
        """
        if not request.creates_pod:
            return _NO_CREATION
        memory = self._memory
        if self._is_stale() or not memory.holds(self._book.table, self._around()):
            return None
        document = pod_documents.read(request.object)
        found = memory.found.get(similar_pods.likeness(request, document, self._policy))
        return None if found is None else self._verdict(found, request, document)

    def review(self, request: admission_review.AdmissionRequest) -> ReviewVerdict:
        """Decide on one request.

        Raises:
            InputError: If the pod is not understood.
        """
        if not request.creates_pod:
            return _NO_CREATION
        document = pod_documents.read(request.object)
        around, table = self._around(), None if self._is_stale() else self._book.table
        found = self._find(request, document, around, table)
        if table is not None:
            self._remember(table, around).keep(
                similar_pods.likeness(request, document, self._policy), found
            )
        return self._verdict(found, request, document)

    def _is_stale(self) -> bool:
        return self._book.table is None or self._book.age_s > self._policy.max_age_s

    def _remember(
        self, table: LearnedTable, around: caches.NamespaceBounds
    ) -> similar_pods.SimilarPods[_Finding]:
        """Return the memory of this state of things; that of another one is given up."""
        memory = self._memory
        if not memory.holds(table, around):
            memory = similar_pods.SimilarPods(table.values, around)
            self._memory = memory
        return memory

    def _find(
        self,
        request: admission_review.AdmissionRequest,
        document: pod_documents.PodDocument,
        around: caches.NamespaceBounds,
        table: LearnedTable | None,
    ) -> _Finding:
        """Decide on a pod, whatever its name is."""
        pod = self._read(request)
        namespace = around.namespaces.get(request.namespace)
        why = policy.why_not(self._policy, pod, namespace)
        if not why and (pod.spec.pod_requests or pod.spec.pod_limits):
            why = "" if self._policy.pod_level else "pod-level"
        if why:
            return _Finding(ReviewVerdict(UNCHANGED, why))
        identity = self._identify(pod, document)
        if identity.key in self._policy.frozen:
            return _Finding(ReviewVerdict(UNCHANGED, "frozen"))
        learned = _look_up(pod, identity, table)
        unknown = "stale" if table is None else "unknown"
        missed = {unknown: len(pod.spec.containers) - len(learned)}
        missed = {reason: count for reason, count in missed.items() if count}
        if not learned:
            return _Finding(ReviewVerdict(UNCHANGED, unknown, skipped=missed))
        mutation = admission_mutation.mutate(
            pod, learned, self._policy, around.allowed(request.namespace), around.node
        )
        if not mutation.changes:
            return _Finding(ReviewVerdict(UNCHANGED, "same", skipped=missed))
        dry = policy.is_dry(self._policy, pod, namespace)
        changed = {change.container for change in mutation.changes}
        return _Finding(
            self._tell(request, document, identity, learned, mutation, missed, dry=dry),
            explanations.outline(mutation, learned, identity, self._policy, dry=dry),
            {name: value for name, value in learned.items() if name in changed},
        )

    def _read(self, request: admission_review.AdmissionRequest) -> pods.Pod:
        # The object may not name its namespace yet.
        pod = self._pod_reader.read_json(bytes(request.object)).pod
        return replace(pod, namespace=request.namespace)

    def _identify(self, pod: pods.Pod, document: pod_documents.PodDocument) -> identities.Identity:
        labelled = replace(pod, labels=policy.named(self._policy, pod.labels))
        return identities.identify(labelled, document.metadata.generate_name)

    def _tell(
        self,
        request: admission_review.AdmissionRequest,
        document: pod_documents.PodDocument,
        identity: identities.Identity,
        learned: Mapping[str, StoredRecommendation],
        mutation: admission_mutation.Mutation,
        missed: Mapping[str, int],
        *,
        dry: bool,
    ) -> ReviewVerdict:
        """Return the patch with its explanation."""
        name = policy.WOULD_CHANGE if dry else policy.CHANGED
        earlier = document.annotations.get(name, "")
        text = explanations.annotate(mutation, learned, identity, self._policy, earlier)
        patch = [] if dry else patches.resource_operations(document, mutation.changes)
        patch += patches.annotation_operations(document, name, text)
        reason = "dry_run" if dry or request.dry_run else ""
        return ReviewVerdict(WOULD_CHANGE if dry else CHANGED, reason, patch, skipped=missed)

    def _verdict(
        self,
        found: _Finding,
        request: admission_review.AdmissionRequest,
        document: pod_documents.PodDocument,
    ) -> ReviewVerdict:
        """Return the verdict on one pod, with its record unless the request is for show."""
        if found.outline is None or request.dry_run:
            return found.verdict
        pod = document.metadata.name or f"{document.metadata.generate_name}*"
        _LOG.debug("%s/%s: %s", request.namespace, pod, found.outline.outcome)
        record = functools.partial(
            explanations.record, found.outline, found.learned, pod, request.uid, self._clock()
        )
        return replace(found.verdict, record=record)


def _look_up(
    pod: pods.Pod, identity: identities.Identity, table: LearnedTable | None
) -> dict[str, StoredRecommendation]:
    """Return what was learned, by container."""
    if table is None:
        return {}
    whose = (identity.namespace, identity.kind, identity.name)
    keys = {each.name: ContainerKey(*whose, each.name) for each in pod.spec.containers}
    return {name: table.values[key] for name, key in keys.items() if key in table.values}
