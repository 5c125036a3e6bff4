"""What placement does not model is named, by release."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow import testing
from kubestow.workflows import not_modelled
from tests.policies.placing import recorded, volume_scenes


def kinds(pod: dict[str, Any], version: str = "1.37") -> list[str]:
    cluster = recorded.build([testing.node("n1"), pod])
    found = not_modelled.find_not_modelled(cluster, ["default-scheduler"], version)
    return list(found.counts)


def test_pods_that_use_nothing_special_are_not_named() -> None:
    assert kinds(testing.pod("p")) == []
    assert kinds(testing.pod("p", on="n1", resourceClaims=[{"name": "gpu"}])) == []


@pytest.mark.parametrize(
    ("pod", "kind"),
    [
        (testing.pod("p", resourceClaims=[{"name": "gpu"}]), not_modelled.DEVICES),
        (testing.pod("p", schedulingGates=[{"name": "wait"}]), not_modelled.GATES),
        (testing.pod("p", schedulerName="other"), not_modelled.SCHEDULERS),
        (
            testing.pod("p", labels={"scheduling.x-k8s.io/pod-group": "g"}),
            not_modelled.GANGS,
        ),
        (testing.pod("p", schedulingGroup={"podGroupName": "g"}), not_modelled.GANGS),
    ],
)
def test_each_kind_is_named(pod: dict[str, Any], kind: str) -> None:
    assert kinds(pod) == [kind]


def test_fields_of_groups_are_named_in_the_releases_that_have_them() -> None:
    old = testing.pod("p", workloadRef={"name": "w", "podGroup": "g"})
    new = testing.pod("p", schedulingGroup={"podGroupName": "g"})
    found = [(bool(kinds(old, v)), bool(kinds(new, v))) for v in ("1.34", "1.35", "1.36", "1.37")]
    assert found == [(False, False), (True, False), (False, True), (False, True)]


def test_pods_are_listed_with_all_their_kinds() -> None:
    pod = volume_scenes.pod("p", "data", resourceClaims=[{"name": "gpu"}])
    claim = volume_scenes.claim("data")
    del claim["status"]  # as in a file, and its class is not in the input
    cluster = recorded.build([testing.node("n1"), pod, claim])
    found = not_modelled.find_not_modelled(cluster, ["default-scheduler"], "1.37")
    assert found.as_json() == {
        "counts": {not_modelled.DEVICES: 1, not_modelled.CLASSES: 1},
        "pods": [{"pod": "default/p", "kinds": [not_modelled.DEVICES, not_modelled.CLASSES]}],
    }
