"""The metrics API behind the real API server: aggregation, rights, and a real HPA."""

from __future__ import annotations

import json
import math
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from kubestow.live.metrics_api import manifests
from kubestow.live.metrics_api.serving import documents
from kubestow.model import quantities
from testenv import clusters, commands, nodes, prometheus_servers, workloads
from tests.e2e import metric_servers
from tests.e2e.metric_servers import CUSTOM, EXTERNAL, Served

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]

HOME = "kubestow-metrics"
WRITTEN = [("pods", "rate"), ("nodes", "latency"), ("services", "load"), ("namespaces", "sum")]
STEP_S = 5.0
AHEAD = {"horizon": "60s", "step": "5s", "history": "10m"}
RULES = {
    "metrics": [
        {"name": "orders", "query": "orders", "namespaceLabel": "namespace", "interval": "1s"},
        {
            "name": "busy",
            "query": "busy * 1",
            "resource": "pods",
            "object": "pod",
            "namespaceLabel": "namespace",
            "window": "60s",
            "interval": "1s",
        },
    ],
    "forecasts": [
        {"metric": "load", "resource": "services", **AHEAD},
        {"metric": "orders", **AHEAD},
    ],
}


@pytest.fixture(scope="module")
def served(cluster: clusters.Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run the server on a Prometheus with something to forecast."""
    assert prometheus_servers.is_there(), prometheus_servers.MISSING
    folder = tmp_path_factory.mktemp("metrics-api")
    rules = folder / "metrics.yaml"
    rules.write_text(yaml.safe_dump(RULES), encoding="utf-8")
    prometheus_servers.load(folder / "data", _samples(time.time()))
    with prometheus_servers.serve(folder / "data") as source:
        options = (f"--rules={rules}", f"--prometheus={source}")
        with metric_servers.serve(cluster, folder, HOME, WRITTEN, *options) as running:
            yield running


def _samples(now_s: float) -> str:
    """Return orders that rise by one a second for ten minutes past and ten to come."""
    lines = ["# TYPE orders gauge"]
    for place in range(-120, 121):
        value = 1000.0 + STEP_S * place + math.sin(7.0 * place)
        lines.append(f'orders{{namespace="default"}} {value:.3f} {now_s + STEP_S * place:.3f}')
    lines.append("# TYPE busy gauge")
    for place in range(-120, 121):
        then_s = now_s + STEP_S * place
        lines.append(f'busy{{namespace="default",pod="a",core="1"}} 0.25 {then_s:.3f}')
    return "\n".join(lines) + "\n"


def _raw(cluster: clusters.Cluster, path: str, kubeconfig: Path | None = None) -> Any:
    """Return what kubectl gets at a path."""
    config = f"--kubeconfig={kubeconfig or cluster.kubeconfig}"
    command = [str(cluster.program), "kubectl", config, "get", "--raw", path]
    result = subprocess.run(command, capture_output=True, timeout=60, check=False, text=True)
    return json.loads(result.stdout) if result.returncode == 0 else result.stderr


def _names(result: Any) -> list[str]:
    return [each["describedObject"]["name"] for each in result["items"]]


def _pods(cluster: clusters.Cluster, namespace: str) -> None:
    for name, labels in (("a", {"app": "web"}), ("b", {"app": "web"}), ("c", {"app": "db"})):
        workloads.create(cluster, namespace, workloads.pod(name, {"cpu": "1m"}, labels=labels))


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_kubectl_reads_values_with_the_time_they_were_measured(
    cluster: clusters.Cluster, namespace: str, served: Served, version: str
) -> None:
    _pods(cluster, namespace)
    measured_s = time.time() - 42.0
    for name, value in (("a", 1.5), ("b", "10500u"), ("c", 7)):
        path = f"namespaces/{namespace}/pods/{name}/rate"
        served.write(path, value, timestamp=f"{measured_s:.3f}")
    base = f"{CUSTOM}/{version}/namespaces/{namespace}/pods"
    single = _raw(cluster, f"{base}/a/rate")
    assert single["apiVersion"] == f"custom.metrics.k8s.io/{version}"
    (item,) = single["items"]
    assert (item["value"], item["timestamp"]) == ("1500m", documents.timestamp(measured_s))
    assert item["describedObject"] == {
        "kind": "Pod", "namespace": namespace, "name": "a", "apiVersion": "/v1",
    }  # fmt: skip
    assert _names(_raw(cluster, f"{base}/*/rate")) == ["a", "b", "c"]
    assert _names(_raw(cluster, f"{base}/%2A/rate?labelSelector=app%3Dweb")) == ["a", "b"]
    chosen = _raw(cluster, f"{base}/*/rate?labelSelector=app+in+(db,x),!old")
    assert [each["value"] for each in chosen["items"]] == ["7"]
    assert "could not find the metric rate for pods d" in _raw(cluster, f"{base}/d/rate")
    known = cluster.request("GET", f"{CUSTOM}/{version}")["resources"]
    assert {"pods/rate"} <= {each["name"] for each in known}


def test_metrics_of_nodes_and_namespaces_and_with_labels(
    cluster: clusters.Cluster, namespace: str, served: Served
) -> None:
    nodes.make(cluster, [nodes.document("n1", labels={"zone": "x"}), nodes.document("n2")])
    for name, labels in (("n1", "to=a"), ("n1", "to=b"), ("n2", "to=a")):
        served.write(f"nodes/{name}/latency", 0.0105, labels=labels)
    served.write(f"namespaces/{namespace}/metrics/sum", 12)
    base = f"{CUSTOM}/v1beta2"
    assert _names(_raw(cluster, f"{base}/nodes/*/latency")) == ["n1", "n2"]
    assert _names(_raw(cluster, f"{base}/nodes/*/latency?labelSelector=zone%3Dx")) == ["n1"]
    chosen = _raw(cluster, f"{base}/nodes/*/latency?metricLabelSelector=to%3Db")
    (item,) = chosen["items"]
    assert item["metric"] == {"name": "latency", "selector": {"matchLabels": {"to": "b"}}}
    assert item["value"] == "10500u"
    (own,) = _raw(cluster, f"{base}/namespaces/{namespace}/metrics/sum")["items"]
    assert own["describedObject"] == {"kind": "Namespace", "name": namespace, "apiVersion": "/v1"}


def test_nobody_gets_past_the_api_server(
    cluster: clusters.Cluster, namespace: str, served: Served
) -> None:
    served.write(f"namespaces/{namespace}/pods/a/rate", 1)
    path = f"{CUSTOM}/v1beta2/namespaces/{namespace}/pods/a/rate"
    forged = {"X-Remote-User": "system:admin", "X-Remote-Group": "system:masters"}
    with (
        metric_servers.direct(served.url) as plain,
        metric_servers.direct(served.url, forged) as forging,
    ):
        for client in (plain, forging):
            for each in (path, "/apis", "/metrics", "/openapi/v2"):
                assert client.get(each).status_code == httpx.codes.UNAUTHORIZED
            written = client.post(f"/write-metrics/namespaces/{namespace}/pods/a/rate", content="9")
            assert written.status_code == httpx.codes.UNAUTHORIZED
        assert plain.get("/healthz").is_success
        wrong = plain.get(path, headers={"Authorization": "Bearer x.y.z"})
        assert wrong.status_code == httpx.codes.UNAUTHORIZED
    # A certificate of the cluster, but not of the front proxy.
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    pair = cluster.authority.client("forger", "front-proxy-client")
    trust.load_cert_chain(pair.certificate, pair.key)
    with (
        httpx.Client(base_url=served.url, headers=forged, verify=trust, trust_env=False) as shown,
        pytest.raises(httpx.HTTPError),
    ):
        shown.get(path)


def test_rights_are_those_of_the_cluster(
    cluster: clusters.Cluster, namespace: str, served: Served
) -> None:
    served.write(f"namespaces/{namespace}/pods/a/rate", 3)
    path = f"{CUSTOM}/v1beta2/namespaces/{namespace}/pods/a/rate"
    stranger = cluster.add_user("stranger", ("visitors",))
    refused = _raw(cluster, path, stranger)
    assert 'User "stranger" cannot get resource "pods/rate"' in refused
    # A group that is told by a header, for one metric in one namespace.
    subject = {"kind": "Group", "name": "visitors", "apiGroup": "rbac.authorization.k8s.io"}
    rule = {"apiGroups": ["custom.metrics.k8s.io"], "resources": ["pods/rate"], "verbs": ["get"]}
    metric_servers.grant(cluster, "visitors", subject, [rule], namespace)
    clusters.wait_for(lambda: isinstance(_raw(cluster, path, stranger), dict), 30, 0.5)
    assert "forbidden" in str(_raw(cluster, path.replace(namespace, "default"), stranger))
    # The writer may write some metrics, and read none.
    reading = served.writer.get(path)
    assert reading.status_code == httpx.codes.FORBIDDEN
    assert reading.json()["reason"] == "Forbidden"
    other = served.writer.post(f"/write-metrics/namespaces/{namespace}/pods/a/other", content="1")
    assert other.status_code == httpx.codes.FORBIDDEN
    assert served.writer.get("/metrics").status_code == httpx.codes.FORBIDDEN


def _autoscaler(name: str, metric: dict[str, Any], most: int = 40) -> dict[str, Any]:
    fast = {"policies": [{"type": "Pods", "value": 100, "periodSeconds": 15}]}
    return {
        "metadata": {"name": name},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 1,
            "maxReplicas": most,
            "metrics": [metric],
            "behavior": {"scaleUp": fast},
        },
    }


def _scale(
    cluster: clusters.Cluster, namespace: str, name: str, replicas: int, metric: dict[str, Any]
) -> None:
    """Run a deployment with an autoscaler."""
    workloads.create(cluster, namespace, workloads.deployment(name, replicas, {"cpu": "1m"}))

    def ready() -> bool:
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
        result = cluster.request("GET", path)
        return bool(result["status"].get("readyReplicas", 0) == replicas)

    clusters.wait_for(ready, 60)
    path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
    cluster.request("POST", path, _autoscaler(name, metric))


def _status(cluster: clusters.Cluster, namespace: str, name: str) -> dict[str, Any]:
    path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/{name}"
    result: dict[str, Any] = cluster.request("GET", path).get("status", {})
    return result


def _is_active(cluster: clusters.Cluster, namespace: str, name: str) -> str:
    """Return whether the autoscaler has what it needs: True, False, or nothing if unknown."""
    for each in _status(cluster, namespace, name).get("conditions", ()):
        if each["type"] == "ScalingActive":
            return str(each["status"])
    return ""


def test_an_autoscaler_goes_by_a_written_metric_and_recovers_with_the_server(
    cluster: clusters.Cluster, namespace: str, served: Served
) -> None:
    nodes.make(cluster, [nodes.document("node1")])
    target = {"type": "AverageValue", "averageValue": "10"}
    metric = {"type": "Pods", "pods": {"metric": {"name": "rate"}, "target": target}}
    _scale(cluster, namespace, "web", 2, metric)
    pods = [each["metadata"]["name"] for each in workloads.pods(cluster, namespace)]

    def write() -> None:
        for name in pods:
            served.write(f"namespaces/{namespace}/pods/{name}/rate", 30)

    write()
    # 2 pods at 30 with a target of 10 make 6; new ones without a value count as nothing.
    wanted = 6
    clusters.wait_for(
        lambda: _status(cluster, namespace, "web").get("desiredReplicas") == wanted, 60
    )
    clusters.wait_for(lambda: len(workloads.placed(cluster, namespace)) == wanted, 60)
    served.process.kill()
    clusters.wait_for(lambda: _is_active(cluster, namespace, "web") == "False", 60)
    assert _status(cluster, namespace, "web")["desiredReplicas"] == wanted
    served.process.start()
    served.process.wait_until(commands.is_ready(served.url), 60)
    write()
    clusters.wait_for(lambda: _is_active(cluster, namespace, "web") == "True", 90)
    assert _status(cluster, namespace, "web")["desiredReplicas"] == wanted


def test_an_autoscaler_goes_by_a_forecast(
    cluster: clusters.Cluster, namespace: str, served: Served
) -> None:
    nodes.make(cluster, [nodes.document("node1")])
    selector = {"matchLabels": {"object": "web"}}
    about = {"name": "kubestow_forecast_load", "selector": selector}
    target = {"type": "AverageValue", "averageValue": "20"}
    _scale(
        cluster,
        namespace,
        "web",
        1,
        {"type": "External", "external": {"metric": about, "target": target}},
    )
    now_s, count = time.time(), 60
    series = [100.0 + 5.0 * k + math.sin(7.0 * k) for k in range(count)]
    for place, value in enumerate(series):
        then_s = now_s - STEP_S * (count - 1 - place)
        path = f"namespaces/{namespace}/services/web/load"
        served.write(path, round(value, 3), timestamp=f"{then_s:.3f}")
    path = f"{EXTERNAL}/namespaces/{namespace}/kubestow_forecast_load?labelSelector=object%3Dweb"
    (item,) = _raw(cluster, path)["items"]
    assert item["metricLabels"] == {
        "kubestow.io/basis": "forecast", "object": "web", "resource": "services",
    }  # fmt: skip
    foretold = float(quantities.parse(item["value"]))
    # The line rises by 5 a step; damped by 0.9, 12 steps count as 0.9 + ... + 0.9^12 = 6.46 steps.
    assert foretold == pytest.approx(series[-1] + 5.0 * 6.46, abs=5.0)
    assert item["timestamp"] == documents.timestamp(now_s)
    wanted = math.ceil(foretold / 20.0)
    assert wanted > math.ceil(series[-1] / 20.0)
    clusters.wait_for(
        lambda: _status(cluster, namespace, "web").get("desiredReplicas") == wanted, 60
    )
    custom = f"{CUSTOM}/v1beta2/namespaces/{namespace}/services/web/kubestow_forecast_load"
    assert _raw(cluster, custom)["items"][0]["value"] == item["value"]


def test_metrics_of_a_prometheus_are_served_and_looked_ahead(
    cluster: clusters.Cluster, served: Served
) -> None:
    base = f"{EXTERNAL}/namespaces/default"
    clusters.wait_for(lambda: isinstance(_raw(cluster, f"{base}/orders"), dict), 30)
    (item,) = _raw(cluster, f"{base}/kubestow_forecast_orders")["items"]
    (measured,) = _raw(cluster, f"{base}/orders")["items"]
    assert item["metricLabels"] == {"kubestow.io/basis": "forecast"}
    ahead = float(quantities.parse(item["value"])) - float(quantities.parse(measured["value"]))
    # 5 a step, 12 steps damped to 6.46; between the two questions some seconds may pass.
    assert ahead == pytest.approx(5.0 * 6.46, abs=12.0)
    (busy,) = _raw(cluster, f"{CUSTOM}/v1beta2/namespaces/default/pods/a/busy")["items"]
    assert (busy["value"], busy["windowSeconds"]) == ("250m", 60)


def test_the_aggregator_has_nothing_to_complain_about(
    cluster: clusters.Cluster, served: Served
) -> None:
    result = cluster.request("GET", "/apis/apiregistration.k8s.io/v1/apiservices")["items"]
    ours = [each for each in result if each["metadata"]["name"] in manifests.GROUPS]
    assert len(ours) == len(manifests.GROUPS)
    for each in ours:
        assert each["spec"]["caBundle"]
        assert not each["spec"].get("insecureSkipTLSVerify")
        (condition,) = each["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("Available", "True")
