"""An autoscaler's specification: bounds, metrics with targets, and rules for the rate of change.

The structure of ``autoscaling/v2`` (HorizontalPodAutoscalerSpec) after defaulting; scalers other
than ``hpa`` read bounds and metrics from here, too.
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
        """The metric's key in observations: ``rps``, ``cpu``, ``app/cpu``."""
        return f"{self.container}/{self.name}" if self.container else self.name

    @property
    def single(self) -> bool:
        """Whether the metric is one value (Object, External), not one per pod."""
        return self.source in (OBJECT, EXTERNAL)


@dataclass(frozen=True, slots=True)
class HpaScalingPolicy:
    """A limit of change per period.

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
        window_s: Stabilisation window in seconds; ``None`` means the controller's.
        select: Which of the policies counts: ``Max``, ``Min`` or ``Disabled``.
        policies: The policies.
        tolerance: Tolerated distance of the ratio from 1; ``None`` means the controller's.
    """

    window_s: int | None
    select: str
    policies: tuple[HpaScalingPolicy, ...]
    tolerance: float | None = None


# pkg/apis/autoscaling/v2/defaults.go: the defaults where a behavior leaves something out.
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
    """The specification of one autoscaler.

    Attributes:
        max_replicas: Upper bound.
        metrics: Metrics to hold at their targets; the largest proposal wins.
        min_replicas: Lower bound.
        behavior: Rules for the rate of change; ``None`` uses upstream's fixed rules.
        name: Name of the autoscaler.
        namespace: Its namespace.
        scaled_to_zero: Whether the status says that the controller itself scaled to zero.
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
        """The autoscaler's name in decision records."""
        return f"horizontalpodautoscaler/{self.namespace}/{self.name}"
