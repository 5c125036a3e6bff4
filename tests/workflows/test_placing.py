"""Placing a cluster: assignments of the compiled kernel equal the placements with scores."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from kubestow import testing
from kubestow.model import errors
from kubestow.policies.placing import profiles
from kubestow.sources import manifests
from kubestow.workflows import placing


def cluster(seed: int, pods: int = 90, nodes: int = 12) -> manifests.Document:
    rng = random.Random(seed)
    objects = [
        testing.node(f"n{i:02}", cpu=str(rng.choice((2, 4, 8))), labels={"disk": rng.choice("ab")})
        for i in range(nodes)
    ]
    for i in range(pods):
        more: dict[str, Any] = {"nodeSelector": {"disk": "a"}} if rng.random() < 0.3 else {}
        objects.append(testing.pod(f"p{i:02}", cpu=f"{rng.randrange(100, 1500)}m", **more))
    return manifests.Document("made up", {"kind": "List", "items": objects})


@pytest.mark.parametrize("name", ["kube-scheduler", "most-allocated", "vector-dot"])
@pytest.mark.parametrize("seed", range(3))
def test_assignments_are_the_nodes_that_place_chooses(name: str, seed: int) -> None:
    built = manifests.build_cluster(manifests.unfold_document(cluster(seed)))
    profile = profiles.make_profile(name)
    expected = [(one.pod.key, one.node) for one in placing.place(built, (profile,))]
    result = [(pod.key, node) for pod, node in placing.assign(built, profile)]
    assert result == expected
    assert any(node is None for _, node in result)


def test_pods_of_another_scheduler_are_left_alone() -> None:
    objects = [testing.node(), testing.pod("ours"), testing.pod("theirs", schedulerName="other")]
    document = manifests.Document("made up", {"kind": "List", "items": objects})
    built = manifests.build_cluster(manifests.unfold_document(document))
    result = placing.assign(built, profiles.make_profile(placing.STOCK))
    assert [(pod.name, node) for pod, node in result] == [("ours", "n1")]


def test_size_counts_pods_times_nodes() -> None:
    document = manifests.Document("made up", {"kind": "List", "items": [testing.node()]})
    assert not placing.is_large(manifests.build_cluster(manifests.unfold_document(document)))


def test_a_configuration_is_one_document(tmp_path: Path) -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    path = tmp_path / "config.yaml"
    path.write_text(f"{text}---\n{text}")
    with pytest.raises(errors.InputError, match="2 documents; expected one configuration"):
        placing.read_profiles(str(path))
