"""Storage objects out of manifests, and what controllers do with claims nobody has stored."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubestow.model import clusters, errors, volumes
from kubestow.sources.manifests import cluster, documents, pods
from tests.policies.placing import volume_scenes as scenes


def build(*objects: Any) -> clusters.Cluster:
    return cluster.build_cluster(
        documents.Document(f"f.yaml#{i}", value) for i, value in enumerate(objects, 1)
    )


def unstored(name: str, **spec: Any) -> dict[str, Any]:
    """Return a claim as in a file: without status, perhaps without class."""
    made = scenes.claim(name, **spec)
    del made["status"]
    return made


def stateful_set(**template: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2,
            "template": {"spec": {"containers": [{"name": "c"}], **template}},
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "data"},
                    "spec": {"resources": {"requests": {"storage": "1Gi"}}},
                }
            ],
        },
    }


def test_a_stateful_set_brings_a_claim_for_every_pod() -> None:
    made = build(stateful_set())
    assert [pod.volumes for pod in made.pods] == [
        (volumes.PodVolume("data", claim="data-web-0"),),
        (volumes.PodVolume("data", claim="data-web-1"),),
    ]
    assert sorted(made.storage.claims) == ["default/data-web-0", "default/data-web-1"]
    assert made.storage.claims["default/data-web-0"].spec.request is not None


def test_a_claim_that_exists_is_kept() -> None:
    made = build(stateful_set(), scenes.volume("v"), scenes.claim("data-web-0", bound="v"))
    assert made.storage.claims["default/data-web-0"].volume == "v"
    assert made.storage.claims["default/data-web-1"].volume == ""


def test_claims_without_class_get_the_newest_default_class() -> None:
    classes = [scenes.storage_class(name) for name in ("plain", "older", "newer")]
    for number, made in enumerate(classes[1:], 1):
        made["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
        made["metadata"]["creationTimestamp"] = f"2026-01-0{number}T00:00:00Z"
    claims = build(stateful_set(), *classes).storage.claims
    assert claims["default/data-web-0"].storage_class == "newer"
    assert not claims["default/data-web-0"].unknown  # it waits for its pod


def test_a_claim_of_a_class_that_is_not_in_the_input_is_unknown() -> None:
    claims = build(unstored("a"), scenes.claim("b")).storage.claims
    assert claims["default/a"].unknown
    assert not claims["default/b"].unknown  # an API server has stored it: it is unbound


def test_claims_that_do_not_wait_are_bound_to_the_smallest_volume() -> None:
    objects = [
        scenes.storage_class(mode="Immediate", by="kubernetes.io/no-provisioner"),
        scenes.volume("large", "50Gi"),
        scenes.volume("small", "6Gi"),
        scenes.volume("tiny", "1Gi"),
        unstored("data"),
    ]
    made = build(*objects).storage
    assert made.claims["default/data"].volume == "small"
    assert made.volumes["small"].claim == volumes.ClaimReference("default", "data")
    assert not build(objects[0], unstored("data")).storage.claims["default/data"].unknown


def test_pods_of_files_get_claims_for_ephemeral_volumes_and_stored_ones_do_not() -> None:
    template = {"spec": {"storageClassName": "fast"}}
    pod = scenes.pod("p", volumes=[{"name": "t", "ephemeral": {"volumeClaimTemplate": template}}])
    assert build(pod).storage.claims["default/p-t"].owner == ("p", "")
    pod["metadata"]["uid"] = "1"
    assert not build(pod).storage.claims


def test_all_kinds_are_read() -> None:
    capacity = scenes.storage(
        "CSIStorageCapacity", "c", storageClassName="fast", nodeTopology={}, capacity="1Gi"
    )
    attached = {"attacher": "csi", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    made = build(
        scenes.csi_node("n", 7),
        scenes.storage("CSIDriver", "csi", spec={"storageCapacity": True}),
        capacity,
        scenes.storage("VolumeAttachment", "x", spec=attached),
    ).storage
    assert made.csi_nodes["n"].limits == {"csi": 7}
    assert made.drivers["csi"].tracks_capacity
    assert made.capacities[0].name == "default/c"
    assert made.attachments == (volumes.Attachment("n", "csi", "v"),)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (scenes.volume("v", "ten"), "not a quantity"),
        (scenes.storage_class(mode="Later"), "expected one of Immediate, WaitForFirstConsumer"),
        (scenes.volume("v", volumeMode="Tape"), "expected one of Filesystem, Block"),
        (scenes.csi_node("n", -1), "must be >= 0"),
    ],
)
def test_mistakes_are_named(value: dict[str, Any], text: str) -> None:
    with pytest.raises(errors.InputError, match=text):
        build(value)


def test_duplicates_are_refused() -> None:
    for made in (scenes.volume("v"), scenes.claim("c"), scenes.storage_class()):
        with pytest.raises(errors.InputError, match=f"duplicate {made['kind']}"):
            build(made, made)


def test_fast_and_slow_reading_give_the_same_volumes() -> None:
    reader = pods.PodReader()
    first = scenes.pod("web-0", "data-web-0")
    second = scenes.pod("web-1", "data-web-1")
    token = {"name": "kube-api-access-abcde", "projected": {"sources": []}}
    second["spec"]["volumes"].append(token)
    for made in (first, second):  # the second is recognised by the text of its specification
        made["metadata"]["uid"] = made["metadata"]["name"]
        fast = reader.read_json(json.dumps(made, separators=(",", ":")).encode()).pod
        (slow,) = build(made).pods
        assert fast.volumes == slow.volumes
        assert fast.uid == slow.uid
    one, two = (reader.read_json(json.dumps(made).encode()).pod for made in (first, second))
    assert one.spec is two.spec  # replicas share their specification whatever their claims
