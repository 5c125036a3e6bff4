"""Which free volume a claim would be bound to on each node (``FindMatchingVolume``, 1.37).

Volumes of a class are ranked by size. A claim takes the smallest that suits it and that the node
can reach, and that no other claim of the same pod has taken. Among volumes of equal size upstream
takes any; here the first name wins.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kubestow.model import arrays, states, volume_tables, volumes
from kubestow.policies.placing.scheduler.volumes import reach

_NONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """The volumes that a claim would be bound to.

    Attributes:
        claim: The claim.
        volumes: The volumes in question.
        chosen: Index of the volume for each node; -1 where there is none.
        sizes: Capacities of the volumes in bytes.
    """

    claim: volumes.VolumeClaim
    volumes: Sequence[volumes.PersistentVolume]
    chosen: arrays.Ints
    sizes: arrays.Ints

    @property
    def matched(self) -> arrays.Bools:
        """On which nodes there is a volume for the claim."""
        matched: arrays.Bools = self.chosen != _NONE
        return matched


def match_claims(
    state: states.ClusterState, claims: Sequence[volumes.VolumeClaim], *, attributes: bool
) -> list[Match]:
    """Return the volumes for several claims of one pod, the smallest claim first.

    Args:
        state: The cluster.
        claims: The claims.
        attributes: Whether VolumeAttributesClasses count.
    """
    matches: list[Match] = []
    for claim in sorted(claims, key=lambda c: c.spec.request.nano if c.spec.request else 0):
        reserved = [
            volume
            for volume in state.volumes.reserved(claim)
            if volume.storage_class == claim.storage_class
            and claim.can_bind(volume, attributes=attributes)
        ]
        if reserved:
            matches.append(_match_reserved(state, claim, reserved[0], matches, attributes))
        else:
            matches.append(_match_free(state, claim, matches, attributes))
    return matches


def _match_reserved(
    state: states.ClusterState,
    claim: volumes.VolumeClaim,
    volume: volumes.PersistentVolume,
    earlier: list[Match],
    attributes: bool,
) -> Match:
    """Return the volume that is reserved to a claim, where a node can reach it.

    If a pod names a claim twice, upstream looks for another volume the second time.
    """
    again = next((match for match in earlier if match.claim is claim), None)
    if again is None:
        mask = reach.affinity_mask(state, volume.affinity)
        sizes = np.array([volume.capacity.value()], dtype=np.int64)
        return Match(claim, [volume], np.where(mask, 0, _NONE), sizes)
    other = _match_free(state, claim, earlier, attributes)
    return replace(other, chosen=np.where(again.matched, other.chosen, _NONE))


def _match_free(
    state: states.ClusterState, claim: volumes.VolumeClaim, earlier: list[Match], attributes: bool
) -> Match:
    index = state.volumes.index(claim.storage_class)
    taken = [other.chosen for other in earlier if other.volumes is index.volumes]
    best = _best_by_group(index, _suitable(index, claim, attributes), 1 + len(taken))
    groups, rows = reach.reached_rows(state, claim.storage_class, index)
    chosen = np.full(len(state), len(index.volumes), dtype=np.int64)
    for ranks in best:
        offered = ranks[groups]
        for other in taken:
            offered = np.where(other[rows] == offered, len(index.volumes), offered)
        np.minimum.at(chosen, rows, offered)
    chosen = np.where(chosen < len(index.volumes), chosen, _NONE)
    return Match(claim, index.volumes, chosen, index.sizes)


def _suitable(
    index: volume_tables.ClassIndex, claim: volumes.VolumeClaim, attributes: bool
) -> arrays.Bools:
    """Return which free volumes of its class suit a claim, by rank."""
    suits = np.array(
        [claim.suits(sample, attributes=attributes) for sample in index.samples], dtype=np.bool_
    )
    suitable: arrays.Bools = index.free & suits[index.kind] if len(suits) else index.free.copy()
    if claim.spec.request is not None:
        suitable[: bisect_left(index.capacities, claim.spec.request.nano)] = False
    if claim.spec.selector is not None:
        for rank in np.flatnonzero(suitable):
            suitable[rank] = claim.spec.selector.matches(index.volumes[rank].labels)
    return suitable


def _best_by_group(
    index: volume_tables.ClassIndex, suitable: arrays.Bools, depth: int
) -> list[arrays.Ints]:
    """Return the smallest suitable rank of each affinity, then the second smallest, and so on."""
    ranks = np.flatnonzero(suitable)
    groups = index.group[ranks]
    order = np.argsort(groups, kind="stable")
    ranks, groups = ranks[order], groups[order]
    place = np.arange(len(groups)) - np.searchsorted(groups, groups)
    best = []
    for number in range(depth):
        column = np.full(len(index.affinities), len(index.volumes), dtype=np.int64)
        column[groups[place == number]] = ranks[place == number]
        best.append(column)
    return best
