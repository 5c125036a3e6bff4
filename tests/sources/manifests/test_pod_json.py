"""The fast path of the pod reader: equal to the slow one, and sharing equal specifications."""

from __future__ import annotations

import copy
import dataclasses
import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubestow.model import errors, pods
from kubestow.model.decoding import fields
from kubestow.sources.manifests import pod_json
from kubestow.sources.manifests import pods as pod_source


def _pod(suffix: str = "abcde", **spec: Any) -> dict[str, Any]:
    """Return a pod as an API server writes it."""
    token = f"kube-api-access-{suffix}"
    mount = {"name": token, "readOnly": True, "mountPath": "/var/run/secrets"}
    container = {
        "name": "main",
        "image": "pause",
        "resources": {"requests": {"cpu": "100m"}},
        "volumeMounts": [mount],
    }
    return {
        "kind": "Pod",
        "metadata": {
            "name": f"web-{suffix}",
            "namespace": "shop",
            "uid": f"uid-{suffix}",
            "resourceVersion": "17",
            "labels": {"app": "web"},
            "annotations": {"a": "b"},
            "creationTimestamp": "2026-01-31T12:00:00Z",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "u"},
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "controller": True},
            ],
            "managedFields": [{"manager": "x", "fieldsV1": {"f:spec": {}}}],
        },
        "spec": {"volumes": [{"name": token, "projected": {}}], "containers": [container], **spec},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    }


def _write(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _read_manifest(document: dict[str, Any]) -> pods.Pod:
    return pod_source.PodReader().read(fields.Field(document, "Pod"))


def _as_dict(pod: pods.Pod) -> dict[str, Any]:
    """Return all of a pod; specifications are compared by identity otherwise."""
    return dataclasses.asdict(pod)


SPECS: list[dict[str, Any]] = [
    {},
    {"nodeName": "n1"},
    {"nodeSelector": {"nodeName": "x"}},
    {"nodeSelector": {"nodeName": "y"}},
    {"hostNetwork": True},
    {"overhead": {"cpu": "1"}},
    {"priority": 5},
    {"schedulerName": "other"},
    {"schedulingGates": [{"name": "g"}]},
    {"resources": {"requests": {"cpu": "3"}}},
    {"tolerations": [{"key": "a", "operator": "Exists"}]},
    {"initContainers": [{"name": "i", "resources": {"requests": {"cpu": "2"}}}]},
    {"volumes": [{"name": "v", "image": {"reference": "one"}}]},
    {"volumes": [{"name": "v", "image": {"reference": "two"}}]},
    {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
                "matchLabelKeys": ["hash"],
            }
        ]
    },
    {
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "web"}}}
                ]
            }
        }
    },
]
STATUSES: list[dict[str, Any]] = [
    {},
    {"phase": "Succeeded"},
    {"containerStatuses": [{"name": "main", "allocatedResources": {"cpu": "2"}}]},
    {"containerStatuses": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]},
    {"containerStatuses": [{"name": "main", "restartCount": 3}]},
    {"allocatedResources": {"cpu": "4"}, "resources": {"requests": {"cpu": "4"}}},
    {"conditions": [{"type": "PodResizePending", "reason": "Infeasible", "status": "True"}]},
]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(SPECS),
            st.sampled_from(STATUSES),
            st.sampled_from([{"app": "web"}, {"app": "web", "hash": "1"}, {"hash": "2"}]),
            st.booleans(),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_pods_are_read_as_on_the_read_manifest_whatever_was_read_before(
    drawn: list[tuple[dict[str, Any], dict[str, Any], dict[str, str], bool]],
) -> None:
    reader = pod_source.PodReader()
    for number, (spec, status, labels, leaving) in enumerate(drawn):
        document = copy.deepcopy(_pod(f"{number:05}", **spec))
        document["status"] |= status
        document["metadata"]["labels"] = labels
        if leaving:
            document["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z"
        result = reader.read_json(_write(document))
        assert _as_dict(result.pod) == _as_dict(_read_manifest(document))
        assert (result.uid, result.version) == (f"uid-{number:05}", "17")


def test_replicas_share_a_specification_though_their_token_differs() -> None:
    reader = pod_source.PodReader()
    first = reader.read_json(_write(_pod("abcde"))).pod
    bound = reader.read_json(_write(_pod("fghij", nodeName="n1"))).pod
    assert first.spec is bound.spec
    assert bound.node_name == "n1"
    assert reader.read_json(_write(_pod("k", priority=3))).pod.spec is not first.spec


def test_a_known_specification_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = pod_source.PodReader()
    reader.read_json(_write(_pod("abcde")))

    def refuse(_: object) -> pods.Pod:
        raise AssertionError("took the slow path")

    monkeypatch.setattr(reader, "_read", refuse)
    assert reader.read_json(_write(_pod("fghij"))).pod.name == "web-fghij"


def test_specifications_are_forgotten_before_there_are_too_many() -> None:
    reader = pod_source.PodReader(most_specs=3)
    for priority in range(10):
        assert reader.read_json(_write(_pod(priority=priority))).pod.spec.priority == priority
    assert len(reader._specs_by_text) <= 3


def test_all_that_the_read_manifest_looks_at_is_part_of_the_text() -> None:
    read_keys: set[str] = set()

    class Watched(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            read_keys.add(key)
            return super().get(key, default)

    document = _pod()
    document["spec"] = Watched(document["spec"])
    _read_manifest(document)
    known = {field.encode_name for field in msgspec.structs.fields(pod_json._PodSpec)}
    assert "containers" in read_keys
    assert read_keys <= known


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"spec": {"containers": []}}, "at least one container"),
        ({"spec": 3}, "expected a mapping"),
        ({"metadata": {"name": "p", "creationTimestamp": "noon"}}, "expected a time"),
    ],
)
def test_what_is_wrong_is_said_as_on_the_read_manifest(change: dict[str, Any], says: str) -> None:
    with pytest.raises(errors.InputError, match=says):
        pod_source.PodReader().read_json(_write(_pod() | change))


@pytest.mark.parametrize("text", [b"", b"[", b"\xff", b"{}{}"])
def test_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(errors.InputError, match="Pod: expected"):
        pod_source.PodReader().read_json(text)
    with pytest.raises(errors.InputError, match="expected an object"):
        pod_json.read_uid(text)


def test_a_time_without_a_zone_counts_as_utc() -> None:
    reader = pod_source.PodReader()
    document = _pod()
    reader.read_json(_write(document))
    document["metadata"]["creationTimestamp"] = "2026-01-31T12:00:00"
    assert reader.read_json(_write(document)).pod.created == 1769860800.0


def test_any_bytes_are_read_or_refused() -> None:
    text, rng = _write(_pod(nodeSelector={"a": "b"})), random.Random(1)
    reader = pod_source.PodReader()
    reader.read_json(text)
    for _ in range(2000):
        broken = bytearray(text)
        for _ in range(rng.randint(1, 4)):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        try:
            document = json.loads(bytes(broken))
        except ValueError:
            document = None
        try:
            result = reader.read_json(bytes(broken))
        except errors.InputError:
            continue
        if document is not None:  # skipped parts are not decoded and may be broken
            assert _as_dict(result.pod) == _as_dict(_read_manifest(document))
