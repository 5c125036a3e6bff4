"""The metrics API as a process with the rights of its manifests, registered with the API server.

Each module that runs one gives it a namespace; every name that counts in the whole cluster begins
with it. Only the APIServices have fixed names, so no two servers may run at the same time.
"""

from __future__ import annotations

import contextlib
import json
import ssl
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from kubestow.live.certificates import sources
from kubestow.live.metrics_api import manifests
from testenv import clusters, commands
from testenv.processes import Process
from testenv.prometheus_servers import free_port

CUSTOM = "/apis/custom.metrics.k8s.io"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_SERVICE, _SECRET = "metrics", "certificates"
_READY_S = 60.0


@dataclass(frozen=True, slots=True)
class Served:
    """The running server."""

    url: str
    process: Process
    writer: httpx.Client

    def write(self, path: str, value: float | str, **query: str) -> None:
        """Write a value as someone who may."""
        result = self.writer.post(f"/write-metrics/{path}", content=json.dumps(value), params=query)
        assert result.status_code == httpx.codes.OK, result.text


@contextlib.contextmanager
def serve(
    cluster: clusters.Cluster,
    folder: Path,
    home: str,
    written: Iterable[tuple[str, str]],
    *options: str,
) -> Iterator[Served]:
    """Run the server with no more rights than its manifests give it, and register it.

    Args:
        cluster: Where it is registered.
        folder: For its log.
        home: Name of the namespace that is made for it, and of the user it is.
        written: Resources and metrics that may be written, such as ``("pods", "rate")``.
        options: Further options of the command, such as its rules.
    """
    port = free_port()
    cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": home}})
    arguments = (
        f"--namespace={home}",
        f"--service={_SERVICE}",
        f"--secret={_SECRET}",
        f"--kubeconfig={_user(cluster, home)}",
        *options,
    )
    serving = commands.serve(folder, "metrics-api", *arguments, port=port, tls=True)
    with _registered(cluster, home, port), serving as (process, url):
        clusters.wait_for(lambda: _available(cluster), _READY_S)
        headers = {"Authorization": f"Bearer {_token(cluster, home, written)}"}
        with direct(url, headers) as writer:
            yield Served(url, process, writer)


def direct(url: str, headers: dict[str, str] | None = None) -> httpx.Client:
    """Return a client that goes past the API server."""
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    return httpx.Client(base_url=url, headers=headers, verify=trust, trust_env=False)


def grant(
    cluster: clusters.Cluster,
    name: str,
    subject: dict[str, str],
    rules: list[dict[str, Any]],
    namespace: str = "",
) -> None:
    """Allow something in a namespace, or without one in the whole cluster."""
    kind = "Role" if namespace else "ClusterRole"
    place = f"{_RBAC}/namespaces/{namespace}" if namespace else _RBAC
    about = {"metadata": {"name": name}}
    cluster.request("POST", f"{place}/{kind.lower()}s", {**about, "rules": rules})
    _bind(cluster, name, subject, kind, name, namespace)


def _bind(
    cluster: clusters.Cluster,
    name: str,
    subject: dict[str, str],
    kind: str,
    role: str,
    namespace: str = "",
) -> None:
    place = f"{_RBAC}/namespaces/{namespace}/role" if namespace else f"{_RBAC}/clusterrole"
    reference = {"kind": kind, "name": role, "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": name}, "subjects": [subject], "roleRef": reference}
    cluster.request("POST", f"{place}bindings", binding)


@contextlib.contextmanager
def _registered(cluster: clusters.Cluster, home: str, port: int) -> Iterator[None]:
    services = f"/api/v1/namespaces/{home}/services"
    spec = {"type": "ExternalName", "externalName": "localhost"}
    cluster.request("POST", services, {"metadata": {"name": _SERVICE}, "spec": spec})
    base = "/apis/apiregistration.k8s.io/v1/apiservices"
    made = manifests.api_services(home, _SERVICE, port)
    for each in made:
        cluster.request("POST", base, each)
    try:
        yield
    finally:
        for each in made:
            cluster.request("DELETE", f"{base}/{each['metadata']['name']}")


def _available(cluster: clusters.Cluster) -> bool:
    return all(
        cluster.client.get(path).is_success
        for path in (f"{CUSTOM}/v1beta1", f"{CUSTOM}/v1beta2", EXTERNAL)
    )


def _user(cluster: clusters.Cluster, home: str) -> Path:
    """Return a kubeconfig for a user who may do what the manifests say, and nothing else."""
    subject = {"kind": "User", "name": home, "apiGroup": "rbac.authorization.k8s.io"}
    grant(cluster, home, subject, manifests.cluster_rules())
    grant(cluster, home, subject, sources.secret_rules(_SECRET), home)
    _bind(cluster, home, subject, "Role", manifests.READER, "kube-system")
    return cluster.add_user(home)


def _token(cluster: clusters.Cluster, home: str, written: Iterable[tuple[str, str]]) -> str:
    """Return a token of a service account that may write a few metrics."""
    accounts = f"/api/v1/namespaces/{home}/serviceaccounts"
    cluster.request("POST", accounts, {"metadata": {"name": "writer"}})
    subject = {"kind": "ServiceAccount", "name": "writer", "namespace": home}
    rules = [rule for each in written for rule in manifests.writer_rules(*each)]
    grant(cluster, f"{home}-writer", subject, rules)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    result = cluster.request("POST", f"{accounts}/writer/token", asked)
    return str(result["status"]["token"])
