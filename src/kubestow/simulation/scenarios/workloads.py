"""Workloads of a scenario: what runs, what it requests, and what it uses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

from kubestow.model import decoding, quantities
from kubestow.model.decoding import OneOf, Seconds, ValueBounds
from kubestow.simulation.scenarios.signals import Signal
from kubestow.simulation.scenarios.storage import ScenarioVolume

DEPLOYMENT, STATEFUL_SET, DAEMON_SET = "Deployment", "StatefulSet", "DaemonSet"
JOB, PIPELINE = "Job", "Pipeline"
KINDS = (DEPLOYMENT, STATEFUL_SET, DAEMON_SET, JOB, PIPELINE)
RUNS = (JOB, PIPELINE)
"""Kinds whose pods end by themselves: each finished pod is a run."""

FLUID, REQUESTS = "fluid", "requests"
RANDOM, POOLED = "random", "pooled"

_NOTHING = quantities.Quantity(0)
PositiveSeconds = Annotated[Seconds, ValueBounds(above=0)]


@dataclass(frozen=True, slots=True)
class Startup:
    """How long a pod takes from being bound to being ready, and what it uses meanwhile.

    Attributes:
        mean: Mean time.
        jitter: Standard deviation of the time (log-normal).
        cpu: Cores that each container uses while it starts, if node and limit allow.
        memory: Memory that the main container uses while it starts, on top of its base.
    """

    mean: Seconds = 5.0
    jitter: Seconds = 0.0
    cpu: quantities.Quantity | None = None
    memory: quantities.Quantity | None = None


@dataclass(frozen=True, slots=True)
class ScenarioUsage:
    """What a container uses by itself, whatever requests it serves.

    Attributes:
        cpu: Demand for cores.
        memory: Working set.
        network: Bytes per second over the network.
        disk_io: Bytes per second to and from disk.
        cache: Page cache that it fills as far as its limit allows; reclaimed first under pressure.
        leak: Memory growth per hour.
    """

    cpu: Signal | None = None
    memory: Signal | None = None
    network: Signal | None = None
    disk_io: Signal | None = None
    cache: quantities.Quantity | None = None
    leak: quantities.Quantity | None = None


@dataclass(frozen=True, slots=True)
class ScenarioContainer:
    """A container beside others in one pod."""

    name: str
    requests: dict[str, quantities.Quantity] = field(default_factory=dict)
    limits: dict[str, quantities.Quantity] = field(default_factory=dict)
    usage: ScenarioUsage | None = None


@dataclass(frozen=True, slots=True)
class ScenarioToleration:
    """A taint the pods bear.

    Attributes:
        key: Key of the taint; empty tolerates all.
        value: Value of the taint; any if omitted.
        effect: Effect of the taint; any if omitted.
        seconds: How long a pod stays on a node with a ``NoExecute`` taint.
    """

    key: str = ""
    value: str | None = None
    effect: Annotated[str, OneOf(("NoSchedule", "PreferNoSchedule", "NoExecute"))] | None = None
    seconds: Seconds | None = None


@dataclass(frozen=True, slots=True)
class ScenarioSpread:
    """A topology spread constraint among the own pods.

    Attributes:
        key: Node label that defines the domains.
        max_skew: Largest difference between domains.
        hard: Required (``DoNotSchedule``) instead of preferred (``ScheduleAnyway``).
    """

    key: str = "kubernetes.io/hostname"
    max_skew: Annotated[int, ValueBounds(least=1)] = 1
    hard: bool = False


@dataclass(frozen=True, slots=True)
class Apart:
    """Anti-affinity among the own pods.

    Attributes:
        key: Node label that defines the domains.
        hard: Required instead of preferred.
    """

    key: str = "kubernetes.io/hostname"
    hard: bool = True


@dataclass(frozen=True, slots=True)
class ScenarioPod:
    """Template of the pods.

    Attributes:
        requests: Requests of the main container.
        limits: Limits of the main container.
        usage: Usage of the main container, apart from requests.
        containers: Further containers.
        startup: Time and usage until ready.
        grace: Termination grace period.
        labels: Labels in addition to ``app``.
        node_selector: Labels that a node must have.
        tolerations: Taints that the pods tolerate.
        spread: Topology spread constraints.
        apart: Anti-affinity among pods of the workload.
        volumes: Volumes of each pod.
    """

    requests: dict[str, quantities.Quantity] = field(default_factory=dict)
    limits: dict[str, quantities.Quantity] = field(default_factory=dict)
    usage: ScenarioUsage | None = None
    containers: tuple[ScenarioContainer, ...] = ()
    startup: Startup = Startup()
    grace: Seconds = 30.0
    labels: dict[str, str] = field(default_factory=dict)
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[ScenarioToleration, ...] = ()
    spread: tuple[ScenarioSpread, ...] = ()
    apart: Apart | None = None
    volumes: tuple[ScenarioVolume, ...] = ()

    def check(self, place: decoding.Field) -> None:
        """Refuse requests above limits and duplicate container names."""
        _check_limits(self.requests, self.limits, place)
        names = ["main"]
        for index, container in enumerate(self.containers):
            inner = next(item for i, item in enumerate(place["containers"].items()) if i == index)
            _check_limits(container.requests, container.limits, inner)
            if container.name in names:
                raise inner["name"].refuse("is the name of another container")
            names.append(container.name)
        if len({volume.name for volume in self.volumes}) < len(self.volumes):
            raise place["volumes"].refuse("two volumes have the same name")


def _check_limits(
    requests: dict[str, quantities.Quantity],
    limits: dict[str, quantities.Quantity],
    place: decoding.Field,
) -> None:
    for name, limit in limits.items():
        if name in requests and requests[name].nano > limit.nano:
            raise place["requests"][name].refuse(f"must not be above the limit {limit}")


@dataclass(frozen=True, slots=True)
class ScenarioService:
    """How requests are served.

    Attributes:
        cpu_per_request: CPU time of one request.
        memory_per_request: Memory held while a request is in the pod.
        base_memory: Memory without requests.
        base_cpu: Cores used without requests.
        network_per_request: Bytes over the network per request.
        disk_per_request: Bytes to and from disk per request.
        slo_millis: Response time objective.
        timeout: Client timeout; the request then counts as dropped.
        variability: Squared coefficient of variation of the CPU time (1 = exponential).
        threads: Cores one request can use at once.
        parallelism: Cores a pod can use at once. By default its CPU limit but at least one, as
            runtimes size their thread pools; with more than the limit it exhausts its quota early
            and is throttled. Without a limit, the node decides.
        balancing: ``random`` sends a request to any ready pod; ``pooled`` to a free one.
        model: ``fluid`` computes queues from rates; ``requests`` simulates every request.
    """

    cpu_per_request: PositiveSeconds
    memory_per_request: quantities.Quantity = _NOTHING
    base_memory: quantities.Quantity = _NOTHING
    base_cpu: quantities.Quantity = _NOTHING
    network_per_request: quantities.Quantity = _NOTHING
    disk_per_request: quantities.Quantity = _NOTHING
    slo_millis: Annotated[float, ValueBounds(above=0)] = 200.0
    timeout: PositiveSeconds = 30.0
    variability: Annotated[float, ValueBounds(least=0)] = 1.0
    threads: Annotated[float, ValueBounds(above=0)] = 1.0
    parallelism: Annotated[float, ValueBounds(above=0)] | None = None
    balancing: Annotated[str, OneOf((RANDOM, POOLED))] = RANDOM
    model: Annotated[str, OneOf((FLUID, REQUESTS))] = FLUID


@dataclass(frozen=True, slots=True)
class ScenarioWork:
    """What a job's pod has to do before it is finished.

    Attributes:
        cpu_seconds: CPU time; it takes longer where CPU is scarce.
        cores: Cores it can use at once.
        duration: Time that does not depend on CPU; in addition to or instead of CPU time.
        completions: Number of pods that must finish.
        parallelism: Number of pods at a time.
        variability: Standard deviation of the work of one pod, relative to its mean.
        every: Interval between runs of a pipeline.
        first: Time of the first run of a pipeline.
    """

    cpu_seconds: Annotated[float, ValueBounds(least=0)] = 0.0
    cores: Annotated[float, ValueBounds(above=0)] = 1.0
    duration: Seconds = 0.0
    completions: Annotated[int, ValueBounds(least=1)] = 1
    parallelism: Annotated[int, ValueBounds(least=1)] = 1
    variability: Annotated[float, ValueBounds(least=0, most=3)] = 0.0
    every: PositiveSeconds | None = None
    first: Seconds = 0.0

    def check(self, place: decoding.Field) -> None:
        """Refuse empty work."""
        if not self.cpu_seconds and not self.duration:
            raise place["cpuSeconds"].refuse("a job needs cpuSeconds, a duration, or both")


@dataclass(frozen=True, slots=True)
class Disruption:
    """A PodDisruptionBudget.

    Attributes:
        min_available: Minimum number of ready pods.
        max_unavailable: Maximum number of unavailable pods.
    """

    min_available: Annotated[int, ValueBounds(least=0)] | None = None
    max_unavailable: Annotated[int, ValueBounds(least=0)] | None = None

    def check(self, place: decoding.Field) -> None:
        """Refuse both or neither."""
        if (self.min_available is None) == (self.max_unavailable is None):
            raise place.refuse("expected either minAvailable or maxUnavailable")


@dataclass(frozen=True, slots=True)
class ScenarioWorkload:
    """A workload and its pods.

    Attributes:
        name: Its name.
        namespace: Its namespace.
        kind: Deployment, StatefulSet, DaemonSet, Job or Pipeline (a recurring job).
        replicas: Initial number of replicas.
        count: Number of such workloads; names get a number.
        start: Time of its creation.
        pod: The pod template.
        demand: Requests per second.
        service: How it serves them.
        work: What a job does.
        priority: Pods of higher priority go first and may preempt others.
        disruption: The disruption budget.
        scaling: Replaces ``policies.scaling`` for this workload; ``{scaler: none}`` turns it off.
        sizing: Replaces ``policies.sizing`` for this workload; ``{recommender: keep}`` turns it
            off.
    """

    name: str
    namespace: str = "default"
    kind: Annotated[str, OneOf(KINDS)] = DEPLOYMENT
    replicas: Annotated[int, ValueBounds(least=0, most=100_000)] = 1
    count: Annotated[int, ValueBounds(least=1, most=100_000)] = 1
    start: Seconds = 0.0
    pod: ScenarioPod = ScenarioPod()
    demand: Signal | None = None
    service: ScenarioService | None = None
    work: ScenarioWork | None = None
    priority: int = 0
    disruption: Disruption | None = None
    scaling: Any = None
    sizing: Any = None

    def names(self) -> list[str]:
        """Return the names of the workloads that this entry defines."""
        if self.count == 1:
            return [self.name]
        return [f"{self.name}-{copy}" for copy in range(self.count)]

    def check(self, place: decoding.Field) -> None:
        """Refuse incomplete or contradictory workloads."""
        if not self.name:
            raise place["name"].refuse("expected a name")
        if (self.demand is None) != (self.service is None):
            missing = "service" if self.service is None else "demand"
            raise place[missing].refuse("demand and service belong together")
        finite = self.kind in RUNS
        if finite and self.work is None:
            raise place["work"].refuse(f"a {self.kind} needs work")
        if finite and self.demand is not None:
            raise place["demand"].refuse(f"a {self.kind} serves no requests")
        if not finite and self.work is not None:
            raise place["work"].refuse(f"a {self.kind} has no work that ends")
        if self.kind == PIPELINE and self.work is not None and self.work.every is None:
            raise place["work"]["every"].refuse("a Pipeline needs the time between its runs")
