"""The read API, in the shapes that a real HPA controller scaled by."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from kubestow.live.metrics_api.values.table import Subject
from tests.live.metrics_api import make

MOMENT = "2027-01-15T08:00:00Z"


def get(scene: make.Scene, path: str) -> Any:
    with scene.as_user() as client:
        result = client.get(path)
        assert result.status_code == httpx.codes.OK, result.text
        assert result.headers["content-type"] == "application/json"
        return result.json()


def refuse(scene: make.Scene, path: str) -> dict[str, Any]:
    with scene.as_user() as client:
        result = client.get(path)
        status: dict[str, Any] = result.json()
        assert (status["kind"], status["status"]) == ("Status", "Failure")
        assert status["code"] == result.status_code
        return status


def stamped(recorded: Any) -> Any:
    """Return a recorded answer with our time and canonical values."""
    canonical = {"20000m": "20", "60000m": "60"}
    for item in recorded["items"]:
        item["timestamp"] = MOMENT
        item["value"] = canonical[item["value"]]
    return recorded


def test_what_the_autoscaler_asks_of_pods_is_answered_as_recorded(scene: make.Scene) -> None:
    request = make.recorded("custom-pods-request")
    expected = stamped(make.recorded("custom-pods-response"))
    names = tuple(item["describedObject"]["name"] for item in expected["items"])
    scene.api.members["/api/v1/namespaces/default/pods", "app=web"] = names
    for name in (*names, "other"):
        scene.put(make.pod(name, "lab_requests_per_second"), "20000m")
    reported = {
        name: value
        for name, value in request["headers"].items()
        if name.startswith("X-Remote") or name == "Accept"
    }
    pair = scene.proxy.client("proxy", make.PROXY)
    with scene.client(pair, reported) as client:
        result = client.get(request["path"])
    assert result.json() == expected
    (review,) = scene.api.reviews()
    assert review["user"] == "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
    assert review["groups"] == ["system:authenticated"]
    assert review["uid"] == "f206279e-298d-4266-b9b1-5ef6725362cf"
    assert review["extra"] == {
        "authentication.kubernetes.io/credential-id": ["JTI=0cfe51ee-459c-4900-a01f-6839ef65baf0"]
    }
    assert review["resourceAttributes"] == {
        "verb": "get",
        "group": "custom.metrics.k8s.io",
        "version": "v1beta2",
        "resource": "pods",
        "subresource": "lab_requests_per_second",
        "namespace": "default",
        "name": "*",
    }


def test_what_the_autoscaler_asks_of_an_external_metric_is_answered_as_recorded(
    scene: make.Scene,
) -> None:
    request = make.recorded("external-request")
    expected = stamped(make.recorded("external-response"))
    expected["items"][0]["metricLabels"] = {"queue": "a"}
    scene.put(make.external("lab_queue_depth"), "60000m", (("queue", "a"),))
    scene.put(make.external("lab_queue_depth"), "1", (("queue", "b"),))
    assert get(scene, request["path"]) == expected
    # An external metric is a resource without a name: a list, as RequestInfoFactory has it.
    attributes = scene.api.reviews()[0]["resourceAttributes"]
    assert (attributes["verb"], attributes["resource"]) == ("list", "lab_queue_depth")


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_discovery_is_as_recorded(scene: make.Scene, version: str) -> None:
    scene.put(make.pod("a", "lab_requests_per_second"), "1")
    scene.put(make.external("lab_queue_depth"), "1")
    path = f"/apis/custom.metrics.k8s.io/{version}"
    recorded = f"discovery-custom.metrics.k8s.io-{version}-response"
    assert get(scene, path) == make.recorded(recorded)
    external = make.recorded("discovery-external.metrics.k8s.io-v1beta1-response")
    assert get(scene, "/apis/external.metrics.k8s.io/v1beta1") == external


def test_the_first_version_of_the_shape(scene: make.Scene) -> None:
    # The example of Lippert 2023, 3.1.
    scene.put(Subject("nodes", "", "h5113", "example.com~1latency-nanos"), "0.0105")
    assert get(
        scene, "/apis/custom.metrics.k8s.io/v1beta1/nodes/h5113/example.com~1latency-nanos"
    ) == {
        "kind": "MetricValueList",
        "apiVersion": "custom.metrics.k8s.io/v1beta1",
        "metadata": {},
        "items": [
            {
                "describedObject": {"kind": "Node", "name": "h5113", "apiVersion": "/v1"},
                "metricName": "example.com~1latency-nanos",
                "timestamp": MOMENT,
                "value": "10500u",
                "selector": None,
            }
        ],
    }


def test_groups_are_served_in_both_forms(scene: make.Scene) -> None:
    scene.put(make.pod("a"), "1")
    plain = get(scene, "/apis")
    assert [group["name"] for group in plain["groups"]] == [
        "custom.metrics.k8s.io",
        "external.metrics.k8s.io",
    ]
    assert get(scene, "/apis/custom.metrics.k8s.io") == plain["groups"][0]
    kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    with scene.as_user() as client:
        result = client.get("/apis", headers={"Accept": f"{kind},application/json"})
    assert result.headers["content-type"] == kind
    (version, _) = result.json()["items"][0]["versions"]
    (parent,) = version["resources"]
    assert (version["version"], parent["resource"]) == ("v1beta2", "pods")
    assert parent["subresources"][0]["subresource"] == "rate"


def test_a_metric_that_is_not_there_is_refused_in_upstreams_words(scene: make.Scene) -> None:
    base = "/apis/custom.metrics.k8s.io/v1beta2"
    result = refuse(scene, f"{base}/nodes/n1/latency")
    assert result["reason"] == "NotFound"
    assert result["message"] == "the server could not find the metric latency for nodes n1"
    many = refuse(scene, f"{base}/namespaces/default/deployments/%2A/rate")
    assert many["message"] == "the server could not find the metric rate for deployments.apps"


def test_a_value_that_is_too_old_is_not_there_and_counted(scene: make.Scene) -> None:
    path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/a/rate"
    scene.put(make.pod("a"), "1", age_s=300.0)
    assert get(scene, path)["items"]
    scene.put(make.pod("a", "old"), "1", age_s=300.1)
    assert refuse(scene, path.replace("rate", "old"))["code"] == httpx.codes.NOT_FOUND
    with scene.as_user() as client:
        assert "kubestow_test_stale_reads_total 1.0" in client.get("/metrics").text


def test_labels_of_a_metric_choose_among_values(scene: make.Scene) -> None:
    path = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default/pods/a/rate"
    scene.put(make.pod("a"), "1", (("verb", "get"),), age_s=5.0)
    scene.put(make.pod("a"), "2", (("verb", "put"),), age_s=20.0)
    assert [item["value"] for item in get(scene, path)["items"]] == ["1"]
    (item,) = get(scene, f"{path}?metricLabelSelector=verb%21%3Dget")["items"]
    assert item["value"] == "2"
    assert item["metric"]["selector"] == {
        "matchExpressions": [{"key": "verb", "operator": "NotIn", "values": ["get"]}]
    }


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/apis/custom.metrics.k8s.io/v1", 404),
        ("/apis/custom.metrics.k8s.io/v1beta2/pods/a/rate", 404),
        ("/apis/custom.metrics.k8s.io/v1beta2/namespaces/x/nodes/a/rate", 404),
        ("/apis/custom.metrics.k8s.io/v1beta2/namespaces/x/unknown/a/rate", 404),
        ("/apis/custom.metrics.k8s.io/v1beta2/namespaces/x/%2E%2E/a/rate", 404),
        ("/apis/custom.metrics.k8s.io/v1beta2/namespaces/x/pods/%FF/rate", 404),
        ("/apis/external.metrics.k8s.io/v1beta1/namespaces/x/depth?labelSelector=(", 400),
        ("/apis/custom.metrics.k8s.io/v1beta2/namespaces/x/pods/%2A/r?labelSelector=a+b", 400),
        ("/openapi/v4", 404),
    ],
)
def test_odd_questions_are_refused(scene: make.Scene, path: str, code: int) -> None:
    assert refuse(scene, path)["code"] == code


def test_the_aggregator_gets_descriptions(scene: make.Scene) -> None:
    assert get(scene, "/openapi/v2")["swagger"] == "2.0"
    assert get(scene, "/openapi/v3") == {"paths": {}}
