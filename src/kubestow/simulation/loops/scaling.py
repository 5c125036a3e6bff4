"""The loop that hosts scalers: they observe scraped, lagged metrics and set replicas.

The syncs of different workloads are spread over the interval, as in a real cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kubestow.model import arrays, decoding
from kubestow.policies.scaling import ahead, hpa, observations, perfect, registry, static
from kubestow.simulation import kernel, scenarios
from kubestow.simulation.loops.observations import Observer
from kubestow.simulation.usage import NONE
from kubestow.simulation.world import CONTROL, SCALED, LivePod, LiveWorkload, World

RATE = "rps"
TARGETS = ("cpu", "memory", RATE)
SCALABLE = (scenarios.DEPLOYMENT, scenarios.STATEFUL_SET)  # the kinds that have a scale subresource
_CPU, _MEMORY = ("cpu", ""), ("memory", "")


@dataclass(slots=True, eq=False)
class ScalingLoop:
    """One workload and its scaler."""

    world: World
    observer: Observer
    workload: LiveWorkload
    scaler: registry.AnyScaler
    memory: Any
    metrics: tuple[str, ...] = TARGETS
    crowd: Crowd | None = None

    def start(self) -> None:
        """Sync at a random time within the first interval, then once per interval."""
        period_s = self.workload.scaling.sync
        first_s = period_s * (1.0 - kernel.uniform(self.workload.stream, 0))
        self.world.clock.every(period_s, self.sync, first_s=first_s, priority=CONTROL)

    def sync(self) -> None:
        """Observe, decide, and set the replicas."""
        decision, self.memory = self.scaler.decide(self.observe(), self.memory)
        self.workload.outlook = decision.outlook
        if decision.desired == self.workload.replicas:
            return
        world = self.world
        world.ledger.count("scale_actions")
        world.ledger.decide(decision.record)
        change = f"{self.workload.replicas} -> {decision.desired}"
        world.ledger.note(world.now_s, "scaled", self.workload.key, change)
        self.workload.replicas = decision.desired
        world.notify(SCALED, self.workload)

    def observe(self) -> observations.ScalingObservation:
        """Return the observation of the scaler."""
        if self.crowd is None or self.crowd.version != self.workload.version:
            self.crowd = _crowd(self.workload, self.observer)
        return observations.ScalingObservation(
            time_s=self.world.now_s,
            current_replicas=self.workload.replicas,
            status_replicas=self.crowd.staying,
            metrics=self._samples(self.crowd),
            pods=self.crowd.table,
        )

    def _samples(self, crowd: Crowd) -> dict[str, observations.Reading]:
        observed = self.observer.read(crowd.rows, crowd.streams)
        window_s = max(observed.window_s, self.world.spec.metrics.scrape)
        present = crowd.all_of(observed.present)
        readings: dict[str, observations.Reading] = {}
        for name in self.metrics:
            if name == RATE:
                readings[name] = self._rate(crowd.ready, observed.time_s, window_s)
            else:
                values = crowd.sum_of(observed.cpu if name == "cpu" else observed.memory)
                readings[name] = observations.samples(
                    _milli(values), observed.time_s, window_s, present
                )
        return readings

    def _rate(self, ready: arrays.Bools, time_s: float, window_s: float) -> observations.Reading:
        rate = self.observer.request_rate(self.workload.service)
        if rate is None or not ready.any():
            return observations.FailedRead("no requests have been measured")
        per_pod = np.where(ready, rate / ready.sum(), 0.0)
        return observations.samples(_milli(per_pod), time_s, window_s, ready)


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """The pods of a workload as arrays; rebuilt when one of them has changed.

    Attributes:
        version: Version of the workload.
        rows: Rows of all containers.
        streams: Their streams, which identify containers in the same row.
        owners: Pod of each container.
        plain: Whether every pod has exactly one container.
        table: The pods as a scaler observes them.
        ready: Which pods are ready.
        staying: Number of pods that are not terminating.
    """

    version: int
    rows: arrays.Ints
    streams: arrays.Ints
    owners: arrays.Ints
    plain: bool
    table: observations.PodTable
    ready: arrays.Bools
    staying: int

    def sum_of(self, values: arrays.Floats) -> arrays.Floats:
        """Return sums over the containers of each pod."""
        if self.plain:
            return values
        return np.bincount(self.owners, values, len(self.ready)).astype(np.float64)

    def all_of(self, flags: arrays.Bools) -> arrays.Bools:
        """Return which pods have the flag for all containers, and at least one container."""
        if self.plain:
            return flags
        have = np.bincount(self.owners, flags, len(self.ready))
        lack = np.bincount(self.owners, ~flags, len(self.ready))
        whole: arrays.Bools = (have > 0) & (lack == 0)
        return whole


def _crowd(workload: LiveWorkload, observer: Observer) -> Crowd:
    pods = list(workload.pods.values())
    rows = np.array([row for pod in pods for row in pod.container_rows], dtype=np.int64)
    return Crowd(
        version=workload.version,
        rows=rows,
        streams=observer.streams(rows),
        owners=np.array(
            [i for i, pod in enumerate(pods) for _ in pod.container_rows], dtype=np.int64
        ),
        plain=all(len(pod.container_rows) == 1 for pod in pods),
        table=_table(pods),
        ready=np.array([pod.ready_s is not None for pod in pods], dtype=np.bool_),
        staying=sum(pod.stays for pod in pods),
    )


def _milli(values: arrays.Floats) -> arrays.Ints:
    # Quantities are rounded up to thousandths (Quantity.MilliValue).
    return np.ceil(values * 1000.0 - 1e-9).astype(np.int64)


def _table(pods: list[LivePod]) -> observations.PodTable:
    pending, running = observations.PENDING, observations.RUNNING
    ready, not_ready = observations.READY, observations.NOT_READY
    return observations.PodTable(
        phases=np.array([pending if pod.bound_s is None else running for pod in pods], np.int8),
        readies=np.array(
            [ready if pod.ready_s is not None else not_ready for pod in pods], np.int8
        ),
        deleted=np.array([not pod.stays for pod in pods], dtype=np.bool_),
        started_s=np.array([_started(pod) for pod in pods]),
        ready_since_s=np.array([pod.changed_s for pod in pods]),
        requests_milli={
            _CPU: np.array([pod.requests[0] for pod in pods], dtype=np.int64),
            _MEMORY: np.array([pod.requests[1] * 1000 for pod in pods], dtype=np.int64),
        },
        startups_s=np.array([_startup(pod) for pod in pods]),
    )


def _startup(pod: LivePod) -> float:
    """Return how long a pod took from its creation until it was ready; NaN if it never was."""
    if pod.first_ready_s is None:
        return float("nan")
    if pod.created_s < 0.0:  # an initial pod: its start-up time before the run
        startup = pod.workload.spec.pod.startup
        return kernel.lognormal(pod.stream, 1, startup.mean, startup.jitter)
    return pod.first_ready_s - pod.created_s


def _started(pod: LivePod) -> float:
    if pod.bound_s is None:
        return float("nan")
    return min(pod.bound_s, pod.created_s) if pod.created_s < 0.0 else pod.bound_s


def make_scaler(world: World, workload: LiveWorkload) -> registry.AnyScaler:
    """Return the scaler of a workload, with its parameters.

    Raises:
        InputError: If the scaler, its target, rules or parameters are invalid.
    """
    scaling = workload.scaling
    place = f"workload {workload.key}"
    entry = registry.SCALERS.get(scaling.scaler)
    specification = _specification(workload, place)
    raw = decoding.Field(scaling.parameters or {}, place, "scaling.parameters")
    parameters: Any = decoding.read_structure(entry.parameters, raw)
    if isinstance(parameters, hpa.HpaParameters):
        release = world.features.version if raw["version"].missing else parameters.version
        tolerance = parameters.tolerance if scaling.tolerance is None else scaling.tolerance
        parameters = replace(parameters, version=release, tolerance=tolerance)
    if isinstance(parameters, static.StaticParameters):
        parameters = _informed(world, workload, parameters, raw)
    if isinstance(parameters, perfect.PerfectParameters):
        parameters = _with_future(world, workload, parameters)
    if isinstance(parameters, ahead.QueueingParameters) and raw["sloS"].missing:
        service = workload.spec.service
        slo_s = parameters.slo_s if service is None else service.slo_millis / 1000.0
        parameters = replace(parameters, slo_s=slo_s)
    return entry.make(specification, parameters)


def _specification(workload: LiveWorkload, place: str) -> hpa.AutoscalerSpec:
    scaling = workload.scaling
    if scaling.min < 1:
        raise decoding.Field(scaling.min, place, "scaling.min").refuse("must be >= 1")
    metrics = tuple(_metric(name, target) for name, target in scaling.target.items())
    return hpa.AutoscalerSpec(
        max_replicas=scaling.max,
        metrics=metrics or (hpa.DEFAULT_METRIC,),
        min_replicas=scaling.min,
        behavior=hpa.read_behavior(decoding.Field(scaling.behavior, place, "scaling.behavior")),
        name=workload.name,
        namespace=workload.spec.namespace,
    )


def _metric(name: str, target: float) -> hpa.MetricSpec:
    if name in ("cpu", "memory"):
        percent = max(round(target * 100), 1)
        return hpa.MetricSpec(hpa.RESOURCE, name, hpa.UTILIZATION, percent)
    return hpa.MetricSpec(hpa.PODS, name, hpa.AVERAGE_VALUE, max(round(target * 1000), 1))


def _informed(
    world: World,
    workload: LiveWorkload,
    parameters: static.StaticParameters,
    raw: decoding.Field,
) -> static.StaticParameters:
    """Give ``static`` the load and cost of the scenario, unless its parameters say otherwise."""
    service = workload.spec.service
    if service is None:
        return parameters
    demand = world.demand[workload.service]
    cpu = workload.spec.pod.requests.get("cpu")
    known = {
        "load_max_rps": float(demand.max()),
        "load_min_rps": float(demand.min()),
        "load_mean_rps": float(demand.mean()),
        "cpu_per_request_s": service.cpu_per_request,
        "request_cores": float(cpu) if cpu else 1.0,
        "target": workload.scaling.target.get("cpu", parameters.target),
    }
    said = {name for name in known if not raw[decoding.key_of(name)].missing}
    changes: dict[str, Any] = {name: v for name, v in known.items() if name not in said}
    return replace(parameters, **changes)


def _with_future(
    world: World, workload: LiveWorkload, parameters: perfect.PerfectParameters
) -> perfect.PerfectParameters:
    """Give ``perfect`` all future demand, and the start-up time of pods."""
    service = workload.spec.service
    if service is None:
        return parameters
    cpu = workload.spec.pod.requests.get("cpu")
    cost = service.cpu_per_request / (float(cpu) if cpu else 1.0)
    return replace(
        parameters,
        loads=tuple((world.demand[workload.service] * cost).tolist()),
        step_s=world.spec.step,
        startup_s=workload.spec.pod.startup.mean,
        look_s=workload.scaling.sync,
        target=workload.scaling.target.get("cpu", parameters.target),
    )


def start_scaling(world: World, observer: Observer) -> None:
    """Start the loop of every scaled workload."""
    for workload in world.workloads:
        if is_scaled(workload):
            scaler = make_scaler(world, workload)
            metrics = _metrics(workload)
            ScalingLoop(world, observer, workload, scaler, scaler.start(), metrics).start()


def _metrics(workload: LiveWorkload) -> tuple[str, ...]:
    """Return the metrics that a scaler reads: its targets, and others that it can use."""
    targets = tuple(workload.scaling.target) or ("cpu",)
    reads = () if workload.service == NONE else registry.SCALERS.get(workload.scaling.scaler).reads
    return (*targets, *(name for name in reads if name not in targets))


def is_scaled(workload: LiveWorkload) -> bool:
    """Return whether a workload is scaled; by default those that serve requests are."""
    if workload.spec.kind not in SCALABLE or workload.scaling.scaler == scenarios.NO_SCALER:
        return False
    return workload.spec.scaling is not None or workload.service != NONE


def set_static(world: World) -> None:
    """Begin with the replicas a static scaler wants, so that nothing has to grow first."""
    for workload in world.workloads:
        if is_scaled(workload) and workload.scaling.scaler == static.Static.name:
            scaler = make_scaler(world, workload)
            if isinstance(scaler, static.Static):
                workload.replicas = scaler.replicas
