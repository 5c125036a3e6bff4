"""What watches and steers the cluster: metrics and the four policies."""

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
    """How use is measured, as metrics-server or Prometheus do.

    Attributes:
        scrape: Time between two looks at the counters.
        window: A rate is the difference over this time; one scrape at least.
        lag: How old the newest sample is when a controller reads it.
        missing: Share of samples that are lost.
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
        profile: A profile by name.
        version: Release of Kubernetes whose arithmetic is used.
        config: A KubeSchedulerConfiguration file instead of a profile.
        cycle: Time one pod takes; pods go one at a time.
        sample: Percentage of feasible nodes that are scored; 0 lets upstream's rule decide.
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
        target: What it aims at: share of the request in use by resource (``cpu: 0.6``), or
            requests per second and pod (``rps: 20``).
        min: Fewest replicas.
        max: Most replicas.
        sync: Time between two decisions.
        tolerance: Relative difference that is let pass.
        behavior: Rules of scaling up and down, as in a HorizontalPodAutoscaler.
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
        """Refuse bounds that exclude each other."""
        if self.max < self.min:
            raise place["max"].refuse(f"must not be below min {self.min}")


@dataclass(frozen=True, slots=True)
class SizingGuards:
    """What recommendations may be, whoever makes them.

    Attributes:
        min_change: Changes of a request below this share are not made.
        memory_limit: Memory limit: ``request`` for that of the request, ``none``, ``ratio`` for one
            in proportion as before, ``keep`` for the one it has.
        cpu_limit: CPU limit, in the same words.
        node_share: Share of the largest node one pod may take.
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
        interval: Time between two recommendations; for ``limit-follow``, between two samples.
        history: Use that is older is forgotten; ``vpa`` has its own memory.
        grid: Time between two points of that history.
        guards: What recommendations may be, beside the recommender; ``vpa`` has its own rules.
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
    """Which plan moves running pods.

    Attributes:
        enabled: Whether pods are moved at all.
        plan: Name of the plan.
        interval: Time between two plans.
        parameters: Further parameters of the plan.
    """

    enabled: bool = False
    plan: Annotated[str, OneOf(movers.MOVERS.names)] = "compact"
    interval: PositiveSeconds = 300.0
    parameters: Any = None


@dataclass(frozen=True, slots=True)
class Provisioning:
    """How pools grow and shrink (the rules of Cluster Autoscaler 1.3x and their defaults).

    Attributes:
        enabled: Whether pools change at all.
        scan: Time between two looks.
        utilization: A node below this share of requests is a candidate to go.
        unneeded: After how long without need a node goes.
        after_add: No node goes for so long after one has come.
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
