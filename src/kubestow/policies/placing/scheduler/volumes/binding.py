"""Bound, bindable and provisionable volumes on each node (plugin VolumeBinding)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from kubestow.model import arrays, volumes
from kubestow.policies.placing.scheduler import resource_scores
from kubestow.policies.placing.scheduler.cycle import Conflict, Cycle, FilterVerdict
from kubestow.policies.placing.scheduler.volumes import lookups, matching, reach

_OLD_AFFINITY = "node(s) had volume node affinity conflict"
_AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
_UNBOUND = "node(s) didn't find available persistent volumes to bind"
_SHORT = "node(s) did not have enough free storage"
_MISSING = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"


@dataclass(frozen=True, slots=True, eq=False)
class Provision:
    """A claim for which a volume would be provisioned.

    Attributes:
        claim: The claim.
        rows: On which nodes.
        capacity: Bytes that are free for its class on each node; -1 where that is not tracked.
    """

    claim: volumes.VolumeClaim
    rows: arrays.Bools
    capacity: arrays.Ints


@dataclass(slots=True, eq=False)
class VolumeDecision:
    """What VolumeBinding finds for a pod on all nodes.

    Attributes:
        unreachable: Nodes that cannot reach a bound volume.
        missing: Nodes rejected because a bound volume does not exist.
        unbound: Nodes for which no volume can be bound or provisioned.
        short: Nodes without enough free capacity to provision.
        matches: Volumes that unbound claims would be bound to.
        provisions: Claims for which volumes would be provisioned.
    """

    unreachable: arrays.Bools
    missing: arrays.Bools
    unbound: arrays.Bools
    short: arrays.Bools
    matches: list[matching.Match] = field(default_factory=list)
    provisions: list[Provision] = field(default_factory=list)


def check_claims(cycle: Cycle) -> None:
    """Refuse a pod with unusable claims, or with unbound ones that do not wait for a pod.

    Raises:
        Conflict: If it is refused.
    """
    for claim in lookups.all_claims(cycle):
        if not claim.bound and not claim.unknown and not _waits(cycle, claim):
            raise Conflict("pod has unbound immediate PersistentVolumeClaims")


def bindable(cycle: Cycle) -> FilterVerdict | None:
    """Filter out nodes on which a pod cannot have all its volumes."""
    if not any(volume.claim or volume.template for volume in cycle.pod.volumes):
        return None
    decision = decide(cycle)

    def explain(row: int) -> str:
        reasons = (
            (
                decision.unreachable,
                _AFFINITY if cycle.features.volume_affinity_text else _OLD_AFFINITY,
            ),
            (decision.unbound, _UNBOUND),
            (decision.short, _SHORT),
            (decision.missing, _MISSING),
        )
        return ", ".join(text for rows, text in reasons if rows[row])

    passes = ~(decision.unreachable | decision.unbound | decision.short | decision.missing)
    return FilterVerdict(passes, explain)


def decide(cycle: Cycle) -> VolumeDecision:
    """Return what becomes of a pod's claims on every node.

    Raises:
        Conflict: If a claim is unusable.
    """
    claims = [claim for claim in lookups.all_claims(cycle) if not claim.unknown]
    nowhere = np.zeros(len(cycle.state), dtype=np.bool_)
    decision = VolumeDecision(nowhere, nowhere.copy(), nowhere.copy(), nowhere.copy())
    _check_bound(cycle, (claim for claim in claims if claim.bound), decision)
    delayed = [claim for claim in claims if not claim.bound and _waits(cycle, claim)]
    if delayed:
        _check_delayed(cycle, delayed, decision)
    return decision


def _waits(cycle: Cycle, claim: volumes.VolumeClaim) -> bool:
    kind = cycle.state.volumes.storage.classes.get(claim.storage_class)
    return kind is not None and kind.waits and not claim.volume


def _check_bound(
    cycle: Cycle, claims: Iterable[volumes.VolumeClaim], decision: VolumeDecision
) -> None:
    """Reject nodes by the first bound volume that is not there or cannot be reached."""
    left = np.ones(len(cycle.state), dtype=np.bool_)
    for claim in claims:
        volume = cycle.state.volumes.volumes.get(claim.volume)
        if volume is None:
            decision.missing |= left
            return
        reachable = reach.volume_mask(cycle.state, volume)
        decision.unreachable |= left & ~reachable
        left &= reachable


def _check_delayed(
    cycle: Cycle, claims: list[volumes.VolumeClaim], decision: VolumeDecision
) -> None:
    """Bind or provision, on each node, the volumes of claims that waited for this pod."""
    selected = [claim for claim in claims if claim.selected_node is not None]
    left = np.ones(len(cycle.state), dtype=np.bool_)
    for claim in selected:
        here = np.zeros(len(cycle.state), dtype=np.bool_)
        if claim.selected_node in cycle.state.rows:
            here[cycle.state.rows[claim.selected_node]] = True
        left &= here
    decision.unbound |= ~left
    open_claims = [claim for claim in claims if claim.selected_node is None]
    decision.matches = matching.match_claims(
        cycle.state, open_claims, attributes=cycle.features.volume_attributes
    )
    wanted = [(claim, left.copy()) for claim in selected]
    wanted += [(match.claim, ~match.matched) for match in decision.matches]
    for claim, rows in wanted:
        _check_provision(cycle, claim, rows, left, decision)


def _check_provision(
    cycle: Cycle,
    claim: volumes.VolumeClaim,
    rows: arrays.Bools,
    left: arrays.Bools,
    decision: VolumeDecision,
) -> None:
    """Reject nodes on which a claim needs a new volume and cannot have it.

    Args:
        cycle: The cycle.
        claim: The claim.
        rows: Nodes on which it needs one.
        left: Nodes that no earlier claim has rejected; updated.
        decision: The decision; updated.
    """
    rows = rows & left
    kind = cycle.state.volumes.storage.classes[claim.storage_class]
    if kind.provisions:
        possible = reach.affinity_mask(cycle.state, kind.topologies)
    else:
        possible = np.zeros_like(rows)
    enough, capacity = _capacity(cycle, claim, kind)
    decision.unbound |= rows & ~possible
    decision.short |= rows & possible & ~enough
    left &= ~rows | (possible & enough)
    decision.provisions.append(Provision(claim, rows & left, capacity))


def _capacity(
    cycle: Cycle, claim: volumes.VolumeClaim, kind: volumes.StorageClass
) -> tuple[arrays.Bools, arrays.Ints]:
    """Return where there is enough free capacity for a claim, and how much there is."""
    state, size = cycle.state, claim.spec.request
    storage = state.volumes.storage
    free = np.full(len(state), -1, dtype=np.int64)
    driver = storage.drivers.get(kind.provisioner)
    if size is None or driver is None or not driver.tracks_capacity:
        return np.ones(len(state), dtype=np.bool_), free
    enough = np.zeros(len(state), dtype=np.bool_)
    for capacity in storage.capacities:
        limit = capacity.limit
        if capacity.storage_class != kind.name or capacity.nodes is None or limit is None:
            continue
        if limit.value() >= size.value():
            reached = reach.selector_mask(state, capacity.nodes) & ~enough
            if capacity.capacity is not None:
                free[reached] = capacity.capacity.value()
            enough |= reached
    return enough, free


def capacity_score(cycle: Cycle, feasible: arrays.Ints) -> arrays.Ints | None:
    """Score nodes by how much of the storage capacity the claims of a pod would use.

    Volumes to bind count where there are any; only otherwise volumes to provision.
    """
    if not cycle.features.capacity_scores:
        return None
    total = np.zeros(len(feasible), dtype=np.int64)
    if not any(volume.claim or volume.template for volume in cycle.pod.volumes):
        return total
    decision = decide(cycle)
    usages = _Usages(len(cycle.state))
    for match in decision.matches:
        if len(match.sizes):
            sizes = match.sizes[match.chosen]
            usages.add(match.claim, match.matched, sizes, adding=True)
    bound = np.zeros(len(cycle.state), dtype=np.bool_)
    for match in decision.matches:
        bound |= match.matched
    for provision in decision.provisions:
        rows = provision.rows & ~bound & (provision.capacity >= 0)
        usages.add(provision.claim, rows, provision.capacity, adding=False)
    return usages.scores(cycle)[feasible]


class _Usages:
    """Requested and offered capacity of each class on all nodes."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._by_class: dict[str, tuple[arrays.Ints, arrays.Ints, arrays.Bools]] = {}

    def add(
        self, claim: volumes.VolumeClaim, rows: arrays.Bools, capacity: arrays.Ints, *, adding: bool
    ) -> None:
        """Count a claim on some nodes; the capacity is added to, or replaces, what is known."""
        if claim.storage_class not in self._by_class:
            zeros = np.zeros(self._count, dtype=np.int64)
            self._by_class[claim.storage_class] = zeros, zeros.copy(), zeros > 0
        requested, offered, counted = self._by_class[claim.storage_class]
        size = 0 if claim.spec.request is None else claim.spec.request.value()
        requested[rows] += size
        offered[rows] = offered[rows] + capacity[rows] if adding else capacity[rows]
        counted |= rows

    def scores(self, cycle: Cycle) -> arrays.Ints:
        """Return the mean of the scores of all classes, rounded."""
        total = np.zeros(self._count, dtype=np.int64)
        classes = np.zeros(self._count, dtype=np.int64)
        for requested, offered, counted in self._by_class.values():
            full = (offered == 0) | (requested > offered)
            percent = np.where(full, 100, requested * 100 // np.maximum(offered, 1))
            score = resource_scores.shape_value(cycle.profile.volumes.shape, percent)
            total += np.where(counted, score, 0)
            classes += counted
        # math.Round of the quotient, in integers.
        return (2 * total + classes) // np.maximum(2 * classes, 1)
