"""What an autoscaler is told: bounds, metrics with targets, and rules for the pace of change.

The shape of ``autoscaling/v2`` (HorizontalPodAutoscalerSpec) after defaulting; scalers other than
``hpa`` read bounds and metrics from here, too.
"""

from __future__ import annotations

from dataclasses import dataclass

RESOURCE, CONTAINER_RESOURCE = "Resource", "ContainerResource"
PODS, OBJECT, EXTERNAL = "Pods", "Object", "External"
UTILIZATION, VALUE, AVERAGE_VALUE = "Utilization", "Value", "AverageValue"
PODS_POLICY, PERCENT_POLICY = "Pods", "Percent"
MAX, MIN, DISABLED = "Max", "Min", "Disabled"


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """A metric and the value it should have.

    Attributes:
        source: ``Resource``, ``ContainerResource``, ``Pods``, ``Object`` or ``External``.
        name: Name of the metric, or of the resource.
        target: ``Utilization``, ``Value`` or ``AverageValue``; empty if an Object metric's target
            has another type than value, which the controller reports on every sync.
        amount: The target: percent of the request, or thousandths of the metric's unit.
        container: The container of a ``ContainerResource``.
        object_kind: Kind of the object of an ``Object`` metric.
        object_name: Name of that object.
        selector: The metric's label selector, as Go prints it.
    """

    source: str
    name: str
    target: str
    amount: int
    container: str = ""
    object_kind: str = ""
    object_name: str = ""
    selector: str = "nil"

    @property
    def key(self) -> str:
        """Under which name an observation has the metric: ``rps``, ``cpu``, ``app/cpu``."""
        return f"{self.container}/{self.name}" if self.container else self.name

    @property
    def single(self) -> bool:
        """Tell whether the metric is one value (Object, External), not one per pod."""
        return self.source in (OBJECT, EXTERNAL)


@dataclass(frozen=True, slots=True)
class HpaScalingPolicy:
    """At most so much change per period.

    Attributes:
        kind: ``Pods`` or ``Percent``.
        value: Pods, or percent of the replicas at the beginning of the period.
        period_s: Length of the period in seconds.
    """

    kind: str
    value: int
    period_s: int


@dataclass(frozen=True, slots=True)
class ScalingRules:
    """Rules for one direction.

    Attributes:
        window_s: Stabilisation window in seconds; ``None``: the controller's own.
        select: ``Max``, ``Min`` or ``Disabled``: which of the policies counts.
        policies: The policies.
        tolerance: How far the ratio may be off without a change; ``None``: the controller's.
    """

    window_s: int | None
    select: str
    policies: tuple[HpaScalingPolicy, ...]
    tolerance: float | None = None


# pkg/apis/autoscaling/v2/defaults.go: what is filled in where a behavior leaves something out.
DEFAULT_UP = ScalingRules(
    window_s=0,
    select=MAX,
    policies=(HpaScalingPolicy(PODS_POLICY, 4, 15), HpaScalingPolicy(PERCENT_POLICY, 100, 15)),
)
DEFAULT_DOWN = ScalingRules(
    window_s=None, select=MAX, policies=(HpaScalingPolicy(PERCENT_POLICY, 100, 15),)
)


@dataclass(frozen=True, slots=True)
class Behavior:
    """Rules for both directions."""

    up: ScalingRules = DEFAULT_UP
    down: ScalingRules = DEFAULT_DOWN


@dataclass(frozen=True, slots=True)
class AutoscalerSpec:
    """What an autoscaler is told.

    Attributes:
        max_replicas: Upper bound.
        metrics: What to hold at its target; the largest proposal wins.
        min_replicas: Lower bound.
        behavior: Rules for the pace; ``None`` takes upstream's older path with fixed rules.
        name: Name of the autoscaler.
        namespace: Its namespace.
        scaled_to_zero: The status says that the controller itself has scaled to zero.
    """

    max_replicas: int
    metrics: tuple[MetricSpec, ...]
    min_replicas: int = 1
    behavior: Behavior | None = None
    name: str = "autoscaler"
    namespace: str = "default"
    scaled_to_zero: bool = False

    @property
    def subject(self) -> str:
        """The autoscaler as decision records name it."""
        return f"horizontalpodautoscaler/{self.namespace}/{self.name}"
