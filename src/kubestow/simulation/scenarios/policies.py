"""Metrics and policies of a scenario."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, get_args

from kubestow.model import decoding
from kubestow.model.decoding import OneOf, Seconds, ValueBounds
from kubestow.policies.moving import registry as movers
from kubestow.policies.placing import profiles
from kubestow.policies.sizing import guards as guard_parameters
from kubestow.simulation.scenarios.workloads import PositiveSeconds

NO_SCALER = "none"
RELEASES = tuple(
    f"1.{minor}" for minor in range(profiles.OLDEST_VERSION[1], profiles.NEWEST_VERSION[1] + 1)
)
_GUARDS = guard_parameters.GuardParameters()
_LIMIT_RULES = get_args(guard_parameters.LimitRule)
MODES = ("off", "initial", "recreate", "in-place-or-recreate")


@dataclass(frozen=True, slots=True)
class Metrics:
    """How usage is measured, as by metrics-server or Prometheus.

    Attributes:
        scrape: Scrape interval.
        window: Window of rates; at least one scrape interval.
        lag: Age of the newest sample that a controller can read.
        missing: Share of samples that are missing.
    """

    scrape: PositiveSeconds = 15.0
    window: PositiveSeconds = 60.0
    lag: Seconds = 15.0
    missing: Annotated[float, ValueBounds(least=0, most=1)] = 0.0

    def check(self, place: decoding.Field) -> None:
        """Refuse a window shorter than the time between two scrapes."""
        if self.window < self.scrape:
            raise place["window"].refuse("must not be shorter than the scrape interval")


@dataclass(frozen=True, slots=True)
class Placing:
    """Which scheduler places pods.

    Attributes:
        profile: Name of a profile.
        version: Kubernetes release to behave like.
        config: A KubeSchedulerConfiguration file instead of a profile.
        cycle: Time to schedule one pod; pods are scheduled one at a time.
        sample: Percentage of feasible nodes to score; 0 for the rule of kube-scheduler.
    """

    profile: Annotated[str, OneOf(profiles.profile_names)] = "kube-scheduler"
    version: Annotated[str, OneOf(RELEASES)] = profiles.DEFAULT_VERSION
    config: str | None = None
    cycle: Seconds = 0.005
    sample: Annotated[int, ValueBounds(least=0, most=100)] = 0


@dataclass(frozen=True, slots=True)
class ScalingPolicy:
    """Which scaler sets the replicas of request-driven workloads.

    Attributes:
        scaler: Its name; ``none`` leaves replicas alone.
        target: Target utilisation of requests by resource (``cpu: 0.6``), or requests per second
            and pod (``rps: 20``).
        min: Minimum number of replicas.
        max: Maximum number of replicas.
        sync: Sync period.
        tolerance: Relative difference that causes no action.
        behavior: Scaling rules, as in a HorizontalPodAutoscaler.
        parameters: Further parameters of the scaler.
    """

    scaler: str = NO_SCALER
    target: dict[str, Annotated[float, ValueBounds(above=0)]] = field(default_factory=dict)
    min: Annotated[int, ValueBounds(least=0)] = 1
    max: Annotated[int, ValueBounds(least=1)] = 10
    sync: PositiveSeconds = 15.0
    tolerance: Annotated[float, ValueBounds(least=0, most=1)] | None = None
    behavior: Any = None
    parameters: Any = None

    def check(self, place: decoding.Field) -> None:
        """Refuse contradictory bounds."""
        if self.max < self.min:
            raise place["max"].refuse(f"must not be below min {self.min}")


@dataclass(frozen=True, slots=True)
class SizingGuards:
    """Bounds of recommendations, for all recommenders.

    Attributes:
        min_change: Relative change of a request below which nothing is changed.
        memory_limit: Memory limit: ``request`` for the same as the request, ``none``, ``ratio`` for
            the same ratio as before, ``keep`` for the current one.
        cpu_limit: CPU limit, with the same values.
        node_share: Largest share of the largest node that a pod may request.
    """

    min_change: Annotated[float, ValueBounds(least=0)] = _GUARDS.min_change
    memory_limit: Annotated[str, OneOf(_LIMIT_RULES)] = _GUARDS.memory_limit
    cpu_limit: Annotated[str, OneOf(_LIMIT_RULES)] = _GUARDS.cpu_limit
    node_share: Annotated[float, ValueBounds(above=0, most=1)] = _GUARDS.node_share


@dataclass(frozen=True, slots=True)
class SizingPolicy:
    """Which recommender sets requests.

    Attributes:
        recommender: Its name; ``keep`` leaves requests alone.
        mode: ``off`` only recommends, ``initial`` sets the requests of new pods, ``recreate`` also
            evicts pods that differ, ``in-place-or-recreate`` resizes running pods where it can.
        interval: Interval between recommendations; for ``limit-follow``, between samples.
        history: How much usage to keep; ``vpa`` has its own memory.
        grid: Time step of that history.
        guards: Bounds of recommendations; ``vpa`` has its own.
        parameters: Further parameters of the recommender.
    """

    recommender: str = "keep"
    mode: Annotated[str, OneOf(MODES)] = "off"
    interval: PositiveSeconds = 60.0
    history: PositiveSeconds = 8 * 86_400.0
    grid: PositiveSeconds = 60.0
    guards: SizingGuards = SizingGuards()
    parameters: Any = None


@dataclass(frozen=True, slots=True)
class Moving:
    """Which mover moves running pods.

    Attributes:
        enabled: Whether pods are moved at all.
        plan: Name of the mover.
        interval: Interval between plans.
        parameters: Further parameters of the mover.
    """

    enabled: bool = False
    plan: Annotated[str, OneOf(movers.MOVERS.names)] = "compact"
    interval: PositiveSeconds = 300.0
    parameters: Any = None


@dataclass(frozen=True, slots=True)
class Provisioning:
    """How pools grow and shrink (the rules and defaults of Cluster Autoscaler 1.3x).

    Attributes:
        enabled: Whether pools change at all.
        scan: Scan interval.
        utilization: Requested share below which a node may be removed.
        unneeded: How long a node must be unneeded before it is removed.
        after_add: How long no node is removed after one was added.
    """

    enabled: bool = False
    scan: PositiveSeconds = 10.0
    utilization: Annotated[float, ValueBounds(least=0, most=1)] = 0.5
    unneeded: Seconds = 600.0
    after_add: Seconds = 600.0


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies under test."""

    placing: Placing = Placing()
    sizing: SizingPolicy = SizingPolicy()
    scaling: ScalingPolicy = ScalingPolicy()
    moving: Moving = Moving()
    provisioning: Provisioning = Provisioning()
