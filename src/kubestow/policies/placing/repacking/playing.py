"""What kube-scheduler itself makes of a configuration: the exact scheduler on the given nodes.

kube-scheduler breaks ties at random, so a configuration is played several times; what is claimed
of it is the whole range.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from kubestow.model import arrays
from kubestow.policies.placing import batch, packing, profiles
from kubestow.policies.placing.repacking.filling import Filling
from kubestow.policies.placing.repacking.problems import Repacking

TIE_PLAYS: Final = 8
"""Plays with ties broken at random, beside the one in which the first name wins."""


@dataclass(frozen=True, slots=True, eq=False)
class Played:
    """A configuration and what it does.

    Attributes:
        profile: The configuration.
        by_name: The placement when the first name wins a tie, as in ``kubestow place``.
        least: Fewest nodes in use over all plays.
        most: Most nodes in use over all plays.
        unplaced: Most pods without a node over all plays.
    """

    profile: profiles.Profile
    by_name: Filling
    least: int
    most: int
    unplaced: int

    @property
    def nodes(self) -> int:
        """Nodes in use when the first name wins a tie."""
        return len(self.by_name.used)


def play(problem: Repacking, profile: profiles.Profile, *, ties: int = TIE_PLAYS) -> Played:
    """Play a configuration on the nodes of a problem.

    Args:
        problem: Pods and nodes.
        profile: The configuration.
        ties: Number of plays with ties broken at random.
    """
    by_name = Filling(place(problem, profile))
    seeds = map(np.random.default_rng, range(ties))
    plays = [by_name, *(Filling(place(problem, profile, rng)) for rng in seeds)]
    used = [len(one.used) for one in plays]
    return Played(profile, by_name, min(used), max(used), max(one.unplaced for one in plays))


def place(
    problem: Repacking, profile: profiles.Profile, rng: np.random.Generator | None = None
) -> arrays.Ints:
    """Return the node of every item, as kube-scheduler places them one after another."""
    if problem.has_volumes:
        state, features = problem.fresh_state(), problem.batch.features
        rows = batch.place_batch(problem.items, state, profile, features, rng)
    else:
        rows = problem.batch.place(profile, rng)
    return np.where(rows < 0, packing.UNPLACED, rows)
