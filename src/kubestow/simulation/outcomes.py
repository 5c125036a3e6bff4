"""The outcome of a run: all measures as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kubestow.model import arrays, decoding
from kubestow.model.decisions import DecisionRecord
from kubestow.simulation import usage
from kubestow.simulation.kernel import Area
from kubestow.simulation.recorders import Recorder
from kubestow.simulation.scenarios import ScenarioSpec
from kubestow.simulation.usage import NONE, RecordArray
from kubestow.simulation.world import LiveWorkload, World

_HOUR_S = 3600.0
_PERCENTILES = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))
_COUNTS = ("oom_kills", "evictions", "restarts", "scale_actions", "resizes", "preemptions", "moves")


@dataclass(frozen=True, slots=True, eq=False)
class RunOutcome:
    """The results of a run.

    Attributes:
        measures: All measures as plain values.
        spec: The scenario that was run.
        workloads: Keys of the workloads, by their number in the timeline.
        nodes: Names of the nodes, by their number in the timeline.
        workload_columns: The timeline per workload, in chunks.
        node_columns: The timeline per node, in chunks.
        events: Time, event, subject and detail of every event.
        decisions: Records of the first decisions, as many as the scenario keeps.
    """

    measures: Mapping[str, Any]
    spec: ScenarioSpec
    workloads: tuple[str, ...]
    nodes: tuple[str, ...]
    workload_columns: Mapping[str, list[NDArray[Any]]]
    node_columns: Mapping[str, list[NDArray[Any]]]
    events: Sequence[tuple[float, str, str, str]]
    decisions: Sequence[DecisionRecord]


def collect(world: World, recorder: Recorder, name: str) -> RunOutcome:
    """Return the results of a finished run.

    Args:
        world: The world at the end of the run.
        recorder: The recorder of the run.
        name: Name of the scenario.
    """
    return RunOutcome(
        measures=measure(world, recorder, name),
        spec=world.spec,
        workloads=tuple(workload.key for workload in world.workloads),
        nodes=tuple(node.name for node in world.nodes),
        workload_columns=recorder.workload_columns,
        node_columns=recorder.node_columns,
        events=world.ledger.events,
        decisions=world.ledger.decisions,
    )


def measure(world: World, recorder: Recorder, name: str) -> dict[str, Any]:
    """Return the measures of a finished run; the names are a contract."""
    now_s = world.now_s
    workloads = world.workloads
    reserved_cpu = sum(w.reserved_cpu_m.until(now_s) for w in workloads) / 1000.0
    reserved_memory = sum(w.reserved_memory.until(now_s) for w in workloads)
    balance = {key: float(np.mean(values)) for key, values in recorder.measures.items()}
    offered = float(world.services["all_offered"].sum())
    missed = float(world.services["all_late"].sum() + world.services["all_dropped"].sum())
    pools = world.ledger.nodes
    return {
        "scenario": name,
        "seed": world.seed,
        "policies": decoding.write_structure(world.spec.policies),
        "simulated_seconds": now_s,
        "eru": {
            "cpu": _ratio(float(recorder.used_cpu.sum()), reserved_cpu),
            "memory": _ratio(float(recorder.used_memory.sum()), reserved_memory),
        },
        "response": _response(world.histograms.sum(axis=0), world.services),
        "slo_violation_ratio": _ratio(missed, offered),
        "requests": _requests(world, offered),
        "node_hours": sum(area.until(now_s) for area in pools.values()) / _HOUR_S,
        "pod_hours": sum(w.existing.until(now_s) for w in workloads) / _HOUR_S,
        "cost": _cost(world, pools),
        **({"currency": currency} if (currency := world.spec.cluster.currency) else {}),
        "nodes_peak": int(world.ledger.fleet.peak),
        "pending_pod_seconds": sum(w.pending.until(now_s) for w in workloads),
        "pending_pods_at_end": int(sum(w.pending.value for w in workloads)),
        "throttled_ratio": _throttled(world),
        **{name: world.ledger.counts.get(name, 0) for name in _COUNTS},
        "sizing": _sizing(world),
        "pods_created": sum(w.made for w in workloads),
        "pods_finished": sum(w.done for w in workloads),
        "reserved": {
            "cpu_core_hours": reserved_cpu / _HOUR_S,
            "memory_gib_hours": reserved_memory / _HOUR_S / 2**30,
        },
        "churn_per_hour": _churn(world),
        "imbalance": _pair(balance, "imbalance"),
        "jain": _pair(balance, "jain"),
        "requested_deviation": _pair(balance, "requested_deviation"),
        "utilization": _pair(balance, "utilization"),
        "requested": _pair(balance, "requested"),
        "unused": _pair(balance, "unused"),
        "fragmentation": balance.get("fragmentation"),
        "near_empty_nodes": balance.get("near_empty"),
        "decisions_made": world.ledger.counts.get("decisions", 0),
        "workloads": {w.key: _workload(world, recorder, w) for w in workloads},
        "decisions": None,  # set to the file they are written to
    }


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0.0 else None


def _pair(balance: dict[str, float], name: str) -> dict[str, float | None]:
    return {resource: balance.get(f"{name}_{resource}") for resource in ("cpu", "memory")}


def _response(histogram: arrays.Floats, services: RecordArray) -> dict[str, float | None]:
    mean = _ratio(float(services["all_response"].sum()), float(histogram.sum()))
    # Percentiles are interpolated within a bucket; no response takes longer than the timeout.
    most_s = float(services["timeout_s"].max(initial=0.0))
    response: dict[str, float | None] = {"mean": mean}
    for name, share in _PERCENTILES:
        value = usage.percentile(histogram, share)
        response[name] = None if value is None else min(value, most_s)
    return response


def _requests(world: World, offered: float) -> dict[str, float]:
    inside = world.containers.rows[: world.containers.top]
    return {
        "offered": offered,
        "served": float(world.services["all_served"].sum()),
        "dropped": float(world.services["all_dropped"].sum()),
        "inside": float(inside["in_system"][inside["used"]].sum()),
    }


def _cost(world: World, pools: Mapping[str, Area]) -> float:
    prices = {pool.name: pool.cost for pool in world.spec.cluster.nodes}
    return sum(
        area.until(world.now_s) / _HOUR_S * prices.get(name, 0.0) for name, area in pools.items()
    )


def _throttled(world: World) -> float | None:
    rows = world.containers.rows
    gone = world.ledger.throttling
    periods = float(rows["periods"][rows["used"]].sum()) + gone[0]
    return _ratio(float(rows["throttled"][rows["used"]].sum()) + gone[1], periods)


def _sizing(world: World) -> dict[str, float | None]:
    """Return how many estimates could be back-tested, and the share that was exceeded."""
    counts = world.ledger.counts
    judged = float(counts.get("sizing_judged", 0))
    return {
        "judged": judged,
        "cpu_missed": _ratio(float(counts.get("sizing_cpu_missed", 0)), judged),
        "memory_missed": _ratio(float(counts.get("sizing_memory_missed", 0)), judged),
    }


def _churn(world: World) -> float:
    """Return pods created and removed per hour, without the initial ones."""
    moves = sum(1 for time_s, what, *_ in world.ledger.events if what == "gone")
    born = sum(1 for time_s, what, *_ in world.ledger.events if what == "created" and time_s > 0.0)
    return (moves + born) / (world.now_s / _HOUR_S)


def _workload(world: World, recorder: Recorder, workload: LiveWorkload) -> dict[str, Any]:
    now_s = world.now_s
    times = workload.startup_times_s
    measures: dict[str, Any] = {
        "kind": workload.spec.kind,
        "pods_created": workload.made,
        "replicas_mean": workload.existing.until(now_s) / now_s,
        "replicas_peak": int(workload.existing.peak),
        "pending_pod_seconds": workload.pending.until(now_s),
        "eru": {
            "cpu": _ratio(
                float(recorder.used_cpu[workload.number]),
                workload.reserved_cpu_m.until(now_s) / 1000.0,
            ),
            "memory": _ratio(
                float(recorder.used_memory[workload.number]), workload.reserved_memory.until(now_s)
            ),
        },
        "per_pod": _per_pod(recorder, workload, now_s),
        "startup_seconds": {
            "mean": float(np.mean(times)) if times else None,
            "p90": float(np.quantile(times, 0.9)) if times else None,
            "count": len(times),
        },
    }
    if workload.service != NONE:
        service = world.services[workload.service]
        missed = float(service["all_late"] + service["all_dropped"])
        only = world.services[workload.service : workload.service + 1]
        measures["response"] = _response(world.histograms[workload.service], only)
        measures["slo_violation_ratio"] = _ratio(missed, float(service["all_offered"]))
        measures["dropped"] = float(service["all_dropped"])
    return measures


def _per_pod(recorder: Recorder, workload: LiveWorkload, now_s: float) -> dict[str, float | None]:
    """Return mean requests and usage of a pod, in cores and bytes."""
    pods_s = workload.existing.until(now_s)
    number = workload.number
    return {
        "requested_cpu": _ratio(workload.reserved_cpu_m.until(now_s) / 1000.0, pods_s),
        "requested_memory": _ratio(workload.reserved_memory.until(now_s), pods_s),
        "used_cpu": _ratio(float(recorder.used_cpu[number]), pods_s),
        "used_memory": _ratio(float(recorder.used_memory[number]), pods_s),
    }
