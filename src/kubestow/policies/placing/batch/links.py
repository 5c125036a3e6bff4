"""Links of classes of pods to the tallies that affect them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from kubestow.model import arrays, nodes, pods, selectors, states
from kubestow.policies.placing import profiles, scheduler
from kubestow.policies.placing.batch.groups import ITSELF, TallyRegistry, flatten, representative
from kubestow.policies.placing.batch.tables import Links
from kubestow.policies.placing.scheduler import Cycle


@dataclass(slots=True)
class ClassLinks:
    """The links of one class; see ``tables.Links``."""

    repelled: list[int] = field(default_factory=list)
    near: list[int] = field(default_factory=list)
    first_of_kind: bool = False
    pulls: list[tuple[int, int]] = field(default_factory=list)
    hard: list[tuple[int, int, int, int]] = field(default_factory=list)
    soft: list[tuple[int, int, bool]] = field(default_factory=list)
    strict: bool = False
    labelled: int = 0


@dataclass(frozen=True, slots=True)
class OwnedTerm:
    """An affinity term of a pod that is or will be on a node; it affects later pods."""

    namespace: str
    term: pods.PodAffinityTerm
    weight: int  # 0: required anti-affinity


def owned_terms(group: states.PodGroup, args: profiles.PodAffinityArgs) -> Iterator[OwnedTerm]:
    """Yield the terms by which the pods of a group affect others."""
    if group.spec is None:
        return
    for term in group.spec.required_apart:
        yield OwnedTerm(group.namespace, term, 0)
    for term in group.spec.required_near if args.hard_weight else ():
        yield OwnedTerm(group.namespace, term, args.hard_weight)
    for weighted in group.spec.preferred_near:
        yield OwnedTerm(group.namespace, weighted.term, weighted.weight)
    for weighted in group.spec.preferred_apart:
        yield OwnedTerm(group.namespace, weighted.term, -weighted.weight)


class Linker:
    """Derives the links of all classes from their constraints.

    All classes must be known in advance, because the terms of one affect the others.
    """

    def __init__(self, cycles: list[Cycle], registry: TallyRegistry) -> None:
        self._cycles = cycles
        self._registry = registry
        self._members = [representative(cycle.pod) for cycle in cycles]
        args = cycles[0].profile.pod_affinity if cycles else profiles.PodAffinityArgs()
        everyone = [*registry.state.groups, *self._members]
        self._owned = list(dict.fromkeys(t for m in everyone for t in owned_terms(m, args)))
        self._ports = list(dict.fromkeys(port for c in cycles for port in scheduler.host_ports(c)))
        self._args = args

    def links(self) -> Links:
        """Return the links of all classes."""
        linked = [self._link(cycle) for cycle in self._cycles]
        joins = [self._registry.joined(member) for member in self._members]
        for c, cycle in enumerate(self._cycles):
            joins[c] += [self._port_group(port) for port in cycle.pod.spec.host_ports]
        return _tables(linked, joins)

    def _link(self, cycle: Cycle) -> ClassLinks:
        links = ClassLinks()
        enabled = cycle.profile.filters
        if profiles.PORTS in enabled:
            self._add_ports(cycle, links)
        if profiles.POD_AFFINITY in enabled:
            self._add_required(cycle, links)
        if profiles.SPREAD in enabled:
            self._add_hard(cycle, links)
        scored = dict(cycle.profile.scores)
        if profiles.POD_AFFINITY in scored:
            self._add_pulls(cycle, links)
        if profiles.SPREAD in scored:
            self._add_soft(cycle, links)
        return links

    def _port_group(self, port: pods.HostPort) -> int:
        counts = self._registry.state.port_counts(port)
        return self._registry.group(("port", port), lambda _: 0, counts.copy())

    def _add_ports(self, cycle: Cycle, links: ClassLinks) -> None:
        in_use = [*self._registry.state.ports(), *self._ports]
        for own in scheduler.host_ports(cycle):
            for port in dict.fromkeys(in_use):
                if own.conflicts_with(port):
                    group = self._port_group(port)
                    links.repelled.append(self._registry.tally(group, ITSELF))

    def _matching(self, cycle: Cycle, terms: tuple[pods.PodAffinityTerm, ...]) -> int:
        """Return the group of pods that match all of several terms of the class."""
        return self._registry.group(
            ("terms", cycle.pod.namespace, terms),
            lambda member: int(
                all(scheduler.term_covers_group(cycle, term, member) for term in terms)
            ),
        )

    def _owners(self, owned: OwnedTerm) -> int:
        """Return the group of pods that have a term."""
        return self._registry.group(
            owned, lambda member: list(owned_terms(member, self._args)).count(owned)
        )

    def _add_required(self, cycle: Cycle, links: ClassLinks) -> None:
        spec, namespace = cycle.pod.spec, cycle.pod.namespace
        for term in spec.required_apart:
            group = self._matching(cycle, (term,))
            links.repelled.append(self._registry.tally(group, term.topology_key))
        for owned in self._owned:
            if owned.weight == 0 and self._acts_on(cycle, owned):
                group = self._owners(owned)
                links.repelled.append(self._registry.tally(group, owned.term.topology_key))
        if spec.required_near:
            group = self._matching(cycle, spec.required_near)
            links.near = [self._registry.tally(group, t.topology_key) for t in spec.required_near]
            links.first_of_kind = all(
                scheduler.term_covers_pod(cycle, t, namespace) for t in spec.required_near
            )

    def _acts_on(self, cycle: Cycle, owned: OwnedTerm) -> bool:
        return scheduler.term_covers_pod(cycle, owned.term, owned.namespace)

    def _add_pulls(self, cycle: Cycle, links: ClassLinks) -> None:
        spec = cycle.pod.spec
        own = [
            *((w.weight, w.term) for w in spec.preferred_near),
            *((-w.weight, w.term) for w in spec.preferred_apart),
        ]
        if cycle.profile.pod_affinity.ignore_preferred_of_existing and not own:
            return
        for weight, term in own:
            group = self._matching(cycle, (term,))
            links.pulls.append((self._registry.tally(group, term.topology_key), weight))
        for owned in self._owned:
            if owned.weight and self._acts_on(cycle, owned):
                group = self._owners(owned)
                tally = self._registry.tally(group, owned.term.topology_key)
                links.pulls.append((tally, owned.weight))

    def _siblings(self, cycle: Cycle, constraint: pods.SpreadConstraint) -> int:
        """Return the group of pods that a spread constraint counts."""
        selector, namespace = constraint.selector, cycle.pod.namespace

        def multiplicity(member: states.PodGroup) -> int:
            if selector is None or selector.empty or member.terminating:
                return 0
            return int(member.namespace == namespace and selector.matches(member.labels))

        hint = None
        for requirement in selector.requirements if selector is not None else ():
            if requirement.operator == selectors.IN and len(requirement.values) == 1:
                hint = (namespace, requirement.key, requirement.values[0])
                break
        return self._registry.group(("spread", namespace, selector), multiplicity, hint=hint)

    def _add_hard(self, cycle: Cycle, links: ClassLinks) -> None:
        constraints = scheduler.spread_constraints(cycle, hard=True)
        labelled = scheduler.have_topology_keys(cycle, constraints)
        for constraint in constraints:
            mask = self._registry.mask(labelled & scheduler.eligible_nodes(cycle, constraint))
            group = self._siblings(cycle, constraint)
            tally = self._registry.tally(group, constraint.topology_key, mask)
            itself = constraint.selector is not None and constraint.selector.matches(
                cycle.pod.labels
            )
            links.hard.append((tally, constraint.max_skew, constraint.min_domains, int(itself)))

    def _add_soft(self, cycle: Cycle, links: ClassLinks) -> None:
        constraints = scheduler.spread_constraints(cycle, hard=False)
        labelled = scheduler.have_topology_keys(cycle, constraints)
        links.strict = bool(cycle.pod.spec.spread) or not cycle.profile.spread.system
        links.labelled = self._registry.mask(labelled)
        everywhere = np.ones(len(cycle.state), dtype=np.bool_)
        taking_part = labelled if links.strict else everywhere
        for constraint in constraints:
            mask = self._registry.mask(taking_part & scheduler.eligible_nodes(cycle, constraint))
            group = self._siblings(cycle, constraint)
            tally = self._registry.tally(group, constraint.topology_key, mask)
            host = constraint.topology_key == nodes.HOSTNAME_LABEL
            links.soft.append((tally, constraint.max_skew, host))


def _tables(linked: list[ClassLinks], joins: list[list[int]]) -> Links:
    joined, repelled = flatten(joins), flatten([links.repelled for links in linked])
    near = flatten([links.near for links in linked])
    pulls = flatten([[t for t, _ in links.pulls] for links in linked])
    hard = flatten([[t for t, _, _, _ in links.hard] for links in linked])
    soft = flatten([[t for t, _, _ in links.soft] for links in linked])
    return Links(
        joins_first=joined[0],
        joins=joined[1],
        repelled_first=repelled[0],
        repelled=repelled[1],
        near_first=near[0],
        near=near[1],
        first_of_kind=np.array([links.first_of_kind for links in linked], dtype=np.bool_),
        pulls_first=pulls[0],
        pulls=pulls[1],
        pull_weight=_ints(weight for links in linked for _, weight in links.pulls),
        hard_first=hard[0],
        hard=hard[1],
        hard_skew=_ints(skew for links in linked for _, skew, _, _ in links.hard),
        hard_domains=_ints(domains for links in linked for _, _, domains, _ in links.hard),
        hard_self=_ints(itself for links in linked for _, _, _, itself in links.hard),
        soft_first=soft[0],
        soft=soft[1],
        soft_skew=_ints(skew for links in linked for _, skew, _ in links.soft),
        soft_host=np.array([h for links in linked for _, _, h in links.soft], dtype=np.bool_),
        strict=np.array([links.strict for links in linked], dtype=np.bool_),
        labelled=_ints(links.labelled for links in linked),
    )


def _ints(values: Iterator[int]) -> arrays.Ints:
    return np.array(list(values), dtype=np.int64)
