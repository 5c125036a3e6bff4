"""The scheduling cycle: filter, score, choose, with all numbers behind the decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kubestow.model import arrays, decisions, pods, states
from kubestow.policies.placing import profiles, terms
from kubestow.policies.placing.scheduler import (
    image_locality,
    node_affinity,
    node_filters,
    normalization,
    pod_affinity,
    resource_scores,
    sampling,
    topology_spread,
    volumes,
)
from kubestow.policies.placing.scheduler.cycle import Conflict, Cycle, FilterVerdict


def open_term(extension: profiles.Extension | None) -> terms.Term | None:
    """Return the term of an extension; ``None`` without an extension.

    Raises:
        InputError: If there is no such term, or a parameter is wrong.
    """
    if extension is None:
        return None
    return terms.make_term(extension.term, extension.parameters)


FILTERS: Mapping[str, Callable[[Cycle], FilterVerdict | None]] = {
    profiles.NODE_NAME: node_filters.node_name,
    profiles.UNSCHEDULABLE: node_filters.unschedulable,
    profiles.TAINTS: node_filters.untolerated,
    profiles.NODE_AFFINITY: node_affinity.admitted_nodes,
    profiles.PORTS: node_filters.free_ports,
    profiles.FIT: node_filters.fits,
    profiles.DISKS: volumes.free_disks,
    profiles.VOLUME_LIMITS: volumes.within_limits,
    profiles.VOLUMES: volumes.bindable,
    profiles.VOLUME_ZONES: volumes.in_zone,
    profiles.SPREAD: topology_spread.within_skew,
    profiles.POD_AFFINITY: pod_affinity.compatible,
}
# Checks of a pod alone, before any node is looked at; they raise Conflict.
PREFILTERS: Mapping[str, Callable[[Cycle], None]] = {
    profiles.DISKS: volumes.check_modes,
    profiles.VOLUMES: volumes.check_claims,
    profiles.VOLUME_ZONES: volumes.check_zones,
}


def _taint_score(cycle: Cycle, feasible: arrays.Ints) -> arrays.Ints:
    return normalization.proportional(
        node_filters.prefer_no_schedule_count(cycle)[feasible], reverse=True
    )


def _affinity_score(cycle: Cycle, feasible: arrays.Ints) -> arrays.Ints | None:
    raw = node_affinity.node_preference(cycle)
    return None if raw is None else normalization.proportional(raw[feasible], reverse=False)


def _balance_score(cycle: Cycle, feasible: arrays.Ints) -> arrays.Ints | None:
    raw = resource_scores.balance(cycle)
    return None if raw is None else raw[feasible]


# Each returns normalised scores of the feasible nodes, or None where upstream skips the plugin.
SCORES: Mapping[str, Callable[[Cycle, arrays.Ints], arrays.Ints | None]] = {
    profiles.TAINTS: _taint_score,
    profiles.NODE_AFFINITY: _affinity_score,
    profiles.FIT: lambda cycle, feasible: resource_scores.allocation(cycle)[feasible],
    profiles.SPREAD: topology_spread.evenness,
    profiles.POD_AFFINITY: pod_affinity.attraction,
    profiles.BALANCED: _balance_score,
    profiles.IMAGES: lambda cycle, feasible: image_locality.image_locality_score(cycle)[feasible],
    profiles.VOLUMES: volumes.capacity_score,
    profiles.DEVICES: lambda _, feasible: np.zeros_like(feasible),
}


@dataclass(frozen=True, slots=True, eq=False)
class Nomination:
    """The node that preemption frees for a pod, and the pods it evicts there.

    Attributes:
        node: Name of the node.
        victims: The pods, the most important first.
        broken_budgets: How many evictions violate a disruption budget.
    """

    node: str
    victims: tuple[pods.Pod, ...]
    broken_budgets: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the nomination as plain values; its keys are a stable interface."""
        return {
            "node": self.node,
            "victims": [victim.key for victim in self.victims],
            "broken_budgets": self.broken_budgets,
        }


Narrowing = Callable[[states.ClusterState, arrays.Ints], tuple[arrays.Ints, dict[str, str]]]
"""Takes nodes away from the feasible ones, and returns the reasons."""


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """The node chosen for a pod, with all feasible nodes and scores.

    Attributes:
        pod: The pod.
        row: The node's row; ``None`` if no node is feasible.
        feasible: Rows of the feasible nodes.
        scores: Weighted score of every feasible node by plugin; empty when scoring was skipped
            because at most one node is feasible.
        final: Sum of the scores.
        top: Rows of the nodes with the highest sum, in order of their names.
        next_start: Row where the next pod's node sample starts.
        parts: Components of an extension's score, by term and part, for every feasible node.
        nomination: What preemption would do, if the pod fits nowhere and may preempt others.
    """

    pod: pods.Pod
    row: int | None
    feasible: arrays.Ints
    scores: Mapping[str, arrays.Ints]
    final: arrays.Ints
    top: arrays.Ints
    nodes: tuple[str, ...]
    profile: str
    version: str
    _reasons: Callable[[], dict[str, str]]
    next_start: int = 0
    parts: Mapping[str, arrays.Floats] = field(default_factory=dict)
    nomination: Nomination | None = None

    @property
    def node(self) -> str | None:
        """Name of the chosen node."""
        return None if self.row is None else self.nodes[self.row]

    @property
    def tie(self) -> bool:
        """Return whether several nodes share the highest score; upstream then picks at random."""
        return len(self.top) > 1

    def rejected(self) -> dict[str, str]:
        """Return the reason for every node that is not feasible, computed on demand."""
        return self._reasons()

    def scores_of(self, position: int) -> dict[str, int]:
        """Return the weighted scores of the feasible node at a position."""
        return {plugin: int(values[position]) for plugin, values in self.scores.items()}

    def parts_of(self, position: int) -> dict[str, float]:
        """Return the components of an extension's score of the feasible node at a position."""
        return {part: float(values[position]) for part, values in self.parts.items()}

    def as_json(self, most: int | None = None) -> dict[str, Any]:
        """Return the placement as plain values; its keys are a stable interface.

        Args:
            most: List only this many of the best nodes, with counts of feasible and rejected nodes
                and of reasons beside them. ``None`` lists all.
        """
        kept = range(len(self.feasible)) if most is None else self._best(most)
        names = {i: self.nodes[self.feasible[i]] for i in kept}
        by_name = sorted(names, key=names.__getitem__)
        scored = by_name if len(self.feasible) > 1 else []
        parts = {"parts": {names[i]: self.parts_of(i) for i in scored}} if self.parts else {}
        return {
            "pod": self.pod.key,
            "node": self.node,
            "feasible": [names[i] for i in by_name],
            **self._rejections(most),
            "scores": {names[i]: self.scores_of(i) for i in scored},
            "final": {names[i]: int(self.final[i]) for i in scored},
            "top": [self.nodes[row] for row in self.top[:most]],
            "tie": self.tie,
            **parts,
            **({} if self.nomination is None else {"preemption": self.nomination.as_json()}),
        }

    def _best(self, most: int) -> list[int]:
        """Return the positions of the best feasible nodes, the chosen one among them."""
        order: list[int] = np.argsort(-self.final, kind="stable")[:most].tolist()
        chosen = np.flatnonzero(self.feasible == self.row).tolist()
        return list(dict.fromkeys([*chosen, *order]))[:most]

    def _rejections(self, most: int | None) -> dict[str, Any]:
        if most is None:
            return {"rejected": dict(sorted(self.rejected().items()))}
        count = len(self.nodes) - len(self.feasible)
        counted = {"feasible_count": len(self.feasible), "rejected_count": count}
        if self.row is not None:  # reasons take as long as the placement itself
            return {"rejected": {}, **counted}
        rejected = self.rejected()
        reasons = dict(Counter(rejected.values()).most_common())
        return {
            "rejected": dict(sorted(rejected.items())[:most]),
            **counted,
            "rejected_reasons": reasons,
        }

    def record(self, most: int | None = None) -> decisions.DecisionRecord:
        """Return the decision in the format that all policies share.

        Args:
            most: Keep only this many of the best candidates, and rejections, counted by reason,
                only if no node was chosen; for hosts that keep many records. ``None`` keeps all.
        """
        order = np.argsort(-self.final, kind="stable")[:most]
        rejected = self.rejected() if most is None or self.row is None else {}
        if most is not None:
            counts = Counter(rejected.values())
            rejected = {reason: f"{count} nodes" for reason, count in counts.most_common()}
        candidates = [
            decisions.Candidate(
                self.nodes[self.feasible[i]],
                {
                    **{plugin: float(score) for plugin, score in self.scores_of(int(i)).items()},
                    **self.parts_of(int(i)),
                },
                float(self.final[i]) if len(self.feasible) > 1 else None,
            )
            for i in order
        ]
        return decisions.DecisionRecord(
            kind="placing",
            subject=f"pod/{self.pod.key}",
            policy=self.profile,
            outcome=self.node,
            parameters={"version": self.version},
            candidates=tuple(candidates),
            rejected=rejected,
            numbers={"feasible": float(len(self.feasible)), "ties": float(len(self.top))},
        )


@dataclass(frozen=True, slots=True)
class Scheduler:
    """kube-scheduler with one profile: a pure function of pod and cluster state."""

    profile: profiles.Profile
    features: profiles.SchedulerFeatures
    _term: terms.Term | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_term", open_term(self.profile.extension))

    def place(
        self,
        pod: pods.Pod,
        state: states.ClusterState,
        rng: np.random.Generator | None = None,
        sample: sampling.NodeSample | None = None,
        loads: terms.Loads | None = None,
        narrow: Narrowing | None = None,
    ) -> Placement:
        """Choose a node for a pod; the state is not changed.

        Args:
            pod: The pod.
            state: The cluster.
            rng: Breaks ties at random; without it the first name wins.
            sample: Which nodes to evaluate; all if omitted.
            loads: Usage of the nodes, for an extension; defaults to the requests of their pods.
            narrow: Takes away feasible nodes on which other pods have been nominated.
        """
        cycle = Cycle(pod, state, self.profile, self.features)
        try:
            feasible, reasons = _filter(cycle)
        except Conflict as conflict:
            everywhere = dict.fromkeys(state.rows, str(conflict))
            feasible, reasons = np.empty(0, dtype=np.int64), lambda: everywhere
        if narrow is not None:
            feasible, taken = narrow(state, feasible)
            if taken:
                reasons = _joined(reasons, taken, state.names)
        next_start = 0
        if sample is not None:
            feasible, next_start = sampling.take(feasible, len(state), sample)
        added = None
        if self._term is not None and len(feasible):
            added = _extend(cycle, self._term, loads, feasible, reasons)
            feasible, reasons = added.feasible, added.reasons
        scores: dict[str, arrays.Ints] = {}
        if len(feasible) > 1:
            scores = _score(cycle, feasible)
            if added is not None:
                scores[added.name] = added.scores
        # Without score plugins and extenders upstream gives every node one point.
        start = 0 if self.profile.scores or self._term is not None else 1
        final = sum(scores.values(), np.full(len(feasible), start, dtype=np.int64))
        top = feasible[final == final.max()] if len(feasible) else feasible
        top = top[np.argsort([state.names[row] for row in top], kind="stable")]
        row = None
        if len(top):
            row = int(top[0 if rng is None else int(rng.random() * len(top))])
        return Placement(
            pod=pod,
            row=row,
            feasible=feasible,
            scores=scores,
            final=final,
            top=top,
            nodes=state.names,
            profile=self.profile.name,
            version=self.features.version,
            _reasons=reasons,
            next_start=next_start,
            parts={} if added is None else added.parts,
        )

    def bind(self, pod: pods.Pod, state: states.ClusterState, row: int) -> None:
        """Put a pod on a node with its volumes."""
        self.reserve(pod, state, row)
        state.place(pod, row)

    def reserve(self, pod: pods.Pod, state: states.ClusterState, row: int) -> None:
        """Bind or provision the volumes of a pod for a node, without putting the pod there."""
        volumes.assume_volumes(pod, state, row, self.profile, self.features)

    def fits(self, pod: pods.Pod, state: states.ClusterState, row: int) -> bool:
        """Return whether one node is feasible for a pod; extensions are not consulted.

        Upstream uses only its own filters when it selects preemption victims.
        """
        try:
            feasible, _ = _filter(Cycle(pod, state, self.profile, self.features))
        except Conflict:
            return False
        return bool(np.isin(row, feasible))

    def refusal(self, pod: pods.Pod, state: states.ClusterState, row: int) -> str | None:
        """Return why one node is not feasible for a pod; ``None`` if it is."""
        try:
            _, reasons = _filter(Cycle(pod, state, self.profile, self.features))
        except Conflict as conflict:
            return str(conflict)
        return reasons().get(state.names[row])


def _joined(
    reasons: Callable[[], dict[str, str]], more: Mapping[str, str], names: Sequence[str]
) -> Callable[[], dict[str, str]]:
    """Return a function that returns more reasons as well, in the order of the nodes."""

    def joined() -> dict[str, str]:
        merged = {**reasons(), **more}
        return {name: merged[name] for name in names if name in merged}

    return joined


def _filter(cycle: Cycle) -> tuple[arrays.Ints, Callable[[], dict[str, str]]]:
    """Run the filters; return the feasible rows and a function that returns the reasons."""
    count = len(cycle.state)
    passes = np.ones(count, dtype=np.bool_)
    named = None
    for name in cycle.profile.prefilters:
        if name == profiles.NODE_AFFINITY:
            named = node_affinity.named_nodes(cycle.pod.spec)
        elif cycle.pod.volumes:
            PREFILTERS[name](cycle)
    if named is not None:
        passes = np.array([node.name in named for node in cycle.state.nodes], dtype=np.bool_)
    outside = ~passes
    refusals: list[tuple[arrays.Bools, FilterVerdict]] = []
    for name in cycle.profile.filters:
        verdict = FILTERS[name](cycle)
        if verdict is not None:
            refusals.append((passes & ~verdict.passes, verdict))
            passes &= verdict.passes

    def reasons() -> dict[str, str]:
        by_row: dict[int, str] = dict.fromkeys(
            np.flatnonzero(outside).tolist(),
            f"node(s) didn't satisfy plugin(s) [{profiles.NODE_AFFINITY}]",
        )
        for refused, verdict in refusals:
            by_row.update((row, verdict.explain(row)) for row in np.flatnonzero(refused).tolist())
        return {cycle.state.nodes[row].name: by_row[row] for row in sorted(by_row)}

    return np.flatnonzero(passes), reasons


def _score(cycle: Cycle, feasible: arrays.Ints) -> dict[str, arrays.Ints]:
    by_plugin = {}
    for name, weight in cycle.profile.scores:
        scores = SCORES[name](cycle, feasible)
        if scores is not None:
            by_plugin[name] = scores * weight
    return by_plugin


@dataclass(frozen=True, slots=True, eq=False)
class _Extended:
    """What remains after the extender's filter, with its scores, as ``Placement`` needs it."""

    name: str
    feasible: arrays.Ints
    reasons: Callable[[], dict[str, str]]
    scores: arrays.Ints
    parts: dict[str, arrays.Floats]


def _extend(
    cycle: Cycle,
    term: terms.Term,
    loads: terms.Loads | None,
    feasible: arrays.Ints,
    reasons: Callable[[], dict[str, str]],
) -> _Extended:
    """Apply the extender to the nodes that passed all filters (``schedule_one.go``, 1.37)."""
    state, extension = cycle.state, cycle.profile.extension
    known = terms.Loads.by_requests(state) if loads is None else loads
    verdict = term.weigh(cycle.pod, state, known, feasible)
    refused = np.flatnonzero(~verdict.passes)

    def more_reasons() -> dict[str, str]:
        own = {state.names[feasible[i]]: f"{term.name}: {verdict.explain(int(i))}" for i in refused}
        return _joined(reasons, own, state.names)()

    kept = np.flatnonzero(verdict.passes)
    sent = terms.sent_scores(
        cycle.pod, state, feasible[kept], verdict.scores[kept], decisive=verdict.decisive
    )
    if extension is not None and extension.shortlist and len(kept):
        chooses = terms.has_preferences(cycle.pod)
        best = terms.pick_shortlist(verdict.scores[kept]) if chooses else [np.argmax(sent)]
        kept, sent = kept[best], np.zeros(len(best), dtype=np.int64)
    return _Extended(
        name=term.name,
        feasible=feasible[kept],
        reasons=more_reasons if len(refused) else reasons,
        scores=sent * ((1 if extension is None else extension.weight) * terms.POINT),
        parts={f"{term.name}/{part}": values[kept] for part, values in verdict.parts.items()},
    )
