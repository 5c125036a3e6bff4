"""``kubestow recommend --cluster`` on the real API server: look, sample, apply, refuse."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from testenv import clusters, nodes, resource_metrics, workloads

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

MIB = 2**20


def _recommend(kubeconfig: Path, namespace: str, *more: str) -> subprocess.CompletedProcess[str]:
    program = str(Path(sys.executable).parent / "kubestow")
    options = ["--cluster", "--kubeconfig", str(kubeconfig), "-n", namespace]
    sampling = ["--sample", "6s", "--step", "1s", "--strategy", "percentile"]
    return subprocess.run(
        [program, "recommend", *options, *sampling, *more],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )


def _prepare(cluster: clusters.Cluster, namespace: str) -> list[str]:
    nodes.make(cluster, [nodes.document("only")])
    made = workloads.deployment("web", 2, {"cpu": "2", "memory": "2Gi"})
    workloads.create(cluster, namespace, made)
    workloads.wait_until_placed(cluster, namespace, 2)
    return list(workloads.placed(cluster, namespace))


def _use(metrics: resource_metrics.ResourceMetrics, namespace: str, pods: list[str]) -> None:
    for pod in pods:
        metrics.set_pod(namespace, pod, {"main": (200, 300 * MIB)})


def _resources(cluster: clusters.Cluster, namespace: str) -> dict[str, Any]:
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
    template = cluster.request("GET", path)["spec"]["template"]
    result: dict[str, Any] = template["spec"]["containers"][0]["resources"]
    return result


def test_a_cluster_is_looked_at_sampled_and_changed(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path
) -> None:
    pods = _prepare(cluster, namespace)
    with resource_metrics.serve(cluster) as metrics:
        _use(metrics, namespace, pods)
        looked = _recommend(kubeconfig, namespace, "-o", "json")
        assert looked.returncode == 0, looked.stderr
        (row,) = json.loads(looked.stdout)
        assert row["workload"] == f"{namespace}/Deployment/web"
        assert row["current"]["requests"] == {"cpu": "2", "memory": "2Gi"}
        assert not row["suitable"]  # some seconds of history are not enough, and it says so
        before = _resources(cluster, namespace)

        spared = _recommend(kubeconfig, namespace, "--apply", "--yes")
        assert "nothing to change" in spared.stderr
        assert _resources(cluster, namespace) == before
        thin = _recommend(kubeconfig, namespace, "--apply", "--unsuitable", "--yes")
        assert "skipped, fewer than 7 windows of usage: 1 containers" in thin.stderr
        assert _resources(cluster, namespace) == before
        anyhow = ("--apply", "--unsuitable", "--min-evidence", "0")
        asked = _recommend(kubeconfig, namespace, *anyhow)
        assert asked.returncode == 2
        assert "cannot ask for confirmation without a terminal; expected --yes" in asked.stderr
        tried = _recommend(kubeconfig, namespace, *anyhow, "--dry-run")
        assert "Deployment/web: valid" in tried.stderr, tried.stderr
        assert _resources(cluster, namespace) == before

        applied = _recommend(kubeconfig, namespace, *anyhow, "--yes")
        assert applied.returncode == 0, applied.stderr
        after = _resources(cluster, namespace)
        assert after["requests"] == row["recommended"]["requests"]
        assert "changed" in applied.stderr


def test_quotas_and_limit_ranges_of_the_cluster_bind(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path
) -> None:
    limits = {"limits": [{"type": "Container", "min": {"cpu": "1500m", "memory": "1Gi"}}]}
    path = f"/api/v1/namespaces/{namespace}/limitranges"
    cluster.request("POST", path, {"metadata": {"name": "least"}, "spec": limits})
    pods = _prepare(cluster, namespace)
    with resource_metrics.serve(cluster) as metrics:
        _use(metrics, namespace, pods)
        result = _recommend(kubeconfig, namespace, "-o", "json")
    (row,) = json.loads(result.stdout)
    assert row["recommended"]["requests"] == {"cpu": "1500m", "memory": "1Gi"}
    assert "LimitRange" in row["why"]


def test_a_cluster_without_the_metrics_api_is_told_in_one_line(
    cluster: clusters.Cluster, namespace: str, kubeconfig: Path
) -> None:
    _prepare(cluster, namespace)
    result = _recommend(kubeconfig, namespace)
    assert result.returncode == 2
    assert result.stderr == (
        "error: /apis/metrics.k8s.io/v1beta1/pods: the cluster has no metrics API: "
        "install metrics-server\n"
    )


def test_a_user_without_rights_is_told_what_is_missing(
    cluster: clusters.Cluster, namespace: str
) -> None:
    result = _recommend(cluster.add_user("nobody"), namespace)
    assert result.returncode == 2
    assert 'User "nobody" cannot list resource "pods"' in result.stderr
