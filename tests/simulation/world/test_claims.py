"""Volumes in the simulator: zones, hosts, limits, and which pods find theirs again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubestow.model import errors
from kubestow.simulation.world import actors, lifecycle
from tests.simulation import make

CLASSES = [
    {"name": "zonal"},
    {"name": "local", "reach": "host"},
    {"name": "shared", "reach": "anywhere"},
    {"name": "now", "binding": "Immediate"},
    {"name": "only-b", "zones": ["b"]},
]


def scenario(
    kind: str, *, pods: int = 1, workload: str = "StatefulSet", limit: int | None = None
) -> dict[str, Any]:
    """Return four nodes in two zones, n-0 and n-2 in a, and pods with a volume of a class."""
    volume = {"name": "data", "storageClass": kind, "size": "1Gi"}
    template = make.pods(cpu="1", startup=0, volumes=[volume])
    pool: dict[str, Any] = {"name": "n", "count": 4, "allocatable": make.NODE, "zones": ["a", "b"]}
    if limit is not None:
        pool["volumeLimit"] = limit
    made = make.document(
        make.workload("db", kind=workload, replicas=pods, pod=template), nodes=[pool]
    )
    made["spec"]["cluster"]["storageClasses"] = CLASSES
    return made


def places_after_failures(kind: str, workload: str = "StatefulSet") -> list[str]:
    """Return where a pod is placed when its node is cordoned and it is replaced, three times."""
    play = make.start(scenario(kind, workload=workload)).until(30)
    found = []
    for number in range(1, 4):
        (live,) = play.workload("db").staying()
        assert live.node is not None
        found.append(live.node.name)
        cordon(play, live.node)
        lifecycle.stop_pod(play.world, live, "moved")
        play.until(30 + 30 * number)
    return found


def cordon(play: make.Play, live: actors.LiveNode) -> None:
    play.world.change_node(live, replace(live.node, unschedulable=True))


def zone(node: str) -> str:
    return "a" if int(node[-1]) % 2 == 0 else "b"


@pytest.mark.parametrize("kind", ["zonal", "now"])
def test_a_stateful_pod_stays_in_the_zone_of_its_volume(kind: str) -> None:
    play = make.start(scenario(kind)).until(30)
    first = play.pod("db-0").node
    assert first is not None
    cordon(play, first)
    lifecycle.stop_pod(play.world, play.pod("db-0"), "moved")
    second = play.until(60).pod("db-0").node
    assert second is not None
    assert second is not first
    assert zone(second.name) == zone(first.name)


def test_a_local_volume_keeps_its_pod_on_the_node() -> None:
    play = make.start(scenario("local")).until(30)
    first = play.pod("db-0").node
    assert first is not None
    lifecycle.stop_pod(play.world, play.pod("db-0"), "moved")
    assert play.until(60).pod("db-0").node is first
    cordon(play, first)
    lifecycle.stop_pod(play.world, play.pod("db-0"), "moved")
    assert play.until(90).pod("db-0").node is None  # nowhere else to go


def test_a_pod_of_a_deployment_gets_a_new_volume() -> None:
    found = places_after_failures("zonal", "Deployment")
    assert {zone(node) for node in found} == {"a", "b"}


def test_a_volume_reached_from_anywhere_restricts_nothing() -> None:
    assert {zone(node) for node in places_after_failures("shared")} == {"a", "b"}


def test_volumes_are_provisioned_in_allowed_zones() -> None:
    play = make.start(scenario("only-b", pods=4)).until(120)
    found = [pod.node for pod in play.workload("db").staying()]
    assert [zone(node.name) for node in found if node is not None] == ["b"] * 4


def test_a_node_takes_no_more_volumes_than_its_limit() -> None:
    play = make.start(scenario("zonal", pods=6, workload="Deployment", limit=1)).until(60)
    assert list(play.phases("db").values()).count("ready") == 4
    assert play.times("unschedulable")
    free = make.start(scenario("local", pods=6, workload="Deployment", limit=1)).until(60)
    assert list(free.phases("db").values()).count("ready") == 6  # local volumes are not attached


def test_an_unknown_class_is_refused_with_its_place() -> None:
    with pytest.raises(errors.InputError, match=r"volumes\[0\].storageClass: 'tape': expected one"):
        make.load(scenario("tape"))
