"""Shortlist: the best few nodes of a term, among which kube-scheduler chooses by its own scores.

A term that adds to kube-scheduler's scores is called twice, for all nodes, which doubles
scheduling time (docs/evidence/live). A shortlist needs one call, and kube-scheduler does not
score the other nodes. Preferences of pods (spread over zones, affinity) still decide between
nodes that are about equally good. A pod without preferences gets the best node, so the extender
knows where it goes (``terms.sent_scores``).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from kubestow.model import arrays, pods
from kubestow.model.arrays import Ints
from kubestow.policies.placing.terms import protocol

MARGIN: Final = 1.0
"""How many of ten points a node may be behind the best and still be shortlisted."""

SHARE: Final = 0.05
"""Maximum share of the nodes on the shortlist, because each costs kube-scheduler time."""

LEAST: Final = 50
"""The shortlist may always have this many nodes, so small clusters lose no preferences."""

# Owners whose pods kube-scheduler spreads over nodes and zones by default (``helper/spread.go``,
# 1.37); it does so for pods of services too, which a pod's manifest does not show.
_SPREAD: Final = ("ReplicaSet", "StatefulSet", "ReplicationController")


def has_preferences(pod: pods.Pod) -> bool:
    """Return whether kube-scheduler scores preferences for this pod."""
    return pod.spec.has_preferences or (pod.owner is not None and pod.owner.kind in _SPREAD)


def pick_shortlist(scores: arrays.Floats) -> Ints:
    """Return the positions of the shortlisted nodes, in ascending order.

    Args:
        scores: 0 to 10 for every feasible node; NaN counts as 0. Ties are resolved in favour of the
            first nodes: kube-scheduler lists nodes of all zones in turn.
    """
    if not len(scores):
        return np.zeros(0, dtype=np.int64)
    known = np.fmin(np.fmax(scores, 0.0), protocol.MAX_SCORE)
    near = np.flatnonzero(known >= known.max() - MARGIN)
    most = max(LEAST, math.ceil(SHARE * len(scores)))
    if len(near) > most:
        best = np.argsort(-known[near], kind="stable")[:most]
        near = np.sort(near[best])
    positions: Ints = near
    return positions
