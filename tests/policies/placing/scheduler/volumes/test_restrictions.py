"""VolumeRestrictions and VolumeZone, by upstream's tables.

Facts of ``volume_restrictions_test.go`` (TestGCEDiskConflicts, TestAWSDiskConflicts,
TestRBDDiskConflicts, TestISCSIDiskConflicts, TestAccessModeConflicts) and ``volume_zone_test.go``
(TestSingleZone, TestMultiZone) of v1.37.1.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubestow import testing
from tests.policies.placing.volume_scenes import ZONE, claim, nodes, place, pod, volume

BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"
BETA_REGION = "failure-domain.beta.kubernetes.io/region"
NO_DISK, NO_ZONE = "node(s) had no available disk", "node(s) had no available volume zone"


def gce(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}}


def ebs(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}}


def iscsi(name: str, read_only: bool = False) -> dict[str, Any]:
    return {"iscsi": {"targetPortal": "127.0.0.1:3260", "iqn": name, "readOnly": read_only}}


def rbd(image: str, *monitors: str, pool: str = "foo", read_only: bool = False) -> dict[str, Any]:
    source = {"monitors": list(monitors), "pool": pool, "image": image, "readOnly": read_only}
    return {"rbd": source}


@pytest.mark.parametrize(
    ("existing", "wanted", "free"),
    [
        (gce("foo"), gce("foo"), False),
        (gce("foo"), gce("bar"), True),
        (gce("foo", True), gce("foo", True), True),
        (gce("foo", True), gce("foo"), False),
        (ebs("foo"), ebs("foo"), False),
        (ebs("foo"), ebs("bar"), True),
        (ebs("foo", True), ebs("foo", True), False),  # never twice, read-only or not
        (rbd("bar", "a", "b"), rbd("bar", "a", "b"), False),
        (rbd("bar", "a", "b"), rbd("bar", "c", "d"), True),
        (rbd("bar", "a", "b"), rbd("bar", "b", "c"), False),
        (rbd("bar", "a", pool="one"), rbd("bar", "a", pool="two"), True),
        (rbd("bar", "a", read_only=True), rbd("bar", "a", read_only=True), True),
        (iscsi("iqn.2016-12.server:storage.target01"), iscsi("another"), True),
        (iscsi("one"), iscsi("one"), False),
        (iscsi("one", True), iscsi("one", True), True),
        (gce("foo"), ebs("foo"), True),
    ],
)
def test_disks_are_not_mounted_twice(
    existing: dict[str, Any], wanted: dict[str, Any], free: bool
) -> None:
    there = pod("there", on="a0", volumes=[{"name": "d", **existing}])
    coming = pod("p", volumes=[{"name": "d", **wanted}])
    placed = place(*nodes("a"), there, coming)["p"]
    assert placed.rejected() == ({} if free else {"a0": NO_DISK})


@pytest.mark.parametrize(
    ("version", "text"),
    [
        (
            "1.33",
            (
                "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod "
                "access mode"
            ),
        ),
        (
            "1.34",
            (
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access "
                "mode already in-use by another pod"
            ),
        ),
    ],
)
def test_a_claim_for_one_pod_is_used_by_one_pod(version: str, text: str) -> None:
    mine = claim("data", bound="v", accessModes=["ReadWriteOncePod"])
    objects = (*nodes("a", "b"), volume("v"), mine, pod("p1", "data"), pod("p2", "data"))
    placed = place(*objects, version=version)
    assert placed["p1"].node == "a0"
    assert placed["p2"].rejected() == {"a0": text, "b1": text}  # wherever the other pod is


@pytest.mark.parametrize(
    ("labels", "of_node", "fits"),
    [
        ({BETA_ZONE: "us-west1-a"}, {BETA_ZONE: "us-west1-a"}, True),
        ({BETA_ZONE: "us-west1-b"}, {BETA_ZONE: "us-west1-a"}, False),
        ({BETA_REGION: "us-west2"}, {BETA_ZONE: "a", BETA_REGION: "us-west1"}, False),
        ({BETA_ZONE: "us-west1-a"}, {ZONE: "us-west1-a"}, True),  # beta volume, newer node
        ({ZONE: "us-west1-a"}, {BETA_ZONE: "us-west1-a"}, False),  # not the other way round
        ({ZONE: "us-west1-c__us-west1-a"}, {ZONE: "us-west1-a"}, True),
        ({ZONE: "us-west1-c__us-west1-b"}, {ZONE: "us-west1-a"}, False),
        ({ZONE: "us-west1-c__"}, {ZONE: "us-west1-a"}, True),  # an unreadable label is ignored
        ({ZONE: "us-west1-b"}, {}, True),  # a node without any zone
    ],
)
def test_zones_of_volumes_and_nodes(
    labels: dict[str, str], of_node: dict[str, str], fits: bool
) -> None:
    bound = volume("v")
    bound["metadata"]["labels"] = labels
    node = testing.node("n", labels=of_node)
    placed = place(node, bound, claim("data", bound="v"), pod("p", "data"))["p"]
    assert placed.rejected() == ({} if fits else {"n": NO_ZONE})
