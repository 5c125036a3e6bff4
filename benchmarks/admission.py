"""The admission webhook under load, called by the real API server while things go wrong.

Pods are created at a steady pace for a minute: first in peace, then while the store hangs, while it
is down, and while the certificate is exchanged. No creation may fail, and every pod has what was
learned. How long it takes is read from two histograms: that of the webhook, and that of the API
server, which counts its own work on the question and the patch, too. How much that is, and how much
the machine is disturbed, shows a webhook that only answers (``answers``), before and after. Needs a
Go toolchain (``make e2e`` builds the control plane) and PostgreSQL.

    python -m benchmarks.admission [FILE]     writes the figures to FILE as JSON, too
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
_SEEN = "apiserver_admission_webhook_admission_duration_seconds"
_TOOK = "kubestow_admission_http_request_duration_seconds_bucket"
# As the API server writes it; the requests that pods come with are others.
_CHANGED = b'"requests":{"cpu":"512m","memory":"1216M"}'
_OPEN = "apiserver_admission_webhook_fail_open_count"
# As much as the webhook says.
_RESOURCES = "/spec/containers/0/resources"
_PATCH = [
    {"op": "add", "path": f"{_RESOURCES}/requests/cpu", "value": "512m"},
    {"op": "add", "path": f"{_RESOURCES}/requests/memory", "value": "1216M"},
    {"op": "add", "path": f"{_RESOURCES}/limits", "value": {"memory": "1216M"}},
    {"op": "add", "path": "/metadata/annotations", "value": {"kubestow.io/changed": "." * 330}},
]


def measure() -> dict[str, float]:
    """Return shares that have to be one, as nothing fails, and what a mere answer takes by us."""
    figures = run()
    return {
        "answers_over_webhook_p50": figures["answers_p50_ms"] / figures["api_server_p50_ms"],
        "created_of_wanted": figures["created"] / figures["wanted"],
        "changed_or_counted_of_created": (figures["changed"] + figures["failed_open"])
        / max(figures["created"], 1.0),
    }


def run() -> dict[str, float]:
    """Return what was counted and measured."""
    if not isolation.isolate():
        raise RuntimeError("no network of its own could be made; run as root")
    with (
        tempfile.TemporaryDirectory() as name,
        postgresql_servers.serve() as store,
        clusters.run(Path(name)) as cluster,
    ):
        # Pods stay where they are: what counts here is their creation.
        cluster.processes[clusters.SCHEDULER].stop()
        cluster.processes[clusters.KUBELETS].stop()
        url = store.make_schema()
        _learn(url)
        _label(cluster)
        cluster.processes[clusters.CONTROLLERS].stop()  # it made the account pods need
        _load_answers(cluster, Path(name), "before")
        with _webhook(cluster, Path(name), url) as webhook:
            loads = _load(cluster, store, webhook.exchange)
            own = webhook.metrics()
        _load_answers(cluster, Path(name), "after")
        return _figures(cluster, own, loads)


def _learn(url: str) -> None:
    requests = {"cpu": quantities.parse("512m"), "memory": quantities.parse("1216M")}
    made = StoredRecommendation(time.time(), "percentile", requests)
    with engines.open_store(url) as store:
        recommendations.insert(store, ContainerKey(NAMESPACE, "id", "web", "main"), [made])


def _label(cluster: clusters.Cluster) -> None:
    metadata = {"name": NAMESPACE, "labels": {"kubestow.io/managed": "true"}}
    cluster.request("POST", "/api/v1/namespaces", {"metadata": metadata})
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
    clusters.wait_for(lambda: cluster.request("GET", account, missing=True) is not None, 30.0)


@dataclass(frozen=True, slots=True)
class _Webhook:
    """A webhook that runs.

    Attributes:
        exchange: Gives it another certificate.
        metrics: Returns what it says of itself.
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
    """Let the API server ask a webhook about new pods, under a name that its metrics tell."""
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
    """Create pods at the same pace with a webhook that only answers."""
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
    found: dict[str, Any] = cluster.request("POST", path, _pod("probe", 0))
    return found


def _is_changed(pod: dict[str, Any]) -> bool:
    requested = pod["spec"]["containers"][0]["resources"]["requests"]
    return bool(requested == {"cpu": "512m", "memory": "1216M"})


def _load(
    cluster: clusters.Cluster, store: postgresql_servers.Server, exchange: Callable[[], None]
) -> list[creations.Creation]:
    """Create pods at a steady pace while one thing after the other goes wrong."""
    held: list[int] = []  # a process that was just born changes its name, and is not found again

    def hang() -> None:
        held.extend(_pids(store))
        _signal(held, signal.SIGSTOP)

    def fall() -> None:
        _signal(held, signal.SIGCONT)
        store.stop(signal.SIGQUIT)  # the other ways wait for its children, now and then for long

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
    wanted = [json.dumps(pod).encode() for pod in pods]
    return uvloop.run(creations.create(cluster.url, path, trust, wanted, RATE, happening))


def _pids(store: postgresql_servers.Server) -> list[int]:
    """Return the processes that name the server's folder."""
    found = subprocess.run(  # noqa: S603 - a program of the system
        ["pgrep", "-f", str(store.folder)],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(pid) for pid in found.stdout.split()]


def _signal(pids: list[int], what: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, what)


def _figures(
    cluster: clusters.Cluster, own: str, loads: list[creations.Creation]
) -> dict[str, float]:
    """Return figures from the metrics of the API server and of the webhook, and from answers."""
    api, took_s = cluster.metrics(clusters.API), [each.took_s for each in loads]
    opened = re.findall(rf"^{_OPEN}\{{.*{WEBHOOK}.*\}} (\S+)$", api, re.MULTILINE)
    seen, least = (
        cluster.histogram(_SEEN, {"name": f"{name}.kubestow.io"}) for name in (WEBHOOK, ANSWERS)
    )
    took = _buckets(own, rf'{_TOOK}\{{le="([^"]+)"\}}')
    return {
        "wanted": float(len(loads)),
        "created": float(sum(each.status == creations.CREATED for each in loads)),
        "changed": float(sum(_CHANGED in each.answer for each in loads)),
        "failed_open": sum(map(float, opened)),
        "webhook_p50_ms": 1000.0 * quantile(took, 0.5),
        "webhook_p99_ms": 1000.0 * quantile(took, 0.99),
        "api_server_p50_ms": 1000.0 * quantile(seen, 0.5),
        "api_server_p99_ms": 1000.0 * quantile(seen, 0.99),
        "answers_p50_ms": 1000.0 * quantile(least, 0.5),
        "answers_p99_ms": 1000.0 * quantile(least, 0.99),
        "creation_p50_ms": 1000.0 * float(np.quantile(took_s, 0.5)),
        "creation_p99_ms": 1000.0 * float(np.quantile(took_s, 0.99)),
    }


def _buckets(text: str, pattern: str) -> Edges:
    """Return how many took at most so long, in seconds."""
    counts: Edges = {}
    for edge, count in re.findall(rf"^{pattern} (\S+)$", text, re.MULTILINE):
        counts[float(edge)] = counts.get(float(edge), 0.0) + float(count)
    return counts


if __name__ == "__main__":
    sys.exit(outputs.write(run()))
