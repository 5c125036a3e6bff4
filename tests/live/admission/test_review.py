"""AdmissionReviews in and out."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

from kubestow.live.admission import pod_documents, review
from kubestow.model import decoding, errors
from kubestow.sources import manifests
from tests.live.admission import make


def test_the_recorded_creation_of_a_pod_is_read() -> None:
    result = make.request(make.recorded("pods-main-create"))
    assert (result.namespace, result.name, result.dry_run) == ("default", "", False)
    assert result.uid == "0e8a8b42-8c24-4d02-8a45-9751e013c4d9"
    assert result.creates_pod
    pod = manifests.PodReader().read_json(bytes(result.object)).pod
    assert pod.owner is not None
    assert (pod.owner.kind, pod.owner.name) == ("ReplicaSet", "web-55bb7c94b4")
    (container,) = pod.spec.containers
    assert {name: str(q) for name, q in container.limits.items()} == {
        "cpu": "500m",
        "memory": "256Mi",
    }


@pytest.mark.parametrize(
    "name", ["pods-resize-update", "pods-binding-create", "deployments-main-create"]
)
def test_other_recorded_requests_create_no_pod(name: str) -> None:
    assert not make.request(make.recorded(name)).creates_pod


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"", "not an AdmissionReview"),
        (b"{", "not an AdmissionReview"),
        (b"[]", "not an AdmissionReview"),
        (b"\xff\xfe", "not an AdmissionReview"),
        (b"[" * 100_000, "not an AdmissionReview"),
        (b"{}", "expected AdmissionReview of admission.k8s.io/v1"),
        (b'{"kind":"Pod","apiVersion":"v1"}', "'Pod' of 'v1'"),
        (
            b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"1"}}',
            "v1beta1",
        ),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "uid: is missing"),
        (
            b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":""}}',
            "uid: is missing",
        ),
    ],
)
def test_what_is_no_review_is_refused(body: bytes, problem: str) -> None:
    with pytest.raises(review.ReviewError, match=problem):
        review.read(body)


def test_fields_nobody_knows_are_passed_over() -> None:
    review = make.recorded("pods-main-create")
    review["request"]["future"] = {"a": [1, None]}
    review["request"]["object"]["spec"]["future"] = True
    assert pod_documents.read(make.request(review).object).spec.containers[0].name == "c"


def test_an_answer_repeats_the_uid_and_carries_the_patch() -> None:
    patch = [{"op": "add", "path": "/a", "value": "ü"}]
    answer = json.loads(review.encode_response("42", patch, ["w" * 500]))
    assert (answer["kind"], answer["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    response = answer["response"]
    assert (response["uid"], response["allowed"]) == ("42", True)
    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"])) == patch
    assert response["warnings"] == ["w" * 120]


def test_an_answer_without_a_patch_names_no_type() -> None:
    # An API server refuses a type without a patch.
    assert json.loads(review.encode_response("42"))["response"] == {"uid": "42", "allowed": True}


@pytest.mark.parametrize(
    "change",
    [
        {"spec": None},
        {"spec": {"containers": [{"name": 1}]}},
        {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "much"}}}]}},
        {"spec": {"containers": "c"}},
    ],
)
def test_a_pod_that_is_not_understood_is_an_error(change: dict[str, Any]) -> None:
    raw = msgspec.json.encode({"metadata": {}, "spec": {"containers": []}} | change)
    with pytest.raises(errors.InputError):
        manifests.PodReader().read_json(raw)


@pytest.mark.parametrize("amount", ["1", 1, 1.0, "1000m"])
def test_amounts_may_be_numbers(amount: str | float) -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": amount, "example.com/gpu": 1}}}
    raw = msgspec.json.encode({"spec": {"containers": [container]}})
    (result,) = manifests.PodReader().read_json(raw).pod.spec.containers
    assert result.requests["cpu"].milli() == 1000
    (document,) = pod_documents.read(raw).spec.containers
    assert document.resources is not None
    assert document.resources.requests == {"cpu": amount, "example.com/gpu": 1}


def test_a_request_above_its_limit_reaches_the_webhook_which_may_mend_it() -> None:
    # A manifest with this is refused; here a LimitRange may have set the limit a moment ago.
    amounts = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    document = {"spec": {"containers": [{"name": "c", "resources": amounts}]}}
    (result,) = manifests.PodReader().read_json(msgspec.json.encode(document)).pod.spec.containers
    assert result.requests["cpu"] > result.limits["cpu"]
    with pytest.raises(errors.InputError, match="less than or equal to its limit"):
        manifests.PodReader().read(decoding.Field(document, "Pod"))
