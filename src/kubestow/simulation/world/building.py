"""Builds the world of a scenario: arrays and objects at time 0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from scipy.signal import lfilter

from kubestow.model import arrays, decoding
from kubestow.policies.placing import profiles
from kubestow.simulation import kernel, scenarios, usage
from kubestow.simulation.usage import RecordArray
from kubestow.simulation.world import ledger, templates
from kubestow.simulation.world.actors import LiveWorkload
from kubestow.simulation.world.world import World

_USES = ("cpu", "memory", "network", "disk_io")
_ROWS = ("cpu_signal", "memory_signal", "network_signal", "disk_signal")


def make_world(
    scenario: scenarios.ScenarioSpec, seed: int, traces: Mapping[str, scenarios.SignalTrace]
) -> World:
    """Return the world before the first event."""
    workloads = _make_workloads(scenario, seed)
    steps = math.ceil(scenario.duration / scenario.step)
    signal_records, values, rows = _make_signals(scenario, workloads, steps, traces)
    services, demand = _make_services(scenario, workloads, steps, traces)
    return World(
        spec=scenario,
        seed=seed,
        features=profiles.scheduler_features(scenario.policies.placing.version),
        signals=signal_records,
        signal_values=values,
        services=services,
        demand=demand,
        histograms=np.zeros((len(services), usage.BUCKETS)),
        plays=usage.PlayedRequests(_most_requests(services, demand, scenario.step)),
        workloads=workloads,
        ledger=ledger.Ledger(keep=scenario.recording.decisions),
        container_signals=rows,
    )


def _make_workloads(scenario: scenarios.ScenarioSpec, seed: int) -> list[LiveWorkload]:
    made: list[LiveWorkload] = []
    for index, workload in enumerate(scenario.workloads):
        path = f"spec.workloads[{index}]"
        own = decoding.Field(workload.scaling, "scenario", f"{path}.scaling")
        scaling = override_policy(scenarios.ScalingPolicy, scenario.policies.scaling, own)
        own = decoding.Field(workload.sizing, "scenario", f"{path}.sizing")
        sizing = override_policy(scenarios.SizingPolicy, scenario.policies.sizing, own)
        for name in workload.names():
            made.append(
                LiveWorkload(
                    number=len(made),
                    name=name,
                    spec=workload,
                    scaling=scaling,
                    sizing=sizing,
                    stream=kernel.stream_key(seed, "workload", workload.namespace, name),
                    replicas=workload.replicas,
                )
            )
    return made


Policy = TypeVar("Policy")


def override_policy(kind: type[Policy], general: Policy, own: decoding.Field) -> Policy:
    """Return the policy of a workload: its own, completed by the general one."""
    if own.missing:
        return general
    merged = {**decoding.write_structure(general), **own.mapping()}
    return decoding.read_structure(kind, decoding.Field(merged, own.place, own.path))


def _make_signals(
    scenario: scenarios.ScenarioSpec,
    workloads: list[LiveWorkload],
    steps: int,
    traces: Mapping[str, scenarios.SignalTrace],
) -> tuple[RecordArray, arrays.Floats, dict[tuple[int, int], dict[str, int]]]:
    values: list[arrays.Floats] = []
    known: dict[scenarios.Signal, int] = {}
    rows: dict[tuple[int, int], dict[str, int]] = {}
    for workload in workloads:
        for index, plan in enumerate(templates.containers_of(workload.spec)):
            entry = rows.setdefault((workload.number, index), {})
            for use, column in zip(_USES, _ROWS, strict=True):
                signal = getattr(plan.usage, use) if plan.usage is not None else None
                if signal is None:
                    continue
                if signal not in known:
                    known[signal] = len(values)
                    values.append(scenarios.step_means(signal, scenario.step, steps, traces))
                entry[column] = known[signal]
    records = np.zeros(len(known), dtype=usage.SIGNAL)
    for signal, row in known.items():
        records[row] = (0.0, signal.noise, math.exp(-scenario.step / signal.noise_time))
    return records, np.array(values).reshape(len(values), steps), rows


def _make_services(
    scenario: scenarios.ScenarioSpec,
    workloads: list[LiveWorkload],
    steps: int,
    traces: Mapping[str, scenarios.SignalTrace],
) -> tuple[RecordArray, arrays.Floats]:
    serving = [
        (w, w.spec.service) for w in workloads if w.spec.service is not None and w.spec.demand
    ]
    records = np.zeros(len(serving), dtype=usage.SERVICE)
    demand = np.zeros((len(serving), steps))
    for row, (workload, service) in enumerate(serving):
        workload.service = row
        demand[row] = _demand(workload, scenario.step, steps, traces)
        for name, value in {
            "pooled": service.balancing == scenarios.POOLED,
            "played": service.model == scenarios.REQUESTS,
            "stream": kernel.stream_key(workload.stream, "requests"),
            "workload": workload.number,
            "work_s": service.cpu_per_request,
            "threads": service.threads,
            "memory": float(service.memory_per_request),
            "base_memory": float(service.base_memory),
            "base_cpu": float(service.base_cpu),
            "network": float(service.network_per_request),
            "disk": float(service.disk_per_request),
            "slo_s": service.slo_millis / 1000.0,
            "timeout_s": service.timeout,
            "variability": service.variability,
        }.items():
            records[row][name] = value
    return records, demand


def _most_requests(services: RecordArray, demand: arrays.Floats, step_s: float) -> int:
    """Return an upper bound of the requests of one simulated service in one step."""
    if not services["played"].any():
        return 0
    mean = float(demand[services["played"]].max()) * step_s
    return int(mean + 10.0 * math.sqrt(mean)) + 100


def _demand(
    workload: LiveWorkload, step_s: float, steps: int, traces: Mapping[str, scenarios.SignalTrace]
) -> arrays.Floats:
    """Return the demand of every step, with its noise."""
    signal = workload.spec.demand or scenarios.Signal()
    means = scenarios.step_means(signal, step_s, steps, traces)
    # A service gets no requests before it is created.
    begins_s = np.arange(steps) * step_s
    means *= np.clip((begins_s + step_s - workload.spec.start) / step_s, 0.0, 1.0)
    if signal.noise <= 0.0:
        return means
    rng = kernel.make_generator(workload.stream, "demand")
    kept = math.exp(-step_s / signal.noise_time)
    fresh = rng.standard_normal(steps) * math.sqrt(1.0 - kept * kept)
    fresh[0] /= math.sqrt(1.0 - kept * kept) if kept < 1.0 else 1.0
    level = lfilter([1.0], [1.0, -kept], fresh)  # level = kept * level before + fresh
    return means * np.exp(signal.noise * level - signal.noise**2 / 2)
