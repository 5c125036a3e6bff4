"""The extender: how long it takes itself, and what it adds to the real kube-scheduler.

Two parts. The first asks the server over HTTP about 1000 and 5000 nodes by name and takes the time
that filter and prioritize take together. The second runs the same deployments through a real
kube-scheduler, with and without the extender, in turns, and compares the mean time of the
scheduling algorithm (``scheduler_scheduling_algorithm_duration_seconds``). Needs a Go toolchain for
the control plane (``make e2e`` builds it).

    python -m benchmarks.extender [FILE]     writes the figures to FILE as JSON, too
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
import yaml

from kubestow.live import telemetry
from kubestow.live.caches import cluster_caches
from kubestow.live.extender import apps, judges
from kubestow.live.servers import running, settings
from kubestow.policies.placing import catalogs, extender_configurations, term_registry, versions
from testenv import clusters, commands, isolation, nodes, workloads

TERMS = ("clbp", "vector-dot", "adaptive", "load-aware")
CALLS, WARM = 1500, 200
MOST_MS = {1000: 10.0, 5000: 25.0}  # of filter and prioritize together, 99 of 100 pods
MOST_RATIO = 1.35  # time of the scheduling algorithm with the extender over that without
NODES, DEPLOYMENTS, REPLICAS, ROUNDS = 1000, 20, 100, 5
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
    """Return limits over what was measured: 1 and more is within them."""
    figures = {
        f"limit_over_p99_{count}_names_{term}": most / answer_ms(term, count)
        for count, most in MOST_MS.items()
        for term in TERMS
    }
    ratios = scheduling_ratios(("clbp", "vector-dot"))
    return figures | {
        f"limit_over_scheduling_ratio_{term}": MOST_RATIO / ratio for term, ratio in ratios.items()
    }


def answer_ms(term: str, count: int) -> float:
    """Return the time of filter and prioritize together that 99 of 100 pods stay below."""
    with _served(term, count) as port:
        caller = http.client.HTTPConnection("127.0.0.1", port)
        names = [_name(i) for i in range(count)]
        took_s = []
        for number in range(CALLS + WARM):
            pod = _pod(f"pod-{number}")
            body = json.dumps({"Pod": pod, "Nodes": None, "NodeNames": names}).encode()
            began_s = time.perf_counter()
            for verb in (apps.FILTER, apps.PRIORITIZE):
                caller.request("POST", verb, body, {"Content-Type": "application/json"})
                caller.getresponse().read()
            took_s.append(time.perf_counter() - began_s)
        caller.close()
    return float(np.quantile(took_s[WARM:], 0.99)) * 1000.0


@contextlib.contextmanager
def _served(term: str, count: int) -> Iterator[int]:
    """Serve in a process of its own: whoever asks must not hold it up."""
    ours, theirs = multiprocessing.Pipe()
    serving = multiprocessing.get_context("spawn").Process(
        target=_serve, args=(term, count, theirs)
    )
    serving.start()
    try:
        yield int(ours.recv())
    finally:
        serving.terminate()
        serving.join()


def _serve(term: str, count: int, told: Connection) -> None:
    cache = cluster_caches.ClusterCache(versions.features())
    cache.replace("Node", [nodes.document(_name(i), OFFER) for i in range(count)])
    judge = judges.Judge(cache, term_registry.make(term), None, _forget)
    metrics = telemetry.Telemetry("extender")
    edge = apps.Edge(judge, metrics)
    chosen = settings.Settings(drain_s=0.0, grace_s=1.0)
    server = running.Server(edge.routes(), chosen, metrics, quick=edge.handlers())
    told.send(server.port)
    running.run(running.serve(server))


def _forget(_: object) -> None:
    """Keep no record."""


def _name(number: int) -> str:
    return f"node-{number:04}"


def _pod(name: str) -> dict[str, Any]:
    made = workloads.pod(name, REQUESTS)
    made["metadata"] |= {"uid": name, "namespace": "default"}
    return made


def scheduling_ratios(terms: tuple[str, ...]) -> dict[str, float]:
    """Return the median time of the algorithm by term, over the median without the extender."""
    if not isolation.isolate():
        raise RuntimeError("no network of its own could be made; run as root")
    found: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        clusters.run(Path(folder)) as cluster,
    ):
        nodes.make(cluster, [nodes.document(_name(i), OFFER) for i in range(NODES)])
        for number in range(ROUNDS):
            for term in ("stock", *terms):
                took_s = _schedule(cluster, Path(folder), term, f"round-{number}-{term}")
                found.setdefault(term, []).append(took_s)
                sys.stderr.write(f"{term}: {1000.0 * took_s:.2f} ms a pod\n")
    stock_s = statistics.median(found.pop("stock"))
    return {term: statistics.median(times_s) / stock_s for term, times_s in found.items()}


def _schedule(cluster: clusters.Cluster, folder: Path, term: str, namespace: str) -> float:
    """Return the mean time that the scheduling algorithm takes for a pod."""
    with contextlib.ExitStack() as stack:
        if term == "stock":
            cluster.configure_scheduler({})
        else:
            options = (f"--term={term}", f"--kubeconfig={cluster.kubeconfig}", "--loads-every=0s")
            _, url = stack.enter_context(commands.serve(folder, "extender", *options))
            profile = catalogs.profile(term)
            cluster.configure_scheduler(extender_configurations.write(profile, url))
        cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        for number in range(DEPLOYMENTS):
            made = workloads.deployment(f"app-{number}", REPLICAS, REQUESTS)
            workloads.create(cluster, namespace, made)
        wanted = DEPLOYMENTS * REPLICAS
        clusters.wait_for(lambda: _algorithm(cluster)[1] >= wanted, _READY_S, 0.5)
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


def main() -> int:
    """Print the figures, and write them to a file if one is named."""
    figures = measure()
    sys.stdout.write(yaml.safe_dump(figures, sort_keys=False))
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
