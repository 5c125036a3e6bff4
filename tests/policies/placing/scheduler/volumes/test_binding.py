"""VolumeBinding: bound, bindable and provisionable volumes, by upstream's rules and messages.

Rules and messages: ``plugins/volumebinding`` and ``component-helpers/storage/volume`` of the
releases named (v1.29.15 to v1.37.1).
"""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.policies.placing.profiles import profile
from tests.policies.placing.volume_scenes import (
    HOST,
    WAIT,
    ZONE,
    claim,
    csi_node,
    nodes,
    place,
    pod,
    storage,
    storage_class,
    volume,
    within,
)

UNBOUND = "node(s) didn't find available persistent volumes to bind"


def test_a_pod_goes_where_its_volume_is() -> None:
    placed = place(
        *nodes("a", "b", "c"), volume("v", to="a"), claim("data", bound="v"), pod("p", "data")
    )["p"]
    text = "node(s) didn't match PersistentVolume's node affinity"
    assert placed.node == "a0"
    assert placed.rejected() == {"b1": text, "c2": text}


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("1.29", "node(s) had volume node affinity conflict"),
        ("1.32", "node(s) had volume node affinity conflict"),
        ("1.33", "node(s) didn't match PersistentVolume's node affinity"),
    ],
)
def test_the_message_changed_in_1_33(version: str, text: str) -> None:
    objects = (*nodes("a", "b"), volume("v", to="a"), claim("data", bound="v"), pod("p", "data"))
    assert place(*objects, version=version)["p"].rejected() == {"b1": text}


@pytest.mark.parametrize(
    ("made", "text"),
    [
        ([], 'persistentvolumeclaim "data" not found'),
        (
            [claim("data", bound="gone", phase="Lost")],
            'persistentvolumeclaim "data" bound to non-existent persistentvolume "gone"',
        ),
        ([claim("data", bound="gone")], 'persistentvolume "gone" not found'),
        (
            [claim("data"), storage_class(mode="Immediate")],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
        ([claim("data", storageClassName="")], "pod has unbound immediate PersistentVolumeClaims"),
        (
            [claim("data", volumeName="soon"), storage_class()],
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)
def test_unusable_claims_refuse_the_pod_before_any_node(
    made: list[dict[str, Any]], text: str
) -> None:
    placed = place(*nodes("a", "b"), *made, pod("p", "data"))["p"]
    assert placed.node is None
    assert placed.rejected() == {"a0": text, "b1": text}


def test_a_claim_that_is_being_deleted_refuses_the_pod() -> None:
    ending = claim("data", bound="v")
    ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    placed = place(*nodes("a"), volume("v"), ending, pod("p", "data"))["p"]
    assert placed.rejected() == {"a0": 'persistentvolumeclaim "data" is being deleted'}


def test_an_ephemeral_volume_waits_for_its_own_claim() -> None:
    template = {"spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}
    wanted = pod("p", volumes=[{"name": "tmp", "ephemeral": {"volumeClaimTemplate": template}}])
    wanted["metadata"]["uid"] = "one"
    placed = place(*nodes("a"), storage_class(), wanted)["p"]
    waiting = "waiting for ephemeral volume controller to create the persistentvolumeclaim"
    assert placed.rejected() == {"a0": f'{waiting} "p-tmp"'}
    old = claim("p-tmp")
    old["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "two", "controller": True}
    ]
    text = "PVC default/p-tmp was not created for pod default/p (pod is not owner)"
    assert place(*nodes("a"), storage_class(), wanted, old)["p"].rejected() == {"a0": text}
    old["metadata"]["ownerReferences"][0]["uid"] = "one"
    assert place(*nodes("a"), storage_class(), wanted, old)["p"].node == "a0"


def test_the_smallest_volume_that_suits_is_bound_and_the_next_pod_takes_another() -> None:
    objects = (
        *nodes("a", "b"),
        storage_class(by="kubernetes.io/no-provisioner"),
        volume("small", "1Gi", to="a"),
        volume("large", "50Gi", to="b"),
        volume("medium", "10Gi", to="b"),
        claim("one"),
        claim("two"),
        claim("three"),
        pod("p1", "one"),
        pod("p2", "two"),
        pod("p3", "three"),
    )
    placed = place(*objects)
    # 5 Gi do not fit in 1 Gi; the two pods take 10 Gi and 50 Gi in zone b; nothing is left.
    assert [placed[name].node for name in ("p1", "p2", "p3")] == ["b1", "b1", None]
    assert placed["p1"].rejected() == {"a0": UNBOUND}
    assert placed["p3"].rejected() == {"a0": UNBOUND, "b1": UNBOUND}


def test_several_claims_of_a_pod_take_different_volumes_the_smallest_claim_first() -> None:
    objects = (
        *nodes("a", "b"),
        storage_class(by="kubernetes.io/no-provisioner"),
        volume("a-10", "10Gi", to="a"),
        volume("b-10", "10Gi", to="b"),
        volume("b-20", "20Gi", to="b"),
        claim("big", "9Gi"),
        claim("small", "1Gi"),
        pod("p", "big", "small"),
        pod("again", "big"),
    )
    placed = place(*objects)
    assert placed["p"].node == "b1"
    # The small claim took 10 Gi and the big one 20 Gi, so only zone b has what it is bound to.
    assert placed["again"].node == "b1"


def test_a_volume_reserved_to_a_claim_is_the_only_one_for_it() -> None:
    reserved = volume("mine", "99Gi", to="b", claimRef={"namespace": "default", "name": "data"})
    objects = (
        *nodes("a", "b"),
        storage_class(by="kubernetes.io/no-provisioner"),
        volume("nearer", to="a"),
        reserved,
        claim("data"),
        pod("p", "data"),
    )
    assert place(*objects)["p"].rejected() == {"a0": UNBOUND}


@pytest.mark.parametrize(
    "change",
    [
        {"volumeMode": "Block"},
        {"accessModes": ["ReadOnlyMany"]},
        {"storageClassName": "other"},
        {"claimRef": {"namespace": "default", "name": "another", "uid": "1"}},
        {"volumeAttributesClassName": "gold"},
    ],
)
def test_volumes_that_do_not_suit_are_not_bound(change: dict[str, Any]) -> None:
    classes = storage_class(by="kubernetes.io/no-provisioner")
    objects = (*nodes("a"), classes, volume("v", **change), claim("data"), pod("p", "data"))
    assert place(*objects)["p"].rejected() == {"a0": UNBOUND}


def test_attributes_classes_count_from_1_34() -> None:
    classes = storage_class(by="kubernetes.io/no-provisioner")
    gold = volume("v", volumeAttributesClassName="gold")
    objects = (*nodes("a"), classes, gold, claim("data"), pod("p", "data"))
    assert place(*objects, version="1.33")["p"].node == "a0"
    assert place(*objects, version="1.34")["p"].node is None


def test_volumes_are_provisioned_within_allowed_topologies() -> None:
    terms = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    made = storage_class(allowedTopologies=terms)
    placed = place(*nodes("a", "b"), made, claim("data"), pod("p", "data"))["p"]
    assert placed.node == "b1"
    assert placed.rejected() == {"a0": UNBOUND}


def test_a_provisioned_volume_is_reached_by_the_labels_that_the_driver_names() -> None:
    shared = (*nodes("a", "a", "b"), storage_class(), claim("data"), pod("p1", "data"))
    second = pod("p2", "data", nodeSelector={HOST: "a1"})
    zonal = [csi_node(name) for name in ("a0", "a1", "b2")]
    # The driver runs on all nodes and names the zone: both nodes of zone a reach the volume.
    placed = place(*shared, *zonal, second)
    assert (placed["p1"].node, placed["p2"].node) == ("a0", "a1")
    # Without topology keys every node reaches it.
    anywhere = [csi_node(name, keys=()) for name in ("a0", "a1", "b2")]
    third = pod("p3", "data", nodeSelector={HOST: "b2"})
    assert place(*shared, *anywhere, third)["p3"].node == "b2"
    # A driver that is not known stays with the node for which the scheduler chose it.
    assert place(*shared, second)["p2"].node is None


def test_a_selected_node_is_the_only_one() -> None:
    chosen = claim("data")
    chosen["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "b1"}
    placed = place(*nodes("a", "b"), storage_class(), chosen, pod("p", "data"))["p"]
    assert placed.rejected() == {"a0": UNBOUND}


def capacity(name: str, zone: str, amount: str, **more: Any) -> dict[str, Any]:
    made = storage("CSIStorageCapacity", name, storageClassName="fast", capacity=amount, **more)
    made["metadata"]["namespace"] = "default"
    return {"nodeTopology": {"matchLabels": {ZONE: zone}}, **made}


def test_storage_capacity_is_compared_where_the_driver_tracks_it() -> None:
    objects = (
        *nodes("a", "b", "c", "d"),
        storage_class(),
        capacity("in-a", "a", "4Gi"),
        capacity("in-b", "b", "50Gi"),
        capacity("in-c", "c", "50Gi", maximumVolumeSize="1Gi"),
        claim("data"),
        pod("p", "data"),
    )
    text = "node(s) did not have enough free storage"
    tracked = storage("CSIDriver", "csi", spec={"storageCapacity": True})
    placed = place(*objects, tracked)["p"]
    assert placed.rejected() == {"a0": text, "c2": text, "d3": text}
    untracked = storage("CSIDriver", "csi", spec={"storageCapacity": False})
    assert len(place(*objects, untracked)["p"].feasible) == 4


def test_capacity_scores_from_1_37() -> None:
    objects = (
        *nodes("a", "b"),
        storage_class(),
        storage("CSIDriver", "csi", spec={"storageCapacity": True}),
        capacity("in-a", "a", "10Gi"),
        capacity("in-b", "b", "20Gi"),
        claim("data"),
        pod("p", "data"),
    )
    placed = place(*objects)["p"]
    # 5 of 10 Gi are 50 %, 5 of 20 Gi are 25 %; by default 0 % gives 100 points, 100 % none.
    scores = placed.as_json()["scores"]
    assert [scores[name]["VolumeBinding"] for name in ("a0", "b1")] == [50, 75]
    assert placed.node == "b1"
    older = place(*objects, version="1.36")["p"].as_json()["scores"]
    assert all("VolumeBinding" not in plugins for plugins in older.values())
    full = profile.Profile(
        volumes=profile.VolumeArgs((profile.ShapePoint(0, 0), profile.ShapePoint(100, 10)))
    )
    assert place(*objects, profile=full)["p"].node == "a0"


def test_volumes_to_bind_score_by_their_own_capacity() -> None:
    objects = (
        *nodes("a", "b"),
        storage_class(),
        volume("in-a", "10Gi", to="a"),
        volume("in-b", "40Gi", to="b"),
        claim("data"),
        pod("p", "data"),
    )
    scores = place(*objects)["p"].as_json()["scores"]
    # 5 of 10 Gi, and 5 of 40 Gi (12 %, whole percents).
    assert [scores[name]["VolumeBinding"] for name in ("a0", "b1")] == [50, 88]


def test_in_tree_volumes_follow_the_labels_of_the_driver_that_replaced_the_plugin() -> None:
    old = volume("v", awsElasticBlockStore={"volumeID": "vol-1"})
    del old["spec"]["csi"]
    old["metadata"]["labels"] = {ZONE: "a"}
    cluster = nodes("a", "b")
    for node in cluster:
        zone = node["metadata"]["labels"][ZONE]
        node["metadata"]["labels"]["topology.ebs.csi.aws.com/zone"] = zone
    migrated = csi_node("b1")
    migrated["metadata"]["annotations"] = {
        "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"
    }
    placed = place(*cluster, migrated, old, claim("data", bound="v"), pod("p", "data"))["p"]
    assert placed.rejected() == {"b1": "node(s) didn't match PersistentVolume's node affinity"}


def test_a_volume_of_a_claim_that_is_missing_rejects_every_node_for_ephemeral_volumes() -> None:
    template = {"spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]}}
    wanted = pod("p", volumes=[{"name": "tmp", "ephemeral": {"volumeClaimTemplate": template}}])
    owned = claim("p-tmp", bound="gone")
    owned["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "", "controller": True}
    ]
    text = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
    assert place(*nodes("a"), owned, wanted)["p"].rejected() == {"a0": text}


def test_affinities_with_several_terms_and_labels() -> None:
    either = within(ZONE, "a")
    either["required"]["nodeSelectorTerms"] += within(HOST, "c2")["required"]["nodeSelectorTerms"]
    objects = (
        *nodes("a", "b", "c"),
        volume("v", nodeAffinity=either),
        claim("data", bound="v"),
        pod("p", "data"),
    )
    assert list(place(*objects)["p"].rejected()) == ["b1"]


def test_a_mode_of_binding_is_what_makes_a_claim_wait() -> None:
    assert place(*nodes("a"), storage_class(mode=WAIT), claim("d"), pod("p", "d"))["p"].node == "a0"
