"""The extender: its own latency, and what it adds to the real kube-scheduler.

Two parts. The first calls the server over HTTP with 1000 and 5000 node names and measures the total
time of its responses: filter and prioritize, or filter alone where prioritize is not called. The
second runs the same deployments through a real kube-scheduler, alternately with and without the
extender, and compares the mean time of the scheduling algorithm
(``scheduler_scheduling_algorithm_duration_seconds``). kube-scheduler scores all nodes for every
pod, as packing requires, and then also its default sample: 42 % of 1000 nodes. Needs a Go toolchain
for the control plane (``make e2e`` builds it).

    python -m benchmarks.extender [FILE]     also writes the figures to FILE as JSON
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import outputs
from kubestow.live.caches import cluster
from kubestow.live.extender import app, decisions
from kubestow.live.servers import running, settings, telemetry
from kubestow.policies.placing import extender_configuration
from kubestow.policies.placing.profiles import catalog, versions
from kubestow.policies.placing.terms import registry
from testenv import clusters, commands, isolation, nodes, workloads

ANSWERED = tuple(
    (term, decision)
    for term in ("load-aware", "clbp", "vector-dot", "adaptive")
    for decision in (catalog.SHORTLIST, catalog.WEIGHTED)
    if decision == catalog.WEIGHTED or not registry.TERMS.get(term).decisive
)
CALLS, WARM = 1500, 200
NAMES = (1000, 5000)  # nodes per call
NODES, DEPLOYMENTS, REPLICAS, ROUNDS = 1000, 20, 100, 3
ALL, DEFAULT = 100, 0  # percentageOfNodesToScore
STOCK = "stock"
LIVE = ("load-aware", "clbp", "vector-dot", "clbp weighted")
FLOORED = ("load-aware", "vector-dot")
OFFER = {
    "cpu": "16",
    "memory": "64Gi",
    "pods": "110",
    "ephemeral-storage": "100Gi",
    "kubestow.io/network": "1G",
    "kubestow.io/disk-io": "120M",
}
REQUESTS = {"cpu": "100m", "memory": "128Mi"}
_ALGORITHM = "scheduler_scheduling_algorithm_duration_seconds"
_READY_S = 300.0


def measure() -> dict[str, float]:
    """Return the time of the algorithm without the extender / with it."""
    times_s = scheduling_s(FLOORED, ALL)
    medians_s = {term: statistics.median(rounds) for term, rounds in times_s.items()}
    return {f"stock_over_{term}": medians_s[STOCK] / medians_s[term] for term in FLOORED}


def run() -> dict[str, float]:
    """Return all measurements."""
    figures = {
        f"p99_ms_{count}_names_{term} {decision}": answer_ms(term, decision, count)
        for count in NAMES
        for term, decision in ANSWERED
    }
    for share, name in ((ALL, "all_nodes"), (DEFAULT, "sampled_nodes")):
        times_s = scheduling_s(LIVE, share)
        medians_s = {term: statistics.median(rounds) for term, rounds in times_s.items()}
        for term, median_s in medians_s.items():
            figures[f"scheduling_ms_{name}_{term}"] = 1000.0 * median_s
        for term, median_s in medians_s.items():
            if term != STOCK:
                figures[f"scheduling_ratio_{name}_{term}"] = median_s / medians_s[STOCK]
    return figures


def answer_ms(term: str, decision: str, count: int) -> float:
    """Return the 99th percentile of the total response time per pod, in milliseconds."""
    both = decision == catalog.WEIGHTED and not registry.TERMS.get(term).decisive
    verbs = [app.FILTER] + ([app.PRIORITIZE] if both else [])
    with _served(term, decision, count) as port:
        caller = http.client.HTTPConnection("127.0.0.1", port)
        names = [_name(i) for i in range(count)]
        took_s = []
        for number in range(CALLS + WARM):
            pod = _pod(f"pod-{number}")
            body = json.dumps({"Pod": pod, "Nodes": None, "NodeNames": names}).encode()
            began_s = time.perf_counter()
            for verb in verbs:
                caller.request("POST", verb, body, {"Content-Type": "application/json"})
                caller.getresponse().read()
            took_s.append(time.perf_counter() - began_s)
        caller.close()
    return float(np.quantile(took_s[WARM:], 0.99)) * 1000.0


@contextlib.contextmanager
def _served(term: str, decision: str, count: int) -> Iterator[int]:
    """Serve in a child process, so that the caller does not slow it down."""
    ours, theirs = multiprocessing.Pipe()
    serving = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(term, decision, count, theirs)
    )
    serving.start()
    try:
        yield int(ours.recv())
    finally:
        serving.terminate()
        serving.join()


def _serve(term: str, decision: str, count: int, pipe: Connection) -> None:
    cache = cluster.ClusterCache(versions.scheduler_features())
    cache.replace("Node", [nodes.document(_name(i), OFFER) for i in range(count)])
    decider = decisions.TermDecider(
        cache, registry.make_term(term), None, _forget, decision=decision
    )
    metrics = telemetry.Telemetry("extender")
    edge = app.ExtenderApp(decider, metrics)
    chosen = settings.ServerSettings(drain_s=0.0, grace_s=1.0)
    server = running.Server(edge.routes(), chosen, metrics, quick=edge.handlers())
    pipe.send(server.port)
    running.run(running.serve(server))


def _forget(_: object) -> None:
    """Keep no record."""


def _name(number: int) -> str:
    return f"node-{number:04}"


def _pod(name: str) -> dict[str, Any]:
    made = workloads.pod(name, REQUESTS)
    made["metadata"] |= {"uid": name, "namespace": "default"}
    return made


def scheduling_s(terms: tuple[str, ...], share: int) -> dict[str, list[float]]:
    """Return the time of the algorithm per pod in every round, by term and without one.

    Args:
        terms: The terms, with a decision mode after a space if it is not the default.
        share: Percentage of nodes that kube-scheduler scores for a pod; 0 for its default.
    """
    if not isolation.isolate():
        raise RuntimeError("cannot create a network namespace; run as root")
    times_s: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        clusters.run(Path(folder)) as cluster,
    ):
        nodes.make(cluster, [nodes.document(_name(i), OFFER) for i in range(NODES)])
        for number in range(ROUNDS):
            for term in (STOCK, *terms):
                namespace = f"round-{number}-{term.replace(' ', '-')}"
                took_s = _schedule(cluster, Path(folder), term, namespace, share)
                times_s.setdefault(term, []).append(took_s)
                sys.stderr.write(f"{term}: {1000.0 * took_s:.2f} ms a pod\n")
    return times_s


def _schedule(
    cluster: clusters.Cluster, folder: Path, term: str, namespace: str, share: int
) -> float:
    """Return the mean time that the scheduling algorithm takes for a pod."""
    sampling = {"percentageOfNodesToScore": share}
    with contextlib.ExitStack() as stack:
        if term == STOCK:
            cluster.configure_scheduler(sampling)
        else:
            name, _, decision = term.partition(" ")
            chosen = catalog.profile_of_term(name, decision or catalog.SHORTLIST)
            options = [f"--term={name}", f"--kubeconfig={cluster.kubeconfig}", "--loads-every=0s"]
            options += [f"--decision={decision}"] if decision else []
            _, url = stack.enter_context(commands.serve(folder, "extender", *options))
            configuration = extender_configuration.write_extender_configuration(chosen, url)
            cluster.configure_scheduler(configuration | sampling)
        cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        for number in range(DEPLOYMENTS):
            made = workloads.deployment(f"app-{number}", REPLICAS, REQUESTS)
            workloads.create(cluster, namespace, made)
        total = DEPLOYMENTS * REPLICAS
        clusters.wait_for(lambda: _algorithm(cluster)[1] >= total, _READY_S, 0.5)
        total_s, count = _algorithm(cluster)
    _clear(cluster, namespace)
    return total_s / count


def _algorithm(cluster: clusters.Cluster) -> tuple[float, float]:
    text = cluster.metrics(clusters.SCHEDULER)
    total, count = (
        re.search(rf"^{_ALGORITHM}_{part} (\S+)$", text, re.MULTILINE) for part in ("sum", "count")
    )
    return (float(total[1]), float(count[1])) if total and count else (0.0, 0.0)


def _clear(cluster: clusters.Cluster, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    cluster.request("DELETE", f"/apis/apps/v1/namespaces/{namespace}/deployments")
    cluster.request("DELETE", f"/api/v1/namespaces/{namespace}")
    clusters.wait_for(lambda: not cluster.request("GET", f"{pods}?limit=1")["items"], _READY_S, 0.5)


if __name__ == "__main__":
    sys.exit(outputs.write(run()))
