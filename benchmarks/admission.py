"""The admission webhook under load, called by the real API server during faults.

Pods are created at a steady rate for a minute: first without faults, then while the store hangs,
while it is down, and while the certificate is rotated. No creation may fail, and every pod must get
the learned requests. Latency is read from two histograms: that of the webhook, and that of the API
server, which includes its own work on the review and the patch. A webhook that only answers
(``answers``), run before and after, shows how much that is and how much the machine is disturbed.
Needs a Go toolchain (``make e2e`` builds the control plane) and PostgreSQL.

    python -m benchmarks.admission [FILE]     also writes the figures to FILE as JSON
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvloop

from benchmarks import answers, creations, outputs
from kubestow.live.admission import handler, manifests
from kubestow.live.stores import engines, recommendations
from kubestow.live.stores.recommendations import StoredRecommendation
from kubestow.model import quantities
from kubestow.model.keys import ContainerKey
from testenv import authorities, clusters, commands, isolation, postgresql_servers
from testenv.native_histograms import Edges, quantile
from testenv.processes import Process
from testenv.prometheus_servers import free_port

RATE, PHASE_S = 200, 15.0
NAMESPACE, WEBHOOK, ANSWERS = "load", "webhook", "answers"
_HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
_API_DURATION = "apiserver_admission_webhook_admission_duration_seconds"
_OWN_DURATION = "kubestow_admission_http_request_duration_seconds_bucket"
# As the API server encodes it; pods are created with other requests.
_CHANGED = b'"requests":{"cpu":"512m","memory":"1216M"}'
_OPEN = "apiserver_admission_webhook_fail_open_count"
# A patch of the same size as that of the webhook.
_RESOURCES = "/spec/containers/0/resources"
_PATCH = [
    {"op": "add", "path": f"{_RESOURCES}/requests/cpu", "value": "512m"},
    {"op": "add", "path": f"{_RESOURCES}/requests/memory", "value": "1216M"},
    {"op": "add", "path": f"{_RESOURCES}/limits", "value": {"memory": "1216M"}},
    {"op": "add", "path": "/metadata/annotations", "value": {"kubestow.io/changed": "." * 330}},
]


def measure() -> dict[str, float]:
    """Return shares that must be 1, and the latency of a webhook that only answers / ours."""
    figures = run()
    return {
        "answers_over_webhook_p50": figures["answers_p50_ms"] / figures["api_server_p50_ms"],
        "created_of_wanted": figures["created"] / figures["wanted"],
        "changed_or_counted_of_created": (figures["changed"] + figures["failed_open"])
        / max(figures["created"], 1.0),
    }


def run() -> dict[str, float]:
    """Return all counts and measurements."""
    if not isolation.isolate():
        raise RuntimeError("cannot create a network namespace; run as root")
    with (
        tempfile.TemporaryDirectory() as name,
        postgresql_servers.serve() as store,
        clusters.run(Path(name)) as cluster,
    ):
        # Pods are only created, not scheduled or run.
        cluster.processes[clusters.SCHEDULER].stop()
        cluster.processes[clusters.KUBELETS].stop()
        url = store.make_schema()
        _learn(url)
        _label(cluster)
        cluster.processes[
            clusters.CONTROLLERS
        ].stop()  # it has created the service account that pods need
        _load_answers(cluster, Path(name), "before")
        with _webhook(cluster, Path(name), url) as webhook:
            loads = _load(cluster, store, webhook.exchange)
            own = webhook.metrics()
        _load_answers(cluster, Path(name), "after")
        return _figures(cluster, own, loads)


def _learn(url: str) -> None:
    requests = {"cpu": quantities.parse("512m"), "memory": quantities.parse("1216M")}
    made = StoredRecommendation(time.time(), "percentile", requests, evidence=30)
    with engines.open_store(url) as store:
        recommendations.insert(store, ContainerKey(NAMESPACE, "id", "web", "main"), [made])


def _label(cluster: clusters.Cluster) -> None:
    metadata = {"name": NAMESPACE, "labels": {"kubestow.io/managed": "true"}}
    cluster.request("POST", "/api/v1/namespaces", {"metadata": metadata})
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    clusters.wait_for(lambda: cluster.request("GET", account, missing=True) is not None, 30.0)


@dataclass(frozen=True, slots=True)
class _Webhook:
    """A running webhook.

    Attributes:
        exchange: Rotates its certificate.
        metrics: Returns its metrics.
    """

    exchange: Callable[[], None]
    metrics: Callable[[], str]


@contextlib.contextmanager
def _webhook(cluster: clusters.Cluster, folder: Path, store: str) -> Iterator[_Webhook]:
    """Run and register the webhook."""
    authority = authorities.Authority(folder / "webhook", "webhook-ca")
    pair, port = authority.server("webhook", ("127.0.0.1",)), free_port()
    arguments = [
        f"--store={store}",
        "--certificates=files",
        str(pair.certificate),
        str(pair.key),
        f"--kubeconfig={cluster.kubeconfig}",
    ]

    def exchange() -> None:
        other = authority.server("other", ("127.0.0.1",))
        shutil.copy(other.key, pair.key)
        shutil.copy(other.certificate, pair.certificate)

    trust = ssl.create_default_context(cafile=authority.pair.certificate)
    with (
        commands.serve(folder, "admission", *arguments, port=port, tls=True) as (_, url),
        _registered(cluster, WEBHOOK, authority, port),
    ):
        yield _Webhook(
            exchange, lambda: httpx.get(f"{url}/metrics", verify=trust, trust_env=False).text
        )


@contextlib.contextmanager
def _registered(
    cluster: clusters.Cluster, name: str, authority: authorities.Authority, port: int
) -> Iterator[None]:
    """Register a webhook for new pods, under a name that appears in the metrics."""
    configuration = manifests.webhook_configuration(name, "kubestow-system", "web")
    for each in configuration["webhooks"]:
        each["name"] = f"{name}.kubestow.io"
        address = f"https://127.0.0.1:{port}{handler.PATH}"
        each["clientConfig"] = {"url": address, "caBundle": authority.bundle()}
    cluster.request("POST", _HOOKS, configuration)
    try:
        clusters.wait_for(lambda: _is_changed(_probe(cluster)), 60.0)
        yield
    finally:
        cluster.request("DELETE", f"{_HOOKS}/{name}")
        clusters.wait_for(lambda: not _is_changed(_probe(cluster)), 60.0)


def _load_answers(cluster: clusters.Cluster, folder: Path, when: str) -> None:
    """Create pods at the same rate with a webhook that only answers."""
    authority = authorities.Authority(folder / "answers", "answers-ca")
    pair, port = authority.server("answers", ("127.0.0.1",)), free_port()
    files = (str(pair.certificate), str(pair.key), str(port), json.dumps(_PATCH))
    command = [sys.executable, "-m", answers.__name__, *files]
    server = Process(ANSWERS, command, folder / "answers.log")
    server.start()
    try:
        with _registered(cluster, ANSWERS, authority, port):
            _create(cluster, [_pod(when, n) for n in range(int(RATE * PHASE_S * 2))], {})
    finally:
        server.stop()


def _pod(name: str, number: int) -> dict[str, Any]:
    labels = {"kubestow.io/managed": "true", "kubestow.io/id": "web"}
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": "250m"}}}
    metadata = {"name": f"{name}-{number}", "labels": labels}
    return {"metadata": metadata, "spec": {"containers": [container]}}


def _probe(cluster: clusters.Cluster) -> dict[str, Any]:
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?dryRun=All"
    pod: dict[str, Any] = cluster.request("POST", path, _pod("probe", 0))
    return pod


def _is_changed(pod: dict[str, Any]) -> bool:
    requested = pod["spec"]["containers"][0]["resources"]["requests"]
    return bool(requested == {"cpu": "512m", "memory": "1216M"})


def _load(
    cluster: clusters.Cluster, store: postgresql_servers.Server, exchange: Callable[[], None]
) -> list[creations.Creation]:
    """Create pods at a steady rate while one fault follows the other."""
    held: list[int] = []  # a new process changes its name, and pgrep would miss it later

    def hang() -> None:
        held.extend(_pids(store))
        _signal(held, signal.SIGSTOP)

    def fall() -> None:
        _signal(held, signal.SIGCONT)
        store.stop(signal.SIGQUIT)  # other signals wait for its children, sometimes for long

    def rotate() -> None:
        store.start()
        exchange()

    troubles, count = (hang, fall, rotate), int(RATE * PHASE_S)
    happening = {count * (place + 1): trouble for place, trouble in enumerate(troubles)}
    return _create(cluster, [_pod("web", number) for number in range(count * 4)], happening)


def _create(
    cluster: clusters.Cluster,
    pods: list[dict[str, Any]],
    happening: Mapping[int, Callable[[], None]],
) -> list[creations.Creation]:
    keys = cluster.folder / "pki"
    trust = ssl.create_default_context(cafile=cluster.authority.pair.certificate)
    trust.load_cert_chain(keys / "admin.crt", keys / "admin.key")
    path = f"/api/v1/namespaces/{NAMESPACE}/pods"
    bodies = [json.dumps(pod).encode() for pod in pods]
    return uvloop.run(creations.create(cluster.url, path, trust, bodies, RATE, happening))


def _pids(store: postgresql_servers.Server) -> list[int]:
    """Return the processes whose command line names the folder of the server."""
    listed = subprocess.run(  # noqa: S603 - a system program
        ["pgrep", "-f", str(store.folder)],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(pid) for pid in listed.stdout.split()]


def _signal(pids: list[int], what: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, what)


def _figures(
    cluster: clusters.Cluster, own: str, loads: list[creations.Creation]
) -> dict[str, float]:
    """Return figures from the metrics of the API server and the webhook, and from responses."""
    api, took_s = cluster.metrics(clusters.API), [each.took_s for each in loads]
    opened = re.findall(rf"^{_OPEN}\{{.*{WEBHOOK}.*\}} (\S+)$", api, re.MULTILINE)
    webhook, least = (
        cluster.histogram(_API_DURATION, {"name": f"{name}.kubestow.io"})
        for name in (WEBHOOK, ANSWERS)
    )
    took = _buckets(own, rf'{_OWN_DURATION}\{{le="([^"]+)"\}}')
    return {
        "wanted": float(len(loads)),
        "created": float(sum(each.status == creations.CREATED for each in loads)),
        "changed": float(sum(_CHANGED in each.answer for each in loads)),
        "failed_open": sum(map(float, opened)),
        "webhook_p50_ms": 1000.0 * quantile(took, 0.5),
        "webhook_p99_ms": 1000.0 * quantile(took, 0.99),
        "api_server_p50_ms": 1000.0 * quantile(webhook, 0.5),
        "api_server_p99_ms": 1000.0 * quantile(webhook, 0.99),
        "answers_p50_ms": 1000.0 * quantile(least, 0.5),
        "answers_p99_ms": 1000.0 * quantile(least, 0.99),
        "creation_p50_ms": 1000.0 * float(np.quantile(took_s, 0.5)),
        "creation_p99_ms": 1000.0 * float(np.quantile(took_s, 0.99)),
    }


def _buckets(text: str, pattern: str) -> Edges:
    """Return cumulative counts by upper bound in seconds."""
    counts: Edges = {}
    for edge, count in re.findall(rf"^{pattern} (\S+)$", text, re.MULTILINE):
        counts[float(edge)] = counts.get(float(edge), 0.0) + float(count)
    return counts


if __name__ == "__main__":
    sys.exit(outputs.write(run()))
