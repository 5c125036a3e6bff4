"""Pod affinity and anti-affinity as filter and score (plugin InterPodAffinity)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kubestow.model import arrays, pods, states
from kubestow.policies.placing.scheduler import normalization
from kubestow.policies.placing.scheduler.cycle import Cycle, FilterVerdict

_NOT_NEAR = "node(s) didn't match pod affinity rules"
_NOT_APART = "node(s) didn't match pod anti-affinity rules"
_REPELLED = "node(s) didn't satisfy existing pods anti-affinity rules"


def term_covers_group(cycle: Cycle, term: pods.PodAffinityTerm, group: states.PodGroup) -> bool:
    """Return whether a term of the incoming pod selects the pods of a group."""
    labels = cycle.state.cluster.namespace_labels(group.namespace)
    if term.selector is None or not term.covers(cycle.pod.namespace, group.namespace, labels):
        return False
    return term.selector.matches(group.labels)


def term_covers_pod(cycle: Cycle, term: pods.PodAffinityTerm, owner_namespace: str) -> bool:
    """Return whether a term of a pod in ``owner_namespace`` selects the incoming pod."""
    pod = cycle.pod
    labels = cycle.state.cluster.namespace_labels(pod.namespace)
    if term.selector is None or not term.covers(owner_namespace, pod.namespace, labels):
        return False
    return term.selector.matches(pod.labels)


def _pods_fulfilling(cycle: Cycle, terms: tuple[pods.PodAffinityTerm, ...]) -> arrays.Ints:
    """Count on each node the pods that match all terms."""
    total = np.zeros(len(cycle.state), dtype=np.int64)
    for group in cycle.state.groups:
        if all(term_covers_group(cycle, term, group) for term in terms):
            total += group.counts
    return total


def _in_domain(cycle: Cycle, key: str, amounts: arrays.Ints) -> arrays.Ints:
    """Give every node the total of its topology domain."""
    column = cycle.state.label(key)
    return column.spread_back(column.totals(amounts))


def _near(cycle: Cycle) -> arrays.Bools:
    """Return which nodes satisfy the pod's required affinity."""
    terms = cycle.pod.spec.required_near
    passes = np.ones(len(cycle.state), dtype=np.bool_)
    if not terms:
        return passes
    matching = _pods_fulfilling(cycle, terms)
    labelled = passes.copy()
    anywhere = False
    for term in terms:
        present = cycle.state.label(term.topology_key).present
        labelled &= present
        anywhere |= bool((matching[present] > 0).any())
        passes &= _in_domain(cycle, term.topology_key, matching) > 0
    if not anywhere and all(term_covers_pod(cycle, t, cycle.pod.namespace) for t in terms):
        # The first of a set of pods with affinity to each other may start anywhere.
        return labelled
    return passes & labelled


def _apart(cycle: Cycle) -> arrays.Bools:
    """Return which nodes satisfy the pod's required anti-affinity."""
    passes = np.ones(len(cycle.state), dtype=np.bool_)
    for term in cycle.pod.spec.required_apart:
        matching = _pods_fulfilling(cycle, (term,))
        passes &= _in_domain(cycle, term.topology_key, matching) == 0
    return passes


def _not_repelled(cycle: Cycle) -> arrays.Bools:
    """Return which nodes satisfy the required anti-affinity of existing pods."""
    passes = np.ones(len(cycle.state), dtype=np.bool_)
    for group in cycle.state.groups:
        for term in group.spec.required_apart if group.spec else ():
            if term_covers_pod(cycle, term, group.namespace):
                passes &= _in_domain(cycle, term.topology_key, group.counts) == 0
    return passes


def compatible(cycle: Cycle) -> FilterVerdict | None:
    """Filter by the required terms of the incoming pod and of existing pods."""
    if not cycle.pod.spec.has_pod_affinity and not any(g.spec for g in cycle.state.groups):
        return None
    near, apart, not_repelled = _near(cycle), _apart(cycle), _not_repelled(cycle)

    def explain(row: int) -> str:
        if not near[row]:
            return _NOT_NEAR
        return _REPELLED if apart[row] else _NOT_APART

    return FilterVerdict(near & apart & not_repelled, explain)


def _contributions(cycle: Cycle) -> Iterator[tuple[str, int, arrays.Ints]]:
    """Yield topology key, weight and pods per node of each term that applies."""
    spec, args = cycle.pod.spec, cycle.profile.pod_affinity
    for sign, own in ((1, spec.preferred_near), (-1, spec.preferred_apart)):
        for weighted in own:
            counts = _pods_fulfilling(cycle, (weighted.term,))
            yield weighted.term.topology_key, sign * weighted.weight, counts
    for group in cycle.state.groups:
        if group.spec is None:
            continue
        terms = [
            *((args.hard_weight, term) for term in group.spec.required_near if args.hard_weight),
            *((w.weight, w.term) for w in group.spec.preferred_near),
            *((-w.weight, w.term) for w in group.spec.preferred_apart),
        ]
        for weight, term in terms:
            if term_covers_pod(cycle, term, group.namespace):
                yield term.topology_key, weight, group.counts


def attraction(cycle: Cycle, feasible: arrays.Ints) -> arrays.Ints | None:
    """Score feasible nodes by the pods in their domains, normalised between minimum and maximum."""
    spec = cycle.pod.spec
    has_preferences = bool(spec.preferred_near or spec.preferred_apart)
    if cycle.profile.pod_affinity.ignore_preferred_of_existing and not has_preferences:
        return None
    total = np.zeros(len(cycle.state), dtype=np.int64)
    applied = False
    for key, weight, counts in _contributions(cycle):
        applied |= bool((counts[cycle.state.label(key).present] > 0).any())
        total += weight * _in_domain(cycle, key, counts)
    if not applied:
        return None
    raw = total[feasible]
    least = int(raw.min())
    difference = int(raw.max()) - least
    if difference == 0:
        return np.zeros_like(raw)
    return (float(normalization.MAX_SCORE) * ((raw - least) / float(difference))).astype(np.int64)
