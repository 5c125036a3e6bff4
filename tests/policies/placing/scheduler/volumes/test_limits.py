"""NodeVolumeLimits: CSINode limits, volumes counted once, attachments, missing drivers."""

from __future__ import annotations

from typing import Any

from tests.policies.placing.volume_scenes import (
    claim,
    csi_node,
    nodes,
    place,
    pod,
    storage,
    storage_class,
    volume,
)

FULL = "node(s) exceed max volume count"


def bound(*names: str) -> list[dict[str, Any]]:
    """Return claims with volumes of the same names."""
    return [made for name in names for made in (volume(name), claim(name, bound=name))]


def test_a_node_takes_as_many_volumes_as_its_driver_allows() -> None:
    objects = (
        *nodes("a", "b"),
        csi_node("a0", 1),
        csi_node("b1", 2),
        *bound("v1", "v2", "v3", "v4"),
        pod("there", "v1", on="a0"),
        pod("p2", "v2"),
        pod("p3", "v3"),
        pod("p4", "v4"),
    )
    placed = place(*objects)
    assert [placed[name].node for name in ("p2", "p3", "p4")] == ["b1", "b1", None]
    assert placed["p2"].rejected() == {"a0": FULL}
    assert placed["p4"].rejected() == {"a0": FULL, "b1": FULL}


def test_a_volume_that_is_there_already_does_not_count_again() -> None:
    objects = (
        *nodes("a"),
        csi_node("a0", 1),
        *bound("v1"),
        pod("there", "v1", on="a0"),
        pod("p", "v1"),
    )
    assert place(*objects)["p"].node == "a0"


def test_unbound_claims_count_by_their_class() -> None:
    objects = (
        *nodes("a"),
        csi_node("a0", 1),
        storage_class(),
        claim("one"),
        claim("two"),
        pod("p1", "one"),
        pod("p2", "two"),
        pod("p3", "one"),
    )
    placed = place(*objects)
    # The claim keeps its place in the count once its volume is provisioned.
    assert [placed[name].node for name in ("p1", "p2", "p3")] == ["a0", None, "a0"]


def test_attachments_count_from_1_32() -> None:
    attached = storage(
        "VolumeAttachment",
        "left",
        spec={"attacher": "csi", "nodeName": "a0", "source": {"persistentVolumeName": "v1"}},
    )
    objects = (*nodes("a"), csi_node("a0", 1), *bound("v1", "v2"), attached, pod("p", "v2"))
    assert place(*objects, version="1.31")["p"].node == "a0"
    assert place(*objects, version="1.32")["p"].rejected() == {"a0": FULL}


def test_limits_in_allocatable_resources_count_up_to_1_31() -> None:
    (node,) = nodes("a")
    node["status"]["allocatable"]["attachable-volumes-csi-csi"] = "0"
    objects = (node, *bound("v1"), pod("p", "v1"))
    assert place(*objects, version="1.31")["p"].rejected() == {"a0": FULL}
    assert place(*objects, version="1.32")["p"].node == "a0"


def test_nodes_without_a_driver_that_must_run_are_rejected_from_1_37() -> None:
    driver = storage("CSIDriver", "csi", spec={"preventPodSchedulingIfMissing": True})
    objects = (*nodes("a", "b"), csi_node("a0"), driver, *bound("v1"), pod("p", "v1"))
    text = "csi CSI driver is not installed on the node"
    assert place(*objects)["p"].rejected() == {"b1": text}
    assert place(*objects, version="1.36")["p"].rejected() == {}


def test_inline_disks_of_replaced_plugins_count() -> None:
    driver = {"name": "ebs.csi.aws.com", "nodeID": "a0", "allocatable": {"count": 1}}
    full = storage("CSINode", "a0", spec={"drivers": [driver]})
    disks = [
        {"name": f"d{number}", "awsElasticBlockStore": {"volumeID": f"vol-{number}"}}
        for number in range(2)
    ]
    wanted = (pod("one", volumes=disks[:1]), pod("two", volumes=disks))
    placed = place(*nodes("a"), full, *wanted)
    assert placed["one"].node == "a0"
    assert placed["two"].node is None
