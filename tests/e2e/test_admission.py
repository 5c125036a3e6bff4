"""The admission webhook with the real API server: rights, certificates, changes, faults."""

from __future__ import annotations

import contextlib
import hashlib
import json
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubestow.live.admission import handler, manifests
from kubestow.live.certificates import sources
from kubestow.model.keys import ContainerKey
from testenv import clusters, commands, nodes, workloads
from testenv.processes import Process
from testenv.prometheus_servers import free_port
from tests.live.admission import make

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

HOME, SECRET, USER = "kubestow-system", "certificates", "admission"
MANAGED = {"kubestow.io/managed": "true"}
ASKED = {"cpu": "250m", "memory": "128Mi"}


@dataclass(frozen=True, slots=True)
class Hook:
    """A webhook that the API server calls."""

    name: str
    url: str
    process: Process
    store: str


@pytest.fixture
def labelled(cluster: clusters.Cluster, namespace: str) -> str:
    """Return the test's namespace, with the label."""
    change = {"metadata": {"labels": MANAGED}}
    merge = "application/merge-patch+json"
    cluster.request("PATCH", f"/api/v1/namespaces/{namespace}", change, content=merge)
    return namespace


@pytest.fixture
def home(cluster: clusters.Cluster) -> str:
    """Return the namespace the webhook lives in."""
    if cluster.request("GET", f"/api/v1/namespaces/{HOME}", missing=True) is None:
        cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": HOME}})
    return HOME


@pytest.fixture
def hook(
    cluster: clusters.Cluster,
    labelled: str,
    home: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Hook]:
    """Run a webhook with no more rights than its manifests give it, and register it.

    A parameter is its reinvocationPolicy.
    """
    store = f"sqlite:///{tmp_path}/store.db"
    make.keep(store, ContainerKey(labelled, "id", "web", "main"))
    name, port = f"kubestow-{labelled}", free_port()
    configuration = manifests.webhook_configuration(name, home, "web")
    for each in configuration["webhooks"]:
        each["reinvocationPolicy"] = getattr(request, "param", each["reinvocationPolicy"])
        each["clientConfig"] = {"url": f"https://127.0.0.1:{port}{handler.PATH}"}
    base = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    cluster.request("POST", base, configuration)
    kubeconfig = _user(cluster, name)
    arguments = _arguments(store, name, kubeconfig)
    try:
        with commands.serve(tmp_path, "admission", *arguments, port=port, tls=True) as served:
            process, url = served
            result = Hook(name, url, process, store)
            clusters.wait_for(lambda: _is_called(cluster, labelled), 60)
            yield result
    finally:
        cluster.request("DELETE", f"{base}/{name}")
        with contextlib.suppress(RuntimeError):
            cluster.request("DELETE", f"/api/v1/namespaces/{home}/secrets/{SECRET}")


def _arguments(store: str, name: str, kubeconfig: Path) -> list[str]:
    return [
        f"--store={store}",
        f"--webhook={name}",
        f"--namespace={HOME}",
        "--service=web",
        f"--secret={SECRET}",
        "--host-name=127.0.0.1",
        f"--kubeconfig={kubeconfig}",
        "--refresh=100ms",
        "--drain=10ms",
    ]


def _user(cluster: clusters.Cluster, webhook: str) -> Path:
    """Return a kubeconfig for a user who may do what the manifests say, and nothing else."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    subject = {"kind": "User", "name": USER, "apiGroup": "rbac.authorization.k8s.io"}
    whole, inner = manifests.cluster_rules(webhook), sources.secret_rules(SECRET)
    for place, kind, rules in (
        (rbac, "ClusterRole", whole),
        (f"{rbac}/namespaces/{HOME}", "Role", inner),
    ):
        path = f"{place}/{kind.lower()}s"
        name = {"metadata": {"name": webhook}}
        cluster.request("POST", path, {**name, "rules": rules})
        reference = {"kind": kind, "name": webhook, "apiGroup": "rbac.authorization.k8s.io"}
        binding = {**name, "subjects": [subject], "roleRef": reference}
        cluster.request("POST", f"{place}/{kind.lower()}bindings", binding)
    return cluster.add_user(USER)


def _is_called(cluster: clusters.Cluster, namespace: str) -> bool:
    """Tell whether the API server calls the webhook: it learns of certificates a little later."""
    return "annotations" in _create(cluster, namespace, "probe", dry=True)["metadata"]


def _create(
    cluster: clusters.Cluster,
    namespace: str,
    name: str,
    labels: dict[str, str] | None = None,
    *,
    dry: bool = False,
    limits: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Create a pod of the workload ``web`` and return it as the API server keeps it."""
    given = {**(MANAGED if labels is None else labels), "kubestow.io/id": "web"}
    made = workloads.pod(name, ASKED, labels=given)
    made["spec"]["containers"][0]["resources"]["limits"] = limits or {}
    path = f"/api/v1/namespaces/{namespace}/pods{'?dryRun=All' if dry else ''}"
    result: dict[str, Any] = cluster.request("POST", path, made)
    return result


def _resources(pod: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = pod["spec"]["containers"][0]["resources"]
    return result


def test_a_pod_starts_once_with_what_was_learned(
    cluster: clusters.Cluster, labelled: str, hook: Hook
) -> None:
    nodes.make(cluster, [nodes.document("node1")])
    made = _create(cluster, labelled, "web-1", limits={"cpu": "500m", "memory": "256Mi"})
    assert _resources(made) == {
        "requests": {"cpu": "512m", "memory": "1216M"},
        "limits": {"memory": "1216M"},
    }
    note = json.loads(made["metadata"]["annotations"]["kubestow.io/changed"])
    assert note["containers"]["main"]["changes"]["requests.cpu"] == {"old": "250m", "new": "512m"}

    def running() -> dict[str, Any] | None:
        (pod,) = workloads.pods(cluster, labelled)
        return pod if pod["status"]["phase"] == "Running" else None

    clusters.wait_for(lambda: running() is not None, 60)
    pod = running()
    assert pod is not None
    assert pod["metadata"]["uid"] == made["metadata"]["uid"]
    assert [each["restartCount"] for each in pod["status"]["containerStatuses"]] == [0]
    assert _resources(pod) == _resources(made)


def test_only_labelled_pods_in_labelled_namespaces_are_changed(
    cluster: clusters.Cluster, labelled: str, hook: Hook
) -> None:
    assert _resources(_create(cluster, labelled, "plain", {}))["requests"] == ASKED
    assert _resources(_create(cluster, "default", "elsewhere", dry=True))["requests"] == ASKED


def test_a_dead_webhook_does_not_stop_pods(
    cluster: clusters.Cluster, labelled: str, hook: Hook
) -> None:
    hook.process.stop()
    assert _resources(_create(cluster, labelled, "web-1"))["requests"] == ASKED


@pytest.mark.parametrize("hook", ["IfNeeded", "Never"], indirect=True)
def test_defaults_of_a_limit_range_do_not_refuse_a_changed_pod(
    cluster: clusters.Cluster, labelled: str, hook: Hook
) -> None:
    # Were the limit taken away, the API server would fill in the default again, 300m. That is less
    # than the request of 512m: the pod would be refused, unless the webhook is called once more.
    item = {"type": "Container", "default": {"cpu": "300m"}, "defaultRequest": {"cpu": "100m"}}
    body = {"metadata": {"name": "range"}, "spec": {"limits": [item]}}
    cluster.request("POST", f"/api/v1/namespaces/{labelled}/limitranges", body)

    def known() -> bool:
        return "limits" in _resources(_create(cluster, labelled, "probe", {}, dry=True))

    clusters.wait_for(known, 60)  # the API server reads its own LimitRanges from a cache
    made = _create(cluster, labelled, "web-1")
    assert _resources(made)["requests"]["cpu"] == "512m"
    assert _resources(made)["limits"]["cpu"] == "512m"


def test_replicas_share_one_certificate(
    cluster: clusters.Cluster, labelled: str, hook: Hook, tmp_path: Path
) -> None:
    arguments = _arguments(hook.store, hook.name, cluster.folder / f"{USER}.kubeconfig")
    with commands.serve(tmp_path, "admission", *arguments, tls=True) as (_, url):
        assert _fingerprint(url) == _fingerprint(hook.url)


def test_a_dry_run_of_the_api_server_has_no_side_effect(
    cluster: clusters.Cluster, labelled: str, hook: Hook
) -> None:
    from kubestow.live.stores import decisions, engines

    assert _resources(_create(cluster, labelled, "web-1", dry=True))["requests"]["cpu"] == "512m"
    hook.process.stop()  # writes what waits
    with engines.open_store(hook.store) as store:
        assert decisions.newest_decisions(store, f"workload/{labelled}/id/web") == ()


def _fingerprint(url: str) -> str:
    host, _, port = url.removeprefix("https://").partition(":")
    return hashlib.sha256(ssl.get_server_certificate((host, int(port))).encode()).hexdigest()
