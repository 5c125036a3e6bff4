"""The write endpoint: what is taken, from whom, and what is refused."""

from __future__ import annotations

from concurrent import futures
from pathlib import Path
from typing import Any

import httpx
import pytest

from kubestow.live.metrics_api.serving import documents
from tests.live.metrics_api import make

POD = "/write-metrics/namespaces/default/pods/a/rate"
TOKEN = {"Authorization": "Bearer good"}


@pytest.fixture(autouse=True)
def _writer(scene: make.Scene) -> None:
    scene.api.tokens["good"] = {"username": "writer"}


def write(scene: make.Scene, path: str, body: str, **query: str) -> httpx.Response:
    with scene.client(headers=TOKEN) as client:
        return client.post(path, content=body, params=query)


def read(scene: make.Scene, path: str) -> Any:
    with scene.as_user() as client:
        return client.get(f"/apis/custom.metrics.k8s.io/v1beta2/{path}").json()["items"]


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("0.0105", "10500u"),
        ("50000000", "50M"),
        ('"20000m"', "20"),
        ('"10500u"', "10500u"),
        ("1e-4", "100e-6"),
        ("0.0000000001", "1n"),  # finer than a nano is rounded up
        ("-3", "-3"),
        (' "1.5Gi" ', "1536Mi"),
    ],
)
def test_numbers_and_quantities_are_read_back_exactly(
    scene: make.Scene, body: str, value: str
) -> None:
    result = write(scene, POD, body)
    assert (result.status_code, result.content) == (httpx.codes.OK, b"")
    (item,) = read(scene, "namespaces/default/pods/a/rate")
    assert item["value"] == value
    assert item["timestamp"] == documents.timestamp(make.NOW_S)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "nothing",
        "NaN",
        "{}",
        "[1]",
        "null",
        "true",
        '"5 apples"',
        "01",
        "+1",
        "1" * 200,
        "1" * 2000,
    ],
)
def test_what_is_no_value_is_refused(scene: make.Scene, body: str) -> None:
    assert write(scene, POD, body).status_code == httpx.codes.BAD_REQUEST
    assert len(scene.table) == 0


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("/write-metrics/nodes/n1/latency", "nodes/n1/latency"),
        ("/write-metrics/Node/n1/latency", "nodes/n1/latency"),
        ("/write-metrics/namespaces/default/po/a/rate", "namespaces/default/pods/a/rate"),
        (
            "/write-metrics/namespaces/default/deployments/web/rate",
            "namespaces/default/deployments.apps/web/rate",
        ),
        ("/write-metrics/namespaces/default/metrics/sum", "namespaces/default/metrics/sum"),
        ("/write-metrics/nodes/n1/example.com%2Frtt", "nodes/n1/example.com%2Frtt"),
    ],
)
def test_objects_are_called_as_people_call_them(scene: make.Scene, path: str, where: str) -> None:
    assert write(scene, path, "1").is_success
    assert len(read(scene, where)) == 1


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/write-metrics/pods/a/rate", 400),
        ("/write-metrics/namespaces/default/nodes/n1/rate", 400),
        ("/write-metrics/unicorns/a/rate", 404),
        ("/write-metrics/nodes/rate", 404),
        ("/write-metrics/nodes/%2A/rate", 400),
        ("/write-metrics/nodes/n1/%2A", 400),
        ("/write-metrics/nodes/n1/kubestow_forecast_rate", 400),
    ],
)
def test_what_is_no_object_or_metric_is_refused(scene: make.Scene, path: str, code: int) -> None:
    assert write(scene, path, "1").status_code == code


@pytest.mark.parametrize(
    "moment", ["1800000000.5", "2027-01-15T08:00:00.5Z", "2027-01-15T09:00:00.5+01:00"]
)
def test_the_time_of_the_measurement_is_served(scene: make.Scene, moment: str) -> None:
    assert write(scene, POD, "1", timestamp=moment, window="90s").is_success
    (item,) = read(scene, "namespaces/default/pods/a/rate")
    assert item["timestamp"] == "2027-01-15T08:00:00Z"
    assert item["windowSeconds"] == 90


@pytest.mark.parametrize("moment", ["soon", "nan", "2027-01-15T08:00:00", "1800000100", "0"])
def test_times_that_cannot_be_are_refused(scene: make.Scene, moment: str) -> None:
    assert write(scene, POD, "1", timestamp=moment).status_code == httpx.codes.BAD_REQUEST


def test_the_last_measurement_wins_whatever_comes_last(scene: make.Scene) -> None:
    assert write(scene, POD, "2", timestamp=str(make.NOW_S - 1.0)).is_success
    assert write(scene, POD, "1", timestamp=str(make.NOW_S - 2.0)).is_success
    (item,) = read(scene, "namespaces/default/pods/a/rate")
    assert item["value"] == "2"


def test_labels_belong_to_the_value(scene: make.Scene) -> None:
    assert write(scene, POD, "1", labels="verb=get,path=x").is_success
    path = "namespaces/default/pods/a/rate?metricLabelSelector=verb%3D"
    assert len(read(scene, f"{path}get")) == 1
    with scene.as_user() as client:
        missing = client.get(f"/apis/custom.metrics.k8s.io/v1beta2/{path}put")
    assert missing.status_code == httpx.codes.NOT_FOUND
    for odd in ("verb", "verb!=get", "verb=get,verb=put", "=", "a=%"):
        assert write(scene, POD, "1", labels=odd).status_code == httpx.codes.BAD_REQUEST


def test_writing_takes_a_right_of_its_own(scene: make.Scene) -> None:
    scene.api.may = lambda spec: spec.get("resourceAttributes", {}).get("verb") == "get"
    assert write(scene, POD, "1").status_code == httpx.codes.FORBIDDEN
    assert scene.api.reviews()[-1]["resourceAttributes"] == {
        "verb": "create",
        "group": "custom.metrics.k8s.io",
        "version": "v1beta2",
        "resource": "pods",
        "subresource": "rate",
        "namespace": "default",
        "name": "a",
    }
    assert len(scene.table) == 0


def test_nobody_writes_without_being_known(scene: make.Scene) -> None:
    forged = {"X-Remote-User": "system:admin"}
    for headers in ({}, forged, {"Authorization": "Bearer bad"}):
        with scene.client(headers=headers) as client:
            assert client.post(POD, content="1").status_code == httpx.codes.UNAUTHORIZED
    assert len(scene.table) == 0


def test_writing_can_be_switched_off(tmp_path: Path) -> None:
    with make.scene(tmp_path, writing=False) as scene:
        scene.api.tokens["good"] = {"username": "writer"}
        assert write(scene, POD, "1").status_code == httpx.codes.NOT_FOUND


def test_many_write_at_once(scene: make.Scene) -> None:
    def fill(writer: int) -> list[int]:
        with scene.client(headers=TOKEN) as client:
            paths = (f"/write-metrics/nodes/n{number}/m{writer}" for number in range(25))
            return [client.post(path, content=str(writer)).status_code for path in paths]

    with futures.ThreadPoolExecutor(8) as pool:
        codes = [code for result in pool.map(fill, range(8)) for code in result]
    assert codes == [httpx.codes.OK] * 200
    assert len(scene.table) == 200
    assert [item["value"] for item in read(scene, "nodes/n24/m7")] == ["7"]
