"""An installation on the real API server: every object accepted, rights that suffice, no more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from kubestow.live.admission import handler
from kubestow.live.manifests import api_paths, installation
from kubestow.live.manifests.values import (
    CERT_MANAGER,
    Admission,
    InstallationValues,
    MetricsApi,
    SchedulerValues,
)
from kubestow.live.metrics_api import manifests as metrics_api
from testenv import clusters, commands, nodes, workloads
from testenv.processes import Process
from testenv.prometheus_servers import free_port
from tests.live.admission import make

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

HOME = "kubestow-installed"
NO_ADMISSION, NO_METRICS = Admission(enabled=False), MetricsApi(enabled=False)
NO_SCHEDULER = SchedulerValues(enabled=False)
CASES = {
    "defaults": InstallationValues(),
    "admission": InstallationValues(metrics_api=NO_METRICS, scheduler=NO_SCHEDULER),
    "metrics-api": InstallationValues(admission=NO_ADMISSION, scheduler=NO_SCHEDULER),
    "scheduler": InstallationValues(admission=NO_ADMISSION, metrics_api=NO_METRICS),
    "tainting": InstallationValues(scheduler=SchedulerValues(taint_high_load=True)),
    "otherwise": InstallationValues(
        pull_secrets=("mine",),
        admission=Admission(replicas=1, dry_run=True),
        metrics_api=MetricsApi(replicas=2, prometheus="http://p:9090", rules="metrics"),
        scheduler=SchedulerValues(term="clbp", name="second"),
    ),
    "cert-manager": InstallationValues(certificates=CERT_MANAGER),
}
# cert-manager is not in the test cluster, so that its kinds are unknown there: they are left out.
FOREIGN = "cert-manager.io/v1"
INSTALLED = replace(InstallationValues(), namespace=HOME)
COMPONENTS = (installation.ADMISSION, installation.METRICS_API, installation.SCHEDULER)
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


def _apply(cluster: clusters.Cluster, document: dict[str, Any], *, dry: bool) -> httpx.Response:
    how = {"fieldManager": "kubestow", "force": "true", "fieldValidation": "Strict"}
    if dry:
        how["dryRun"] = "All"
    content = {"Content-Type": "application/apply-patch+yaml"}
    path = api_paths.path_of(document)
    return cluster.client.patch(path, params=how, headers=content, json=document)


def _check(answers: dict[str, httpx.Response]) -> None:
    """Expect neither refusals nor warnings, such as those of the pod security standard."""
    said = {
        path: answer.headers.get("Warning", answer.text if answer.is_error else "")
        for path, answer in answers.items()
    }
    assert {path: text for path, text in said.items() if text} == {}


@pytest.fixture(scope="module")
def home(cluster: clusters.Cluster) -> Iterator[str]:
    """Give the namespace of the installation, as it is installed."""
    (namespace, *_) = installation.render_installation(INSTALLED)
    _check({HOME: _apply(cluster, namespace, dry=False)})
    yield HOME
    cluster.request("DELETE", f"/api/v1/namespaces/{HOME}")


@pytest.fixture(scope="module")
def installed(cluster: clusters.Cluster, home: str) -> Iterator[list[dict[str, Any]]]:
    """Install everything for real, and take it away again.

    What would call into the installation goes too: nobody is behind it in the test cluster, and
    a namespace is not deleted while a group of the API cannot be listed.
    """
    result = installation.render_installation(INSTALLED)
    _check({api_paths.path_of(each): _apply(cluster, each, dry=False) for each in result})
    try:
        yield result
    finally:
        for each in reversed(result[1:]):
            cluster.request("DELETE", api_paths.path_of(each), missing=True)
        pods = f"/api/v1/namespaces/{home}/pods"
        cluster.request("DELETE", f"{pods}?gracePeriodSeconds=0")


@pytest.mark.parametrize("values", CASES.values(), ids=CASES.keys())
def test_the_api_server_accepts_every_object(
    cluster: clusters.Cluster, home: str, values: InstallationValues
) -> None:
    result = installation.render_installation(replace(values, namespace=home))
    known = [each for each in result if each["apiVersion"] != FOREIGN]
    assert (len(known) < len(result)) == (values.certificates == CERT_MANAGER)
    _check({api_paths.path_of(each): _apply(cluster, each, dry=True) for each in known})


def test_pods_of_all_components_are_admitted_and_run(
    cluster: clusters.Cluster, namespace: str, installed: list[dict[str, Any]]
) -> None:
    nodes.make(cluster, [nodes.document("node1"), nodes.document("node2")])
    wanted = {
        each["metadata"]["name"]: each["spec"]["replicas"]
        for each in installed
        if each["kind"] == "Deployment"
    }
    assert wanted.keys() == set(COMPONENTS)

    def running() -> dict[str, int]:
        result = cluster.request("GET", f"/apis/apps/v1/namespaces/{HOME}/deployments")["items"]
        return {
            each["metadata"]["name"]: each["status"].get("availableReplicas", 0) for each in result
        }

    clusters.wait_for(lambda: running() == wanted, 120)
    phases = {pod["status"]["phase"] for pod in workloads.pods(cluster, HOME)}
    assert phases == {"Running"}


def _account(cluster: clusters.Cluster, name: str, folder: Path) -> Path:
    """Return a kubeconfig with a token of an account, and no other credentials."""
    path = f"/api/v1/namespaces/{HOME}/serviceaccounts/{name}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = cluster.request("POST", path, request)["status"]["token"]
    document = yaml.safe_load(cluster.kubeconfig.read_text(encoding="utf-8"))
    document["users"][0]["user"] = {"token": token}
    result = folder / f"{name}.kubeconfig"
    result.write_text(yaml.safe_dump(document), encoding="utf-8")
    return result


def _arguments(installed: list[dict[str, Any]], name: str) -> tuple[str, ...]:
    """Return the arguments of a component as they are installed, but for where to listen."""
    (result,) = [
        each["spec"]["template"]["spec"]["containers"][0]["args"]
        for each in installed
        if each["kind"] == "Deployment" and each["metadata"]["name"] == name
    ]
    place = result.index("--listen") if "--listen" in result else len(result)
    return (*result[1:place], *result[place + 2 :])


@contextlib.contextmanager
def _serve(
    cluster: clusters.Cluster,
    installed: list[dict[str, Any]],
    name: str,
    folder: Path,
    *more: str,
    tls: bool = True,
) -> Iterator[tuple[Process, str]]:
    """Run a component as it is installed, with the rights of its account only."""
    config = _account(cluster, name, folder)
    arguments = (*_arguments(installed, name), f"--kubeconfig={config}", *more)
    command = {installation.SCHEDULER: "extender"}.get(name, name.removeprefix("kubestow-"))
    with commands.serve(folder, command, *arguments, tls=tls) as served:
        yield served


def test_admission_serves_with_the_rights_of_its_account(
    cluster: clusters.Cluster, installed: list[dict[str, Any]], tmp_path: Path
) -> None:
    store = f"--store=sqlite:///{tmp_path}/store.db"
    with _serve(cluster, installed, installation.ADMISSION, tmp_path, store) as (process, url):
        (hook,) = cluster.request("GET", f"{WEBHOOKS}/{installation.WEBHOOK}")["webhooks"]
        assert hook["clientConfig"]["caBundle"]
        review = make.managed()
        answer = httpx.post(f"{url}{handler.PATH}", json=review, verify=False, trust_env=False)  # noqa: S501 - of the test's own
        assert answer.json()["response"]["allowed"]
        assert "orbidden" not in process.log.read_text(encoding="utf-8")
    # Installed once more, the bundle is still there: nobody applied it, so nobody takes it away.
    _check({api_paths.path_of(each): _apply(cluster, each, dry=False) for each in installed})
    (hook,) = cluster.request("GET", f"{WEBHOOKS}/{installation.WEBHOOK}")["webhooks"]
    assert hook["clientConfig"]["caBundle"]


def test_the_metrics_api_serves_with_the_rights_of_its_account(
    cluster: clusters.Cluster, installed: list[dict[str, Any]], tmp_path: Path
) -> None:
    with _serve(cluster, installed, installation.METRICS_API, tmp_path) as (process, _):
        for name in metrics_api.GROUPS:
            assert cluster.request("GET", f"{API_SERVICES}/{name}")["spec"]["caBundle"]
        assert "orbidden" not in process.log.read_text(encoding="utf-8")


def test_the_second_scheduler_places_a_pod_with_the_rights_of_its_account(
    cluster: clusters.Cluster, namespace: str, installed: list[dict[str, Any]], tmp_path: Path
) -> None:
    nodes.make(cluster, [nodes.document("node1"), nodes.document("node2")])  # one is not scored
    name = installation.SCHEDULER
    store = f"--store=sqlite:///{tmp_path}/store.db"
    pod = workloads.pod("asking", {"cpu": "100m"}, schedulerName=INSTALLED.scheduler.name)
    with _serve(cluster, installed, name, tmp_path, store, tls=False) as (extender, url):
        with _scheduler(cluster, installed, url, tmp_path) as scheduler:
            workloads.create(cluster, namespace, pod)
            workloads.wait_until_placed(cluster, namespace, 1)
            assert "orbidden" not in scheduler.log.read_text(encoding="utf-8")
        asked = httpx.get(f"{url}/metrics", trust_env=False).text
        assert 'kubestow_extender_calls_total{outcome="answered",verb="filter"} 1.0' in asked
        assert "orbidden" not in extender.log.read_text(encoding="utf-8")
    lease = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases/{name}"
    assert cluster.request("GET", lease)["spec"]["leaseTransitions"] >= 0


@contextlib.contextmanager
def _scheduler(
    cluster: clusters.Cluster, installed: list[dict[str, Any]], extender: str, folder: Path
) -> Iterator[Process]:
    """Run kube-scheduler with the installed configuration, and the rights of its account only."""
    (text,) = [each["data"]["scheduler.yaml"] for each in installed if each["kind"] == "ConfigMap"]
    config = _account(cluster, installation.SCHEDULER, folder)
    document = yaml.safe_load(text.replace("http://127.0.0.1:8888", extender))
    document["clientConnection"] = {"kubeconfig": str(config)}
    file, port = folder / "scheduler.yaml", free_port()
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    flags = [f"--config={file}", "--bind-address=127.0.0.1", f"--secure-port={port}"]
    flags += [f"--authentication-kubeconfig={config}", f"--authorization-kubeconfig={config}"]
    command = [str(cluster.program), "kube-scheduler", *flags]
    process = Process("second-scheduler", command, folder / "second-scheduler.log")
    try:
        process.start()
        yield process
    finally:
        process.stop()


# Verb, resource (with its group and subresource), namespace, name.
REFUSED = [
    ("admission", "delete", "pods", "default", ""),
    ("admission", "create", "pods", "default", ""),
    ("admission", "list", "pods", "default", ""),
    ("admission", "get", "secrets", "kube-system", ""),
    ("admission", "get", "secrets", HOME, "kubestow-metrics-api-certificates"),
    ("admission", "get", "secrets", HOME, "kubestow-store"),
    ("admission", "list", "secrets", HOME, ""),
    (
        "admission",
        "patch",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "",
        "other",
    ),
    ("metrics-api", "get", "secrets", "kube-system", ""),
    ("metrics-api", "get", "secrets", HOME, "kubestow-admission-certificates"),
    ("metrics-api", "get", "pods", "default", ""),
    ("metrics-api", "delete", "pods", "default", ""),
    ("metrics-api", "patch", "apiservices.apiregistration.k8s.io", "", "v1.apps"),
    ("metrics-api", "create", "clusterrolebindings.rbac.authorization.k8s.io", "", ""),
    ("scheduler", "get", "secrets", HOME, "kubestow-store"),
    ("scheduler", "get", "secrets", "kube-system", ""),
    ("scheduler", "create", "pods/exec", "default", ""),
    ("scheduler", "create", "pods", "default", ""),
    ("scheduler", "patch", "nodes", "", "node1"),
    ("scheduler", "delete", "nodes", "", "node1"),
]
ALLOWED = [
    ("admission", "get", "secrets", HOME, "kubestow-admission-certificates"),
    ("admission", "list", "limitranges", "default", ""),
    ("metrics-api", "get", "secrets", HOME, "kubestow-metrics-api-certificates"),
    ("metrics-api", "create", "subjectaccessreviews.authorization.k8s.io", "", ""),
    ("scheduler", "create", "pods/binding", "default", ""),
    ("scheduler", "update", "leases.coordination.k8s.io", HOME, "kubestow-scheduler"),
]
QUESTIONS = [*((False, each) for each in REFUSED), *((True, each) for each in ALLOWED)]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("allowed", "question"), QUESTIONS, ids=["-".join(filter(None, each)) for _, each in QUESTIONS]
)
def test_accounts_may_do_what_they_need_and_nothing_else(
    cluster: clusters.Cluster, allowed: bool, question: tuple[str, str, str, str, str]
) -> None:
    account, verb, whole, space, name = question
    resource, _, group = whole.partition(".")
    resource, _, inner = resource.partition("/")
    asked = {"verb": verb, "group": group, "resource": resource, "subresource": inner}
    user = f"system:serviceaccount:{HOME}:kubestow-{account}"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{HOME}", "system:authenticated"]
    attributes = {**asked, "namespace": space, "name": name}
    body = {"spec": {"user": user, "groups": groups, "resourceAttributes": attributes}}
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert cluster.request("POST", path, body)["status"]["allowed"] is allowed
