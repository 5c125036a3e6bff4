"""The inputs that all plugins of one scheduling cycle share: pod, cluster, profile, release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kubestow.model import arrays, pods, states
from kubestow.policies.placing import profiles


@dataclass(frozen=True, slots=True)
class Cycle:
    """One pod to schedule on one cluster under one profile."""

    pod: pods.Pod
    state: states.ClusterState
    profile: profiles.Profile
    features: profiles.SchedulerFeatures


@dataclass(frozen=True, slots=True)
class FilterVerdict:
    """The result of a filter: which nodes pass, and why a node does not."""

    passes: arrays.Bools
    explain: Callable[[int], str]


class Conflict(Exception):  # noqa: N818 - not an error of the program: the pod fits nowhere
    """The constraints of a pod contradict each other, so no node can be feasible."""
