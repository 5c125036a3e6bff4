"""Usage and advice to try the recommend command's parts with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kubestow.model import quantities, usage
from kubestow.model.arrays import Floats
from kubestow.model.keys import ContainerKey
from kubestow.model.usage import Usage
from kubestow.policies.sizing.recommendations import Recommendation, UsageSummary

MIB = 2**20
STEP_S, DAY = 300.0, 288
_MEASURED = tuple(UsageSummary.__dataclass_fields__)


def key(workload: str, container: str = "app", kind: str = "Deployment") -> ContainerKey:
    """Return a container of the namespace shop."""
    return ContainerKey("shop", kind, workload, container)


def amounts(cpu: str = "", memory: str = "") -> dict[str, quantities.Quantity]:
    """Return quantities; empty ones are unset."""
    stated = (("cpu", cpu), ("memory", memory))
    return {name: quantities.parse(text) for name, text in stated if text}


def facts(cpu: str = "", memory: str = "", **more: Any) -> usage.ContainerFacts:
    """Return what a container requests."""
    return usage.ContainerFacts(requests=amounts(cpu, memory), **more)


def advice(
    of: ContainerKey,
    now: usage.ContainerFacts,
    requests: Mapping[str, int],
    limits: Mapping[str, int] | None = None,
    **more: Any,
) -> Recommendation:
    """Return advice with nothing remarkable about it."""
    summary = {name: more.pop(name) for name in list(more) if name in _MEASURED}
    usual: dict[str, Any] = {"samples": 10, "cpu_p95_cores": 0.1, "cpu_mean_cores": 0.1}
    measured = UsageSummary(**{**usual, **summary})
    reasons = (more.pop("why", "because"),)
    return Recommendation(
        of,
        requests,
        limits or {},
        reasons=reasons,
        strategy="auto",
        usage=measured,
        current=now,
        **more,
    )


def steady(days: int = 5, cores: float = 0.1, size_mib: float = 100.0) -> tuple[Floats, Floats]:
    """Return CPU and memory of a pod that does the same every day."""
    return np.full(days * DAY, cores), np.full(days * DAY, size_mib * MIB)


def table(
    pods: Mapping[ContainerKey, list[tuple[Floats, Floats]]],
    kills: Mapping[ContainerKey, int] | None = None,
) -> Usage:
    """Return usage of containers, each with its pods."""
    keys = tuple(sorted(pods))
    rows = [(place, one) for place, of in enumerate(keys) for one in pods[of]]
    killed = kills or {}
    return Usage(
        containers=keys,
        pods=tuple(f"pod-{number}" for number in range(len(rows))),
        owners=np.array([place for place, _ in rows], dtype=np.int64),
        step_s=STEP_S,
        end_s=1_760_000_000.0,
        cpu_cores=np.array([one[0] for _, one in rows]),
        memory_bytes=np.array([one[1] for _, one in rows]),
        throttled=np.full(len(keys), np.nan),
        oom_kills=np.array([float(killed.get(of, 0)) for of in keys]),
        oom_killed_bytes=np.zeros(len(keys)),
    )
