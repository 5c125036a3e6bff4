"""The few nodes that a term finds best, for kube-scheduler to choose from by its own scores.

A term that adds points to those of kube-scheduler is asked twice, about all nodes, which doubles
the time of scheduling (docs/evidence/live). One that leaves a few nodes is asked once, and
kube-scheduler saves the time to score the others. What pods would like (to be spread over
zones, to be near others) still counts, between nodes that are about as good. A pod that would like
nothing gets the best node: whoever scores then knows where it goes (``terms.sent_scores``).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from kubestow.model import arrays, pods
from kubestow.model.arrays import Ints
from kubestow.policies.placing.terms import protocol

MARGIN: Final = 1.0
"""How many of ten points a node may lie behind the best and still count as about as good."""

SHARE: Final = 0.05
"""At most this share of the nodes is left, for each costs kube-scheduler time."""

LEAST: Final = 50
"""As many may always be left: in a small cluster no wish is lost to save time."""

# Whose pods kube-scheduler spreads over nodes and zones without being told (``helper/spread.go``,
# 1.37); those of services as well, which a pod does not tell of.
_SPREAD: Final = ("ReplicaSet", "StatefulSet", "ReplicationController")


def has_preferences(pod: pods.Pod) -> bool:
    """Tell whether kube-scheduler has something to say about where a pod would like to be."""
    return pod.spec.prefers or (pod.owner is not None and pod.owner.kind in _SPREAD)


def pick_shortlist(scores: arrays.Floats) -> Ints:
    """Return the positions of the nodes that are left, in their order.

    Args:
        scores: 0 to 10 for every node that may take the pod; what is not a number counts as 0. Of
            equal ones the first are taken: kube-scheduler tells nodes of all zones in turns.
    """
    if not len(scores):
        return np.zeros(0, dtype=np.int64)
    known = np.fmin(np.fmax(scores, 0.0), protocol.MAX_SCORE)
    near = np.flatnonzero(known >= known.max() - MARGIN)
    most = max(LEAST, math.ceil(SHARE * len(scores)))
    if len(near) > most:
        best = np.argsort(-known[near], kind="stable")[:most]
        near = np.sort(near[best])
    found: Ints = near
    return found
