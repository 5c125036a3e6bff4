"""Random autoscalers on a real control plane, decided by the real HPA controller and by ours.

A metrics server of the test draws what the controller is told and keeps it; watches keep what
became of deployments, pods and autoscalers. Ours then sees the same at the same times.
"""

from __future__ import annotations

import datetime as dt
import itertools
import logging
import time
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import pytest

from kubestow.model.decoding import fields
from kubestow.policies.scaling import decisions, observation_lines
from kubestow.policies.scaling.hpa import configuration, go_arithmetic, hpa, memory, versions
from testenv import (
    clusters,
    isolation,
    nodes,
    parity_disturbances,
    parity_histories,
    parity_metrics,
    parity_sequences,
)

pytestmark = pytest.mark.e2e

COUNT = 60  # sequences, all at the same time
LEAST_SYNCS = 20  # of each
DURATION_S = 75.0
SEED = 20262
NAMESPACE = "parity"
# Clocks and watches are a little off: where our decision differs it is taken again a little earlier
# and later, and with what was there a little earlier and later.
SHIFTS_S, LOOKS_S = (0.0, -0.1, 0.1), (0.0, -0.05, 0.05)
MOST_SHIFTED = 0.01  # of all syncs
CORE, APPS = f"/api/v1/namespaces/{NAMESPACE}", f"/apis/apps/v1/namespaces/{NAMESPACE}"
SCALING = f"/apis/autoscaling/v2/namespaces/{NAMESPACE}/horizontalpodautoscalers"
Json = dict[str, Any]
FEATURES = versions.hpa_features("1.37")
LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Told:
    """Everything that was told and seen."""

    sequences: list[parity_sequences.Sequence]
    pods: parity_histories.History
    deployments: parity_histories.History
    autoscalers: parity_histories.History
    scaled: dict[str, list[float]]


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Let the controller scale all deployments for a while."""
    assert isolation.isolate()
    settings = clusters.Settings(hpa_sync_s=parity_sequences.SYNC_S)
    with clusters.run(tmp_path_factory.mktemp("hpa"), settings) as cluster:
        cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        offer = {"cpu": "64", "memory": "256Gi", "pods": "250"}
        nodes.make(cluster, [nodes.document(f"node{number}", offer) for number in range(4)])
        with (
            parity_histories.follow(cluster, f"{CORE}/pods") as pods,
            parity_histories.follow(cluster, f"{APPS}/deployments") as deployments,
            parity_histories.follow(cluster, SCALING) as autoscalers,
        ):
            result = Told(_sequences(pods), pods, deployments, autoscalers, {})
            with parity_metrics.serve(cluster, lambda question: _answer(result, question)):
                _scale_for_a_while(cluster, result)
    return result


def _sequences(pods: parity_histories.History) -> list[parity_sequences.Sequence]:
    def known(app: str, time_s: float) -> list[str]:
        return list(pods.all_at(app, time_s))

    return [
        parity_sequences.Sequence(f"h{number:02}", f"{SEED}/{number}", known)
        for number in range(COUNT)
    ]


def _answer(reported: Told, question: parity_metrics.Question) -> list[Json] | None:
    for sequence in reported.sequences:
        number = sequence.index(question)
        if number is not None:
            return sequence.answer(number)
    return None


def _scale_for_a_while(cluster: clusters.Cluster, reported: Told) -> None:
    def are_up() -> bool:
        result = cluster.request("GET", f"{APPS}/deployments")["items"]
        up = {d["metadata"]["name"]: d["status"].get("readyReplicas", 0) for d in result}
        return all(up[sequence.name] == sequence.replicas for sequence in reported.sequences)

    for sequence in reported.sequences:
        cluster.request("POST", f"{APPS}/deployments", sequence.deployment())
    clusters.wait_for(are_up, 60, 0.5)
    for sequence in reported.sequences:
        cluster.request("POST", SCALING, sequence.hpa)
    disturber = parity_disturbances.Disturber(cluster, NAMESPACE, SEED, reported.scaled)
    until = time.monotonic() + DURATION_S
    while time.monotonic() < until:
        for sequence in reported.sequences:
            disturber.visit(sequence)
        time.sleep(0.02)


@pytest.mark.timeout(600)
def test_every_decision_equals_the_running_controller(reported: Told) -> None:
    counts: Counter[str] = Counter()
    differences: list[str] = []
    for sequence in reported.sequences:
        differences += _judge(reported, sequence, counts)
    LOG.info("judged: %s", dict(counts))  # pytest --log-cli-level=INFO
    assert not differences, "\n".join([f"{len(differences)} of {dict(counts)}", *differences[:20]])
    assert counts["sequences"] == COUNT
    assert counts["rescales"] > 3 * COUNT
    assert counts["shifted"] <= MOST_SHIFTED * counts["syncs"]


def _judge(reported: Told, sequence: parity_sequences.Sequence, counts: Counter[str]) -> list[str]:
    """Replay a sequence; return where the two controllers part, if they do."""
    spec = configuration.read_autoscaler(fields.Field(sequence.hpa, sequence.name), FEATURES)
    scaler = hpa.Hpa(spec, hpa.HpaParameters(version=FEATURES.version))
    memory = _first_memory(reported, sequence, scaler)
    # Of the last sync it is not known what came of it.
    for sync, after in itertools.pairwise(sequence.syncs):
        theirs = _outcome(reported, sequence.name, sync, after)
        for shift_s, look_s in itertools.product(SHIFTS_S, LOOKS_S):
            line = _line(reported, sequence, sync, shift_s, look_s)
            seen = observation_lines.read(fields.Field(line, sequence.name), FEATURES)
            decision, following = scaler.decide(seen, memory)
            if _is_equal(decision, theirs):
                break
        else:
            return [_difference(reported, sequence, sync, theirs, scaler, memory)]
        memory = following
        counts["shifted"] += (shift_s, look_s) != (0.0, 0.0)
        counts["syncs"] += 1
        counts["rescales"] += decision.desired != decision.current
        counts["with pods not ready"] += any(not pod["ready"] for pod in line["pods"].values())
        counts["with failed reads"] += "error" in sync.metrics.values()
    counts["sequences"] += len(sequence.syncs) > LEAST_SYNCS
    return []


def _first_memory(
    reported: Told, sequence: parity_sequences.Sequence, scaler: hpa.Hpa
) -> memory.HpaMemory:
    """Return the memory with which the first sync decides.

    The controller begins its list of recommendations before it asks for metrics
    (``recordInitialRecommendation`` of ``horizontal.go``), which takes it a while.
    """
    first = sequence.syncs[0]
    replicas = _line(reported, sequence, first)["currentReplicas"]
    begun = (replicas, go_arithmetic.nanoseconds(first.time_s))
    return replace(scaler.start(), recommendations=(begun,))


def _difference(
    reported: Told,
    sequence: parity_sequences.Sequence,
    sync: parity_sequences.Sync,
    theirs: Json,
    scaler: hpa.Hpa,
    memory: memory.HpaMemory,
) -> str:
    line = _line(reported, sequence, sync)
    ours, _ = scaler.decide(observation_lines.read(fields.Field(line, "told"), FEATURES), memory)
    number = sequence.syncs.index(sync)
    times = [(one.time_s, one.decided_s) for one in sequence.syncs[: number + 1]][-8:]
    return (
        f"{sequence.name}#{number}: theirs {theirs}, ours {ours.desired} {ours.conditions}, "
        f"asked at {times}, remembered {memory.as_json()}, told {line}, {sequence.hpa['spec']}"
    )


def _is_equal(decision: decisions.ScalingDecision, theirs: Json) -> bool:
    ours = {c.kind: [c.status, c.reason] for c in decision.conditions}
    # Conditions a sync does not set keep what an earlier one said.
    reported = {kind: theirs["conditions"].get(kind) for kind in ours}
    return bool(decision.desired == theirs["desired"] and ours == reported)


def _outcome(
    reported: Told, name: str, sync: parity_sequences.Sync, after: parity_sequences.Sync
) -> Json:
    # Whoever else scaled did so long after the controller.
    others = [time_s for time_s in reported.scaled.get(name, []) if time_s > sync.time_s]
    deployment = reported.deployments.at(name, min([*others, after.time_s]))
    autoscaler = reported.autoscalers.at(name, after.time_s)
    assert deployment is not None
    assert autoscaler is not None
    conditions = autoscaler["status"]["conditions"]
    return {
        "desired": deployment["spec"]["replicas"],
        "conditions": {c["type"]: [c["status"], c["reason"]] for c in conditions},
    }


def _line(
    reported: Told,
    sequence: parity_sequences.Sequence,
    sync: parity_sequences.Sync,
    shift_s: float = 0.0,
    look_s: float = 0.0,
) -> Json:
    """Return what a sync saw, had it been a little earlier or later, or looked so."""
    assert sync.asked == len(sequence.hpa["spec"]["metrics"]), (sequence.name, sync)
    deployment = reported.deployments.at(sequence.name, sync.time_s + min(look_s, 0.0))
    assert deployment is not None
    pods = reported.pods.all_at(sequence.name, sync.time_s + look_s)
    facts = {name: _facts(sequence, pod) for name, pod in pods.items()}
    for name, (sampled_s, window_s) in sync.samples.items():
        facts.setdefault(name, {"ready": None}).update(sampled=sampled_s, window=window_s)
    return {
        "t": sync.decided_s + shift_s,
        "currentReplicas": deployment["spec"]["replicas"],
        "statusReplicas": deployment["status"].get("replicas", 0),
        "metrics": sync.metrics,
        "pods": facts,
    }


def _facts(sequence: parity_sequences.Sequence, pod: Json) -> Json:
    status = pod["status"]
    ready = [c for c in status.get("conditions", []) if c["type"] == "Ready"]
    return {
        "phase": status["phase"],
        "deleted": "deletionTimestamp" in pod["metadata"],
        "started": _seconds(status["startTime"]) if "startTime" in status else None,
        "ready": ready[0]["status"] == "True" if ready else None,
        "readySince": _seconds(ready[0]["lastTransitionTime"]) if ready else None,
        "containers": sequence.containers(),
    }


def _seconds(stamp: str) -> float:
    return dt.datetime.fromisoformat(stamp).timestamp()
