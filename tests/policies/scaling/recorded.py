"""Read recorded syncs, and build observations from the inputs of upstream's tests."""

from __future__ import annotations

import gzip
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kubestow.model import pods
from kubestow.model.decoding import fields
from kubestow.policies.scaling import decisions, observation_lines, observations
from kubestow.policies.scaling.hpa import configuration, hpa, memory, requests, versions

DATA = Path(__file__).parents[2] / "data" / "hpa_1_37"
Json = dict[str, Any]
READY = {"True": observations.READY, "False": observations.NOT_READY, "Unknown": 2, None: -1}
STOCK = versions.hpa_features("1.37")


def load(name: str) -> list[Json]:
    """Return the cases of a gzipped JSON array or JSON lines file."""
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        if name.endswith(".jsonl.gz"):
            return [json.loads(line) for line in file]
        cases: list[Json] = json.load(file)
        return cases


def replay(case: Json, version: str = "1.37") -> list[decisions.ScalingDecision]:
    """Let ``hpa`` see the observations of a case."""
    features = versions.hpa_features(version)
    spec = configuration.read_autoscaler(fields.Field(case["hpa"], "hpa"), features)
    scaler = hpa.Hpa(spec, hpa.HpaParameters(version=version))
    memory, decided = scaler.start(), []
    for line in case["observations"]:
        decision, memory = scaler.decide(
            observation_lines.read(fields.Field(line, "line"), features), memory
        )
        decided.append(decision)
    return decided


def compare(case: Json, decided: list[decisions.ScalingDecision]) -> tuple[list[Json], list[Json]]:
    """Return what ``hpa`` decided and what the controller did, in the same shape."""
    got, expected = [], []
    for decision, sync in zip(decided, case["syncs"], strict=True):
        # Conditions a sync does not set keep what an earlier one said.
        kinds = [condition.kind for condition in decision.conditions]
        conditions = {c.kind: [c.status, c.reason] for c in decision.conditions}
        got.append(
            {
                "proposed": decision.proposed,
                "desired": decision.desired,
                "conditions": conditions,
                "rescaleReason": decision.reason if sync["rescaleReason"] else "",
                "error": _strip(decision.error),
            }
        )
        expected.append(
            {
                **sync,
                "conditions": {kind: sync["conditions"].get(kind) for kind in kinds},
                "error": _strip(sync["error"]),
            }
        )
    return got, expected


def _strip(error: str) -> str:
    """Drop what an observation does not contain: the target, and the order of pods.

    The first pod without a request or without the container stops the controller, which names it.
    """
    error = error.rpartition("listed metrics for Deployment/default/x: ")[2]
    lacking = r"(missing request for \w+ in .* of|container \w+ not found in) Pod \S+$"
    return re.sub(lacking, "lacking a request", error)


def gated(gates: Json) -> versions.HpaFeatures:
    """Return 1.37 with feature gates as a test had set them."""
    return replace(
        STOCK,
        scale_to_zero=gates.get("scaleToZero", STOCK.scale_to_zero),
        configurable_tolerance=gates.get("tolerance", STOCK.configurable_tolerance),
        pod_level=gates.get("podLevel", STOCK.pod_level),
    )


def seconds(nanoseconds: int | None) -> float:
    return math.nan if nanoseconds is None else nanoseconds / 1e9


def make_pod(given: Json) -> pods.Pod:
    def containers(key: str) -> tuple[pods.Container, ...]:
        return tuple(
            pods.Container(
                c["name"],
                requests=fields.Field(c["requests"], "pod").quantities(),
                sidecar=c.get("sidecar", False),
            )
            for c in given.get(key, [])
        )

    whole = given.get("podRequests")
    return pods.Pod(
        given["name"],
        pods.PodSpec(
            containers("containers"),
            containers("initContainers"),
            pod_requests=None if whole is None else fields.Field(whole, "pod").quantities(),
        ),
    )


def make_table(
    given: list[Json], keys: list[observations.RequestKey], features: versions.HpaFeatures
) -> observations.PodTable:
    built = [make_pod(pod) for pod in given]
    return observations.PodTable(
        phases=np.array(
            [observations.PHASES.index(p.get("phase") or "Unknown") for p in given], "i1"
        ),
        readies=np.array([READY[p.get("ready")] for p in given], "i1"),
        deleted=np.array([p["deleted"] for p in given], "?"),
        started_s=np.array([seconds(p.get("started")) for p in given], "f8"),
        ready_since_s=np.array([seconds(p.get("since")) for p in given], "f8"),
        requests_milli={
            key: np.array([requests.request_milli(p, *key, features) for p in built], "i8")
            for key in keys
        },
        names=[pod["name"] for pod in given],
    )


def make_samples(metrics: Json, table: observations.PodTable) -> observations.PodSamples:
    rows = [metrics.get(name) for name in table.names]
    return observations.PodSamples(
        values_milli=np.array([row[0] if row else 0 for row in rows], "i8"),
        present=np.array([row is not None for row in rows], "?"),
        sampled_s=np.array([row[1] / 1e9 if row else 0.0 for row in rows], "f8"),
        window_s=np.array([row[2] / 1e9 if row else 0.0 for row in rows], "f8"),
        unmatched_milli=tuple(
            value[0] for name, value in metrics.items() if name not in table.names
        ),
    )


def make_reading(read: Json, table: observations.PodTable) -> observations.Reading | None:
    if "error" in read:
        _, result, cause = read["error"].partition(" metrics API: ")
        return observations.FailedRead(cause) if result else None
    if read["kind"] == "single":
        return observations.SingleValue(tuple(read["value"]))
    return make_samples(read["value"], table)


def make_observation(
    given: Json, features: versions.HpaFeatures
) -> observations.ScalingObservation:
    reads = given.get("reads") or []
    keys = [(read["name"], read["container"]) for read in reads if read["kind"] == "pods"]
    table = make_table(given.get("pods") or [], keys, features)
    readings = {
        f"{read['container']}/{read['name']}" if read["container"] else read["name"]: reading
        for read in reads
        if (reading := make_reading(read, table)) is not None
    }
    # Functions that use one of the two numbers were given only that one.
    given = {"current": given.get("status", 1), **given}
    given = {"statusReplicas": given.get("status", given["current"]), **given}
    return observations.ScalingObservation(
        0.0, int(given["current"]), int(given["statusReplicas"]), readings, table
    )


def stamps(entries: list[list[int]] | None) -> tuple[memory.Stamped, ...]:
    return tuple((replicas, time_ns) for replicas, time_ns in entries or [])


def amounts(entries: tuple[memory.Stamped, ...] | list[list[int]]) -> list[int]:
    return [entry[0] for entry in entries]
