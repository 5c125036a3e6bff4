"""Read a line of OBSERVATIONS.jsonl as an observation.

A line holds only what differs from the defaults. A pod that a metric names exists; if no pod is
named, there are ``statusReplicas`` ready ones. A pod is running and has been ready for long unless
its entry in ``pods`` says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kubestow.model import arrays, decoding, pods
from kubestow.policies.scaling import hpa, observations

ERROR = "error"  # in place of a value: the read failed
# Default start of a pod: a day before time 0.
LONG_AGO_S = -86400.0
# The controller's default where a metric has no window (metricServerDefaultMetricWindow).
WINDOW_S = 60.0
_LINE = ("t", "currentReplicas", "statusReplicas", "metrics", "pods")
_POD = (
    "ready", "phase", "started", "readySince", "deleted", "sampled", "window", "requests",
    "containers", "podRequests", "startup",
)  # fmt: skip


def read(line: decoding.Field, features: hpa.HpaFeatures) -> observations.ScalingObservation:
    """Read one observation.

    Raises:
        InputError: If a value is invalid.
    """
    _refuse_unknown(line, _LINE)
    current = line["currentReplicas"].integer(least=0, most=hpa.MAX_INT32)
    status = line["statusReplicas"].integer(current, least=0, most=hpa.MAX_INT32)
    metrics = dict(line["metrics"].members())
    names = _names(line["pods"], metrics)
    time_s = _seconds(line["t"])
    if names is None:
        table = observations.ready_pods(status)
        facts = [decoding.Field(None, line.place)] * status
    else:
        facts = [line["pods"][name] for name in names]
        table = _table(names, facts, features)
    readings = {
        key: reading
        for key, member in metrics.items()
        if (reading := _reading(member, names or (), facts, time_s)) is not None
    }
    return observations.ScalingObservation(time_s, current, status, readings, table)


def _refuse_unknown(entry: decoding.Field, known: tuple[str, ...]) -> None:
    for key, member in entry.members():
        if key not in known:
            raise member.refuse(f"unknown key; expected one of {', '.join(known)}")


def _seconds(field: decoding.Field, default: float | None = None) -> float:
    value = field.value
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise field.refuse("expected a time in seconds")
    return float(value)


def _names(entries: decoding.Field, metrics: dict[str, decoding.Field]) -> tuple[str, ...] | None:
    """Return the names of all pods; ``None`` if none is named."""
    names = dict.fromkeys(entries.mapping())
    for member in metrics.values():
        if isinstance(member.value, dict):
            names.update(dict.fromkeys(member.mapping()))
    return None if entries.missing and not names else tuple(sorted(names))


def _table(
    names: tuple[str, ...], facts: Sequence[decoding.Field], features: hpa.HpaFeatures
) -> observations.PodTable:
    for fact in facts:
        _refuse_unknown(fact, _POD)
    started = [_started(fact) for fact in facts]
    since = [
        _seconds(fact["readySince"], LONG_AGO_S if math.isnan(start) else start)
        for fact, start in zip(facts, started, strict=True)
    ]
    return observations.PodTable(
        phases=np.array([_phase(fact["phase"]) for fact in facts], dtype=np.int8),
        readies=np.array([_ready(fact) for fact in facts], dtype=np.int8),
        deleted=np.array([fact["deleted"].truth() for fact in facts], dtype=np.bool_),
        started_s=np.array(started, dtype=np.float64),
        ready_since_s=np.array(since, dtype=np.float64),
        requests_milli=_requests(names, facts, features),
        names=names,
        startups_s=_startups(facts),
    )


def _startups(facts: Sequence[decoding.Field]) -> arrays.Floats | None:
    """Return the pods' start-up times in seconds; ``None`` if no pod has one."""
    fields = [fact["startup"] for fact in facts]
    if all(field.missing for field in fields):
        return None
    return np.array([_startup(field) for field in fields], dtype=np.float64)


def _startup(field: decoding.Field) -> float:
    if field.missing:
        return math.nan
    if (time_s := _seconds(field)) < 0.0:
        raise field.refuse("must be >= 0")
    return time_s


def _started(fact: decoding.Field) -> float:
    if fact["started"].missing and "started" in fact.mapping():
        return math.nan
    return _seconds(fact["started"], LONG_AGO_S)


def _phase(field: decoding.Field) -> int:
    return observations.PHASES.index(field.choice(observations.PHASES, "Running"))


def _ready(fact: decoding.Field) -> int:
    if fact["ready"].missing and "ready" in fact.mapping():
        return observations.NO_CONDITION
    return observations.READY if fact["ready"].truth(True) else observations.NOT_READY


def _requests(
    names: tuple[str, ...], facts: Sequence[decoding.Field], features: hpa.HpaFeatures
) -> dict[observations.RequestKey, arrays.Ints]:
    """Return all pods' requests by each resource and container that any of them has."""
    built = [_pod(name, fact) for name, fact in zip(names, facts, strict=True)]
    containers = {container.name for pod in built for container in pod.spec.containers}
    named = {name for pod in built for c in pod.spec.containers for name in c.requests}
    named.update(name for pod in built for name in pod.spec.pod_requests or {})
    if not named:
        return {}
    keys = [(name, container) for name in sorted(named) for container in ("", *sorted(containers))]
    return {
        key: np.array([hpa.request_milli(pod, *key, features) for pod in built], dtype=np.int64)
        for key in keys
    }


def _pod(name: str, fact: decoding.Field) -> pods.Pod:
    containers = tuple(
        pods.Container(container, requests=member.quantities())
        for container, member in fact["containers"].members()
    ) or (pods.Container("main", requests=fact["requests"].quantities()),)
    whole = fact["podRequests"]
    return pods.Pod(
        name,
        pods.PodSpec(containers, pod_requests=None if whole.missing else whole.quantities()),
    )


def _reading(
    member: decoding.Field,
    names: tuple[str, ...],
    facts: Sequence[decoding.Field],
    time_s: float,
) -> observations.Reading | None:
    value = member.value
    if value is None:
        return None
    if value == ERROR:
        return observations.FailedRead()
    if isinstance(value, dict):
        return _samples(member, names, facts, time_s) if value else None
    parts = list(member.items()) if isinstance(value, list) else [member]
    if not parts:
        return None
    return observations.SingleValue(tuple(_milli(part) for part in parts))


def _milli(field: decoding.Field) -> int:
    if isinstance(field.value, bool) or not isinstance(field.value, str | int | float):
        raise field.refuse(
            "expected a number, a list of numbers, samples by pod, or the word error"
        )
    return hpa.milli(field.quantity(negative=True))


def _samples(
    member: decoding.Field,
    names: tuple[str, ...],
    facts: Sequence[decoding.Field],
    time_s: float,
) -> observations.PodSamples:
    samples = [member[name] for name in names]
    return observations.PodSamples(
        values_milli=np.array(
            [0 if sample.missing else _milli(sample) for sample in samples], dtype=np.int64
        ),
        present=np.array([not sample.missing for sample in samples], dtype=np.bool_),
        sampled_s=np.array([_seconds(fact["sampled"], time_s) for fact in facts]),
        window_s=np.array([_seconds(fact["window"], WINDOW_S) for fact in facts]),
    )
