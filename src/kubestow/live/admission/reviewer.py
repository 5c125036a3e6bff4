"""Decides on one pod: its workload, whether to change it, the new amounts, and the explanation."""

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
    """The decision on a pod.

    Attributes:
        outcome: ``changed``, ``would_change`` or ``unchanged``.
        reason: Why it is unchanged, or ``dry_run``.
        patch: Operations of a JSON patch.
        warnings: Shown to the client that created the pod.
        record: Makes the decision record, if there is one; deferred, since no response needs it.
        skipped: Number of skipped containers by reason.
    """

    outcome: str
    reason: str = ""
    patch: list[patches.Operation] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    record: Callable[[], DecisionRecord] | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _SharedVerdict:
    """The decision that all similar pods share.

    Attributes:
        verdict: The verdict without its record.
        outline: The record without the pod's own fields; ``None`` if nothing is changed.
        learned: Recommendations of the changed containers.
    """

    verdict: ReviewVerdict
    outline: DecisionRecord | None = None
    learned: Mapping[str, StoredRecommendation] = field(default_factory=dict)


THIN: Final = "thin-evidence"
"""Fewer windows of usage than the policy asks for, or an unknown number."""

_NO_CREATION: Final = ReviewVerdict(UNCHANGED, "not-a-creation")


class Reviewer:
    """Decides on pods.

    Args:
        policy: The admission policy.
        recommendations: Cache of learned recommendations.
        bounds: Returns the known bounds of the cluster.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        policy: AdmissionPolicy,
        recommendations: LearnedCache,
        bounds: Callable[[], caches.NamespaceBounds] = caches.unknown_bounds,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._policy, self._recommendations, self._bounds, self._clock = (
            policy,
            recommendations,
            bounds,
            clock,
        )
        self._pod_reader = manifests.PodReader(most_specs=similar_pods.MOST)
        self._memory: similar_pods.SimilarPods[_SharedVerdict] = similar_pods.SimilarPods(
            None, bounds()
        )

    def recall(self, request: admission_review.AdmissionRequest) -> ReviewVerdict | None:
        """Return the cached decision on a similar pod; ``None`` if there is none.

        This takes only as long as reading the request.

        Raises:
            InputError: If the pod is malformed.
        """
        if not request.creates_pod:
            return _NO_CREATION
        memory = self._memory
        if self._is_stale() or not memory.holds(self._recommendations.table, self._bounds()):
            return None
        document = pod_documents.read(request.object)
        shared = memory.entries.get(similar_pods.pod_key(request, document, self._policy))
        return None if shared is None else self._verdict(shared, request, document)

    def review(self, request: admission_review.AdmissionRequest) -> ReviewVerdict:
        """Decide on one request.

        Raises:
            InputError: If the pod is malformed.
        """
        if not request.creates_pod:
            return _NO_CREATION
        document = pod_documents.read(request.object)
        bounds, table = self._bounds(), None if self._is_stale() else self._recommendations.table
        shared = self._decide(request, document, bounds, table)
        if table is not None:
            self._current_memory(table, bounds).keep(
                similar_pods.pod_key(request, document, self._policy), shared
            )
        return self._verdict(shared, request, document)

    def _is_stale(self) -> bool:
        return (
            self._recommendations.table is None
            or self._recommendations.age_s > self._policy.max_age_s
        )

    def _current_memory(
        self, table: LearnedTable, bounds: caches.NamespaceBounds
    ) -> similar_pods.SimilarPods[_SharedVerdict]:
        """Return the cache of the current state; the cache of another state is dropped."""
        memory = self._memory
        if not memory.holds(table, bounds):
            memory = similar_pods.SimilarPods(table.values, bounds)
            self._memory = memory
        return memory

    def _decide(
        self,
        request: admission_review.AdmissionRequest,
        document: pod_documents.PodDocument,
        bounds: caches.NamespaceBounds,
        table: LearnedTable | None,
    ) -> _SharedVerdict:
        """Decide on a pod and all similar ones."""
        pod = self._read(request)
        namespace = bounds.namespaces.get(request.namespace)
        why = policy.why_not(self._policy, pod, namespace)
        if not why and (pod.spec.pod_requests or pod.spec.pod_limits):
            why = "" if self._policy.pod_level else "pod-level"
        if why:
            return _SharedVerdict(ReviewVerdict(UNCHANGED, why))
        identity = self._identify(pod, document)
        if identity.key in self._policy.frozen:
            return _SharedVerdict(ReviewVerdict(UNCHANGED, "frozen"))
        selected = _select_learned(pod, identity, table)
        learned = {
            name: value
            for name, value in selected.items()
            # Not known is not enough.
            if value.evidence is not None and value.evidence >= self._policy.min_evidence
        }
        unknown = "stale" if table is None else "unknown"
        missed = {
            unknown: len(pod.spec.containers) - len(selected),
            THIN: len(selected) - len(learned),
        }
        missed = {reason: count for reason, count in missed.items() if count}
        if not learned:
            reason = THIN if selected else unknown
            return _SharedVerdict(ReviewVerdict(UNCHANGED, reason, skipped=missed))
        mutation = admission_mutation.mutate(
            pod, learned, self._policy, bounds.allowed(request.namespace), bounds.node
        )
        if not mutation.changes:
            return _SharedVerdict(ReviewVerdict(UNCHANGED, "same", skipped=missed))
        dry = policy.is_dry(self._policy, pod, namespace)
        changed = {change.container for change in mutation.changes}
        return _SharedVerdict(
            self._explain(request, document, identity, learned, mutation, missed, dry=dry),
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

    def _explain(
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
        shared: _SharedVerdict,
        request: admission_review.AdmissionRequest,
        document: pod_documents.PodDocument,
    ) -> ReviewVerdict:
        """Return the verdict on one pod, with its record unless it is a dry run."""
        if shared.outline is None or request.dry_run:
            return shared.verdict
        pod = document.metadata.name or f"{document.metadata.generate_name}*"
        _LOG.debug("%s/%s: %s", request.namespace, pod, shared.outline.outcome)
        record = functools.partial(
            explanations.record, shared.outline, shared.learned, pod, request.uid, self._clock()
        )
        return replace(shared.verdict, record=record)


def _select_learned(
    pod: pods.Pod, identity: identities.Identity, table: LearnedTable | None
) -> dict[str, StoredRecommendation]:
    """Return learned recommendations by container."""
    if table is None:
        return {}
    workload = (identity.namespace, identity.kind, identity.name)
    keys = {each.name: ContainerKey(*workload, each.name) for each in pod.spec.containers}
    return {name: table.values[key] for name, key in keys.items() if key in table.values}
