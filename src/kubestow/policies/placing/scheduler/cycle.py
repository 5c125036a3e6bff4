"""What the plugins of one scheduling cycle share: pod, cluster, profile and release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kubestow.model import arrays, pods, states
from kubestow.policies.placing import profiles


@dataclass(frozen=True, slots=True)
class Cycle:
    """One pod meeting one cluster under one profile."""

    pod: pods.Pod
    state: states.ClusterState
    profile: profiles.Profile
    features: profiles.SchedulerFeatures


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """What a filter says: which nodes pass, and why a node does not."""

    passes: arrays.Bools
    explain: Callable[[int], str]


class Conflict(Exception):  # noqa: N818 - not an error of the program: the pod fits nowhere
    """A pod contradicts itself, so that no node needs to be looked at."""
