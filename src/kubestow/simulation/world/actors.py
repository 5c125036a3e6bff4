"""The objects of a run: nodes, pods, workloads."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from kubestow.model import nodes, resources
from kubestow.model import pods as pod_model
from kubestow.simulation import kernel, scenarios
from kubestow.simulation.kernel import Area
from kubestow.simulation.usage import NONE
from kubestow.simulation.world import templates


class Phase(enum.Enum):
    """Phase of a pod."""

    QUEUED = "queued"
    STARTING = "starting"
    READY = "ready"
    CRASHED = "crashed"  # a container is down and waits for its restart
    LOST = "lost"  # its node does not respond
    TERMINATING = "terminating"
    GONE = "gone"


class NodePhase(enum.Enum):
    """Phase of a node."""

    ORDERED = "ordered"
    READY = "ready"
    FAILED = "failed"
    GONE = "gone"


@dataclass(slots=True, eq=False)
class LiveNode:
    """A node.

    Attributes:
        number: Its row in the arrays; never reused.
        node: The node as the scheduler sees it.
        pool: The pool it belongs to.
        phase: Its phase.
        pods: The pods on it, in order of binding.
        held: Cordoned by maintenance or scale-down.
        pressed_until_s: Under memory pressure until then.
        failed_s: Time of its last failure.
    """

    number: int
    node: nodes.Node
    pool: scenarios.Pool
    phase: NodePhase
    created_s: float = 0.0
    pods: dict[str, LivePod] = field(default_factory=dict)
    held: bool = False
    pressed_until_s: float = -math.inf
    failed_s: float = -math.inf
    unneeded_since_s: float | None = None

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name


@dataclass(slots=True, eq=False)
class LivePod:
    """A pod.

    Attributes:
        workload: Its workload.
        pod: The pod as the scheduler sees it.
        number: Its number in the workload, from 0 in order of creation.
        created_s: Time of its creation.
        phase: Its phase.
        node: Where it is bound.
        container_rows: Rows of its containers in ``World.containers``.
        ready_s: Since when it is ready.
        first_ready_s: When it was ready for the first time.
        changed_s: When it last became ready, or ceased to be.
        ends_s: Work that lasts for a time is not finished before.
        back_offs_s: How long each container that was killed waits next time, by row.
        down: Containers that are down, and the restarts they wait for, by row.
        ticket: What the pod itself waits for: to be ready, finished or gone.
        requests: What it counts for: CPU in thousandths, memory in bytes.
    """

    workload: LiveWorkload
    pod: pod_model.Pod
    number: int
    created_s: float
    stream: int
    requests: tuple[int, int]
    phase: Phase = Phase.QUEUED
    node: LiveNode | None = None
    container_rows: tuple[int, ...] = ()
    bound_s: float | None = None
    ready_s: float | None = None
    first_ready_s: float | None = None
    changed_s: float = -math.inf
    ends_s: float = -math.inf
    restarts: int = 0
    back_offs_s: dict[int, float] = field(default_factory=dict)
    down: dict[int, kernel.Ticket | None] = field(default_factory=dict)
    ticket: kernel.Ticket | None = None
    nominated: str | None = None

    @property
    def key(self) -> str:
        """The pod's name with its namespace."""
        return self.pod.key

    @property
    def stays(self) -> bool:
        """Return whether the pod counts as one of its workload: not on its way out."""
        return self.phase not in (Phase.TERMINATING, Phase.GONE)

    def call_off(self) -> None:
        """Cancel everything that is scheduled."""
        for ticket in (self.ticket, *self.down.values()):
            if ticket is not None:
                ticket.cancel()


@dataclass(slots=True, eq=False)
class LiveWorkload:
    """A workload and its pods.

    Attributes:
        number: Its row.
        name: Its name; unique in its namespace.
        spec: Its entry in the scenario.
        scaling: Its scaling policy.
        sizing: Its sizing policy.
        replicas: Desired replicas.
        version: Incremented whenever one of its pods changes.
        pods: Its existing pods, in order of creation.
        service: Row of its service, or ``NONE``.
        requests: Requests by container for new pods, where a recommender has set them.
        made: Number of pods ever created.
        done: Number of finished pods of a job.
        failures: Number of failed pods of a job since the last one that finished.
        retry_s: No pod of a job is created before this time.
        outlook: The forecast of its scaler, if it has one.
    """

    number: int
    name: str
    spec: scenarios.ScenarioWorkload
    scaling: scenarios.ScalingPolicy
    sizing: scenarios.SizingPolicy
    stream: int
    replicas: int
    version: int = 0
    service: int = NONE
    pods: dict[str, LivePod] = field(default_factory=dict)
    requests: dict[str, resources.ResourceList] = field(default_factory=dict)
    limits: dict[str, resources.ResourceList] = field(default_factory=dict)
    made: int = 0
    done: int = 0
    failures: int = 0
    retry_s: float = -math.inf
    runs: int = 0
    outlook: Mapping[str, float] = field(default_factory=dict)
    startup_times_s: list[float] = field(default_factory=list)
    existing: Area = field(default_factory=Area)
    pending: Area = field(default_factory=Area)
    ready: Area = field(default_factory=Area)
    reserved_cpu_m: Area = field(default_factory=Area)
    reserved_memory: Area = field(default_factory=Area)
    used_cpu: float = 0.0  # core-seconds
    used_memory: float = 0.0  # byte-seconds
    specs: dict[object, pod_model.PodSpec] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The workload's name with its namespace."""
        return f"{self.spec.namespace}/{self.name}"

    def staying(self) -> list[LivePod]:
        """Return the pods that are not terminating, in order of creation."""
        return [pod for pod in self.pods.values() if pod.stays]

    def pod_spec(self) -> pod_model.PodSpec:
        """Return the specification of new pods; pods with equal requests share it."""
        key = (_frozen(self.requests), _frozen(self.limits))
        if key not in self.specs:
            self.specs[key] = templates.make_spec(self.spec, self.name, self.requests, self.limits)
        return self.specs[key]


def _frozen(lists: dict[str, resources.ResourceList]) -> tuple[object, ...]:
    return tuple(
        (name, tuple(sorted((key, q.nano) for key, q in amounts.items())))
        for name, amounts in sorted(lists.items())
    )
