"""Flags of the updater, and the update policy of a VPA object.

Defaults are from ``pkg/updater/config/config.go`` (VPA 1.7); flag names are in brackets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

UpdateMode = Literal["Off", "Initial", "Recreate", "Auto", "InPlaceOrRecreate", "InPlace"]
Change = Literal["TargetHigherThanRequests", "TargetLowerThanRequests"]


@dataclass(frozen=True, slots=True)
class UpdaterParameters:
    """Flags of the updater.

    Attributes:
        interval_s: Time between two rounds [updater-interval].
        min_replicas: Live replicas needed for an update [min-replicas].
        tolerance: Share of replicas that may be unavailable at once [eviction-tolerance].
        threshold: Smallest relative change that updates a long-lived pod [pod-update-threshold].
        lifetime_s: Age from which a pod within its bounds may be updated
            [in-recommendation-bounds-eviction-lifetime-threshold].
        oom_threshold_s: An OOM kill within this time of the start, and not longer ago, triggers an
            update [evict-after-oom-threshold].
        skip_budget: Resize in place regardless of replicas where no container restarts
            [in-place-skip-disruption-budget].
        in_place: Obey the mode InPlace; a feature gate, off by default in 1.7.
        per_vpa_config: Obey ``evict_after_oom_s``; a feature gate, off by default in 1.7.
        deferred_timeout_s: A resize that the node defers for longer ends in eviction
            (``DeferredResizeUpdateTimeout``).
        progress_timeout_s: A resize that takes longer ends in eviction
            (``InProgressResizeUpdateTimeout``).
    """

    interval_s: float = 60.0
    min_replicas: int = 2
    tolerance: float = 0.5
    threshold: float = 0.1
    lifetime_s: float = 43_200.0
    oom_threshold_s: float = 600.0
    skip_budget: bool = False
    in_place: bool = False
    per_vpa_config: bool = False
    deferred_timeout_s: float = 300.0
    progress_timeout_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class EvictionRequirement:
    """A condition on the change; it holds if one of its resources changes in that direction."""

    resources: tuple[str, ...]
    change: Change


@dataclass(frozen=True, slots=True)
class UpdatePolicy:
    """The update policy of a VPA object.

    Attributes:
        mode: How recommendations are applied; ``Auto`` is an alias of ``Recreate``.
        min_replicas: Overrides the flag.
        requirements: All must hold for a container of the pod; ``None`` requires nothing.
        evict_after_oom_s: Overrides the flag; needs ``per_vpa_config``.
    """

    mode: UpdateMode = "Recreate"
    min_replicas: int | None = None
    requirements: tuple[EvictionRequirement, ...] | None = None
    evict_after_oom_s: float | None = None


def oom_threshold_s(policy: UpdatePolicy, parameters: UpdaterParameters) -> float:
    """Return the time within which an OOM kill counts as quick."""
    if policy.evict_after_oom_s is None or not parameters.per_vpa_config:
        return parameters.oom_threshold_s
    return policy.evict_after_oom_s
