"""Decides on one pod: who it is, whether it may be changed, what it gets, and what is said."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from kubestow.live.admission import (
    documents,
    explanations,
    mutations,
    patches,
    policies,
    reviews,
    surroundings,
)
from kubestow.live.admission.books import Book
from kubestow.live.admission.learned_values import Learned
from kubestow.live.admission.policies import Policy
from kubestow.live.stores.containers import ContainerKey
from kubestow.model import identities, pods
from kubestow.model.decisions import DecisionRecord

CHANGED, WOULD_CHANGE, UNCHANGED = "changed", "would_change", "unchanged"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Verdict:
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
        policy: Policy,
        book: Book,
        around: Callable[[], surroundings.Surroundings] = surroundings.Surroundings,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._policy, self._book, self._around, self._clock = policy, book, around, clock

    def review(self, request: reviews.Request) -> Verdict:
        """Decide on one request.

        Raises:
            InputError: If the pod is not understood.
        """
        if not request.creates_pod:
            return Verdict(UNCHANGED, "not-a-creation")
        document = documents.read(request.object)
        pod = documents.as_pod(document, request.namespace)
        around = self._around()
        namespace = around.namespaces.get(request.namespace)
        why = policies.why_not(self._policy, pod, namespace)
        if not why and (pod.spec.pod_requests or pod.spec.pod_limits):
            why = "" if self._policy.pod_level else "pod-level"
        if why:
            return Verdict(UNCHANGED, why)
        identity = self._identify(pod, document)
        if identity.key in self._policy.frozen:
            return Verdict(UNCHANGED, "frozen")
        learned, why = self._look_up(pod, identity)
        missed = {why or "unknown": len(pod.spec.containers) - len(learned)}
        missed = {reason: count for reason, count in missed.items() if count}
        if not learned:
            return Verdict(UNCHANGED, why or "unknown", skipped=missed)
        mutation = mutations.mutate(
            pod, learned, self._policy, around.allowed(request.namespace), around.node
        )
        if not mutation.changes:
            return Verdict(UNCHANGED, "same", skipped=missed)
        dry = policies.is_dry(self._policy, pod, namespace)
        verdict = self._tell(request, document, identity, learned, mutation, dry=dry)
        return replace(verdict, skipped=missed)

    def _identify(self, pod: pods.Pod, document: documents.PodDocument) -> identities.Identity:
        labelled = replace(pod, labels=policies.named(self._policy, pod.labels))
        return identities.identify(labelled, document.metadata.generate_name)

    def _look_up(
        self, pod: pods.Pod, identity: identities.Identity
    ) -> tuple[dict[str, Learned], str]:
        """Return what was learned by container; or nothing, and ``stale``."""
        table = self._book.table
        if table is None or self._book.age_s > self._policy.max_age_s:
            return {}, "stale"
        whose = (identity.namespace, identity.kind, identity.name)
        keys = {each.name: ContainerKey(*whose, each.name) for each in pod.spec.containers}
        return {name: table.values[key] for name, key in keys.items() if key in table.values}, ""

    def _tell(
        self,
        request: reviews.Request,
        document: documents.PodDocument,
        identity: identities.Identity,
        learned: Mapping[str, Learned],
        mutation: mutations.Mutation,
        *,
        dry: bool,
    ) -> Verdict:
        """Return the patch with its explanation, and keep the decision unless it is for show."""
        name = policies.WOULD_CHANGE if dry else policies.CHANGED
        earlier = document.annotations.get(name, "")
        text = explanations.annotate(mutation, learned, identity, self._policy, earlier)
        patch = [] if dry else patches.resource_operations(document, mutation.changes)
        patch += patches.annotation_operations(document, name, text)
        pod = document.metadata.name or f"{document.metadata.generate_name}*"
        record = None
        if not request.dry_run:
            record = functools.partial(
                explanations.record,
                mutation,
                learned,
                identity,
                self._policy,
                pod=pod,
                uid=request.uid,
                time_s=self._clock(),
                dry=dry,
            )
            word = "would change" if dry else "changed"
            _LOG.info("%s %s/%s: %s", word, request.namespace, pod, explanations.describe(mutation))
        reason = "dry_run" if dry or request.dry_run else ""
        return Verdict(WOULD_CHANGE if dry else CHANGED, reason, patch, record=record)
