"""``metrics.k8s.io`` for tests: like metrics-server, with values set by the test."""

from __future__ import annotations

import contextlib
import datetime as dt
import http.server
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from testenv import authorities
from testenv.clusters import Cluster, wait_for

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
_NAMESPACE, _SERVICE = "kube-system", "resource-metrics"
_WINDOW = "15s"

Use = tuple[int, int]
"""Millicores, bytes."""


class ResourceMetrics:
    """Usage of nodes and pods; the time of an entry is when it is set."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[str, Any]] = {}
        self._pods: dict[tuple[str, str], dict[str, Any]] = {}

    def set_node(self, name: str, cpu_m: int, memory_bytes: int) -> None:
        """Set the usage of a node."""
        self._nodes[name] = {
            "metadata": {"name": name},
            **_measured(),
            "usage": _usage((cpu_m, memory_bytes)),
        }

    def set_pod(
        self,
        namespace: str,
        name: str,
        containers: Mapping[str, Use],
        labels: Mapping[str, str] | None = None,
    ) -> None:
        """Set the usage of the containers of a pod."""
        metadata = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
        used = [{"name": each, "usage": _usage(use)} for each, use in containers.items()]
        self._pods[namespace, name] = {"metadata": metadata, **_measured(), "containers": used}

    def answer(self, path: str, selector: str) -> dict[str, Any] | None:
        """Return the document at a path; ``None`` if there is none."""
        base = f"/apis/{GROUP}/{VERSION}"
        if path == base:
            return _discovery()
        parts = path.removeprefix(base).strip("/").split("/")
        pods = [pod for pod in self._pods.values() if _matches(pod, selector)]
        match parts:
            case ["nodes"]:
                return _list("NodeMetricsList", list(self._nodes.values()))
            case ["nodes", name]:
                return _single("NodeMetrics", self._nodes.get(name))
            case ["pods"]:
                return _list("PodMetricsList", pods)
            case ["namespaces", space, "pods"]:
                return _list(
                    "PodMetricsList", [p for p in pods if p["metadata"]["namespace"] == space]
                )
            case ["namespaces", space, "pods", name]:
                return _single("PodMetrics", self._pods.get((space, name)))
        return None


@contextlib.contextmanager
def serve(cluster: Cluster) -> Iterator[ResourceMetrics]:
    """Serve metrics through the aggregation layer of the API server."""
    metrics = ResourceMetrics()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Respond to a request."""
            parts = urlsplit(self.path)
            selector = parse_qs(parts.query).get("labelSelector", [""])[0]
            document = metrics.answer(parts.path, selector)
            body = json.dumps(
                document or {"kind": "Status", "status": "Failure", "code": 404}
            ).encode()
            self.send_response(200 if document else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    authority = authorities.Authority(cluster.folder / "resource-metrics", "metrics-ca")
    pair = authority.server("metrics", (f"{_SERVICE}.{_NAMESPACE}.svc",))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        with _registered(cluster, server.server_address[1], authority):
            yield metrics
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def _registered(cluster: Cluster, port: int, authority: authorities.Authority) -> Iterator[None]:
    """Register a port on loopback with the aggregator, through a Service of type ExternalName."""
    services = f"/api/v1/namespaces/{_NAMESPACE}/services"
    api_services = "/apis/apiregistration.k8s.io/v1/apiservices"
    name = f"{VERSION}.{GROUP}"
    cluster.request(
        "POST",
        services,
        {
            "metadata": {"name": _SERVICE},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        },
    )
    bundle = authority.bundle()
    spec = {
        "group": GROUP,
        "version": VERSION,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "caBundle": bundle,
        "service": {"name": _SERVICE, "namespace": _NAMESPACE, "port": port},
    }
    cluster.request("POST", api_services, {"metadata": {"name": name}, "spec": spec})
    try:
        path = f"/apis/{GROUP}/{VERSION}/nodes"
        wait_for(lambda: cluster.client.get(path).is_success, 30.0)
        yield
    finally:
        cluster.request("DELETE", f"{api_services}/{name}")
        cluster.request("DELETE", f"{services}/{_SERVICE}")


def _measured() -> dict[str, str]:
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"timestamp": now, "window": _WINDOW}


def _usage(use: Use) -> dict[str, str]:
    return {"cpu": f"{use[0]}m", "memory": str(use[1])}


def _list(kind: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}


def _single(kind: str, entry: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if entry is None else {"kind": kind, "apiVersion": f"{GROUP}/{VERSION}", **entry}


def _matches(pod: dict[str, Any], selector: str) -> bool:
    required = dict(pair.split("=", 1) for pair in selector.split(",") if pair)
    labels: dict[str, str] = pod["metadata"]["labels"]
    return required.items() <= labels.items()


def _discovery() -> dict[str, Any]:
    resources = [("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True)]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{GROUP}/{VERSION}",
        "resources": [
            {
                "name": name,
                "singularName": "",
                "namespaced": spaced,
                "kind": kind,
                "verbs": ["get", "list"],
            }
            for name, kind, spaced in resources
        ],
    }
