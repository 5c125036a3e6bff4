"""A metrics server for tests: resource, custom and external metrics, computed by a function.

It is registered with the API server as APIServices (a Service of type ExternalName, see
REAL-CLUSTER.md of the design) and listens on loopback only; clients are not authenticated.
"""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from testenv import clusters

RESOURCE, CUSTOM, EXTERNAL = "metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"
VERSIONS = {RESOURCE: "v1beta1", CUSTOM: "v1beta2", EXTERNAL: "v1beta1"}
_SERVICE, _NAMESPACE = "parity-metrics", "default"
_AVAILABLE_S = 60.0
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Question:
    """A query of the metrics APIs.

    Attributes:
        group: API group.
        namespace: Namespace of the pods or the described object.
        metric: Name of the metric; empty for resource metrics, which come together.
        selector: Selector of pods, or of an external metric.
    """

    group: str
    namespace: str
    metric: str
    selector: str


Answer = Callable[[Question], list[Json] | None]  # items; None if there is no value


@contextlib.contextmanager
def serve(cluster: clusters.Cluster, answer: Answer) -> Iterator[None]:
    """Serve the metrics APIs of a cluster until the end of the context."""
    pair = cluster.authority.server("parity-metrics", (f"{_SERVICE}.{_NAMESPACE}.svc",))
    server = _Server(("127.0.0.1", 0), _handler(answer))
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(pair.certificate, pair.key)
    # The thread of each connection does the handshake.
    server.socket = trust.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        _register(cluster, server.server_address[1])
        yield
    finally:
        server.shutdown()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that clients drop."""


def _register(cluster: clusters.Cluster, port: int) -> None:
    ports = [{"name": "https", "port": port}]
    spec = {"type": "ExternalName", "externalName": "localhost", "ports": ports}
    path = f"/api/v1/namespaces/{_NAMESPACE}/services"
    cluster.request("POST", path, {"metadata": {"name": _SERVICE}, "spec": spec})
    for group, version in VERSIONS.items():
        service = {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "caBundle": cluster.authority.bundle(),
            "service": {"name": _SERVICE, "namespace": _NAMESPACE, "port": port},
        }
        made = {"metadata": {"name": f"{version}.{group}"}, "spec": service}
        cluster.request("POST", "/apis/apiregistration.k8s.io/v1/apiservices", made)
    clusters.wait_for(lambda: all(_is_available(cluster, g) for g in VERSIONS), _AVAILABLE_S)


def _is_available(cluster: clusters.Cluster, group: str) -> bool:
    name = f"{VERSIONS[group]}.{group}"
    service = cluster.request("GET", f"/apis/apiregistration.k8s.io/v1/apiservices/{name}")
    conditions = service.get("status", {}).get("conditions", [])
    return any(c["type"] == "Available" and c["status"] == "True" for c in conditions)


def read_question(target: str) -> Question | None:
    """Return the metrics query of a path with its query string; ``None`` for other paths."""
    url = urllib.parse.urlsplit(target)
    parts = [urllib.parse.unquote(part) for part in url.path.split("/")[1:]]
    query = urllib.parse.parse_qs(url.query)
    selector = query.get("labelSelector", [""])[0]
    match parts:
        case ["apis", group, _, "namespaces", namespace, "pods"] if group == RESOURCE:
            return Question(group, namespace, "", selector)
        case ["apis", group, _, "namespaces", namespace, _, _, metric] if group == CUSTOM:
            return Question(group, namespace, metric, selector)
        case ["apis", group, _, "namespaces", namespace, metric] if group == EXTERNAL:
            return Question(group, namespace, metric, selector)
    return None


def _handler(answer: Answer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections are kept

        def do_GET(self) -> None:
            question = read_question(self.path)
            if question is None:
                self._respond(*_discovery(self.path))
                return
            items = answer(question)
            if items is None:
                self._respond(HTTPStatus.NOT_FOUND, _failure())
            else:
                self._respond(HTTPStatus.OK, _list(question.group, items))

        def _respond(self, status: HTTPStatus, body: Json) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is given
            """Log nothing."""

    return Handler


def _list(group: str, items: list[Json]) -> Json:
    kinds = {
        RESOURCE: "PodMetricsList",
        CUSTOM: "MetricValueList",
        EXTERNAL: "ExternalMetricValueList",
    }
    version = f"{group}/{VERSIONS[group]}"
    return {"kind": kinds[group], "apiVersion": version, "metadata": {}, "items": items}


def _failure() -> Json:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "NotFound",
        "message": "there is no value",
        "code": int(HTTPStatus.NOT_FOUND),
    }


def _discovery(target: str) -> tuple[HTTPStatus, Json]:
    parts = urllib.parse.urlsplit(target).path.strip("/").split("/")
    match parts:
        case ["apis", group, version] if VERSIONS.get(group) == version:
            kind = {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics"}
            resources = [{**kind, "verbs": ["get", "list"]}]
            head = {"kind": "APIResourceList", "apiVersion": "v1"}
            return HTTPStatus.OK, {
                **head,
                "groupVersion": f"{group}/{version}",
                "resources": resources,
            }
    return HTTPStatus.NOT_FOUND, _failure()
