"""What a cluster says of its workloads."""

from __future__ import annotations

from typing import Any

import pytest

from kubestow.live.workloads import inventory
from kubestow.model import errors, quantities
from kubestow.model.keys import ContainerKey, WorkloadKey
from kubestow.model.limit_ranges import PodBounds

WEB = WorkloadKey("shop", "Deployment", "web")


def _owner(kind: str, name: str) -> list[dict[str, Any]]:
    return [{"kind": kind, "name": name, "controller": True}]


def _pod(name: str, owner: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    cpu = more.pop("cpu", "100m")
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    metadata = {
        "name": name,
        "namespace": "shop",
        "labels": {"app": "web"},
        "ownerReferences": owner,
        "creationTimestamp": more.pop("created", "2026-01-01T00:00:00Z"),
    }
    spec = {"containers": [container], **more.pop("spec", {})}
    return {"metadata": metadata, "spec": spec, "status": more.pop("status", {})}


def _assemble(*pods: dict[str, Any], **more: Any) -> inventory.ClusterInventory:
    owners = {
        "ReplicaSet": [
            {
                "metadata": {
                    "name": "web-1",
                    "namespace": "shop",
                    "ownerReferences": _owner("Deployment", "web"),
                }
            }
        ],
        "Job": [
            {
                "metadata": {
                    "name": "nightly-29000000",
                    "namespace": "shop",
                    "ownerReferences": _owner("CronJob", "nightly"),
                }
            }
        ],
    }
    return inventory.assemble(
        pods, owners, more.get("hpas", ()), more.get("nodes", ()), more.get("bounds", {})
    )


@pytest.mark.parametrize(
    ("owner", "expected"),
    [
        (_owner("ReplicaSet", "web-1"), ("Deployment", "web")),
        (_owner("ReplicaSet", "bare"), ("ReplicaSet", "bare")),
        (_owner("Job", "nightly-29000000"), ("CronJob", "nightly")),
        (_owner("Job", "gone-29000001"), ("CronJob", "gone")),
        (_owner("Job", "once"), ("Job", "once")),
        (_owner("StatefulSet", "db"), ("StatefulSet", "db")),
        (_owner("Node", "n1"), ("Pod", "p")),
        ([], ("Pod", "p")),
        ([{"kind": "ReplicaSet", "name": "web-1"}], ("Pod", "p")),
    ],
    ids=["deployment", "replica set", "cron job", "its trace", "job", "stateful", "static", "bare",
         "not its controller"],
)  # fmt: skip
def test_pods_are_traced_to_their_workloads(
    owner: list[dict[str, Any]], expected: tuple[str, str]
) -> None:
    result = _assemble(_pod("p", owner))
    assert result.workloads["shop", "p"] == WorkloadKey("shop", *expected)


def test_of_several_pods_the_newest_counts_and_ended_ones_do_not() -> None:
    owner = _owner("ReplicaSet", "web-1")
    result = _assemble(
        _pod("new", owner, cpu="200m", created="2026-01-02T00:00:00Z"),
        _pod("old", owner, cpu="100m", created="2026-01-01T00:00:00Z"),
        _pod("done", owner, cpu="900m", created="2026-01-03T00:00:00Z", status={"phase": "Failed"}),
    )
    facts = result.inventory.containers[ContainerKey(*WEB, "c")]
    assert facts.requests == {"cpu": quantities.parse("200m")}
    assert result.inventory.replicas == {WEB: 2}
    assert result.inventory.labels == {WEB: {"app": "web"}}


def test_sidecars_count_and_init_containers_do_not() -> None:
    more = [
        {"name": "mesh", "image": "m", "restartPolicy": "Always"},
        {"name": "setup", "image": "s"},
    ]
    result = _assemble(_pod("p", _owner("ReplicaSet", "web-1"), spec={"initContainers": more}))
    assert {key.container for key in result.inventory.containers} == {"mesh", "c"}


def test_kills_are_counted_by_container() -> None:
    killed = {"name": "c", "lastState": {"terminated": {"reason": "OOMKilled"}}, "state": {}}
    owner = _owner("ReplicaSet", "web-1")
    status = {"containerStatuses": [killed]}
    result = _assemble(_pod("a", owner, status=status), _pod("b", owner, status=status))
    assert result.kills == {ContainerKey(*WEB, "c"): 2}


def test_schedulable_nodes_and_targets_of_autoscalers_are_known() -> None:
    nodes = [
        {"metadata": {"name": "n"}, "spec": {}, "status": {"allocatable": {"cpu": "4"}}},
        {"metadata": {"name": "off"}, "spec": {"unschedulable": True}, "status": {}},
    ]
    target = {"type": "Utilization", "averageUtilization": 60}
    metrics = [
        {"type": "Resource", "resource": {"name": "cpu", "target": target}},
        {"type": "Resource", "resource": {"name": "memory", "target": {"averageValue": "1Gi"}}},
        {"type": "External", "external": {}},
    ]
    reference = {"kind": "Deployment", "name": "web"}
    hpa = {
        "metadata": {"namespace": "shop"},
        "spec": {"scaleTargetRef": reference, "metrics": metrics},
    }
    result = _assemble(nodes=nodes, hpas=[hpa])
    assert result.inventory.nodes == {"n": {"cpu": quantities.parse("4")}}
    assert result.inventory.autoscaled == {WEB: {"cpu": 60}}


def test_what_namespaces_allow_is_handed_on() -> None:
    bounds = {"shop": PodBounds(quota={"requests.cpu": 5})}
    assert _assemble(bounds=bounds).bounds == bounds


def test_every_kind_that_can_be_changed_has_a_place() -> None:
    assert inventory.workload_path(WEB) == "/apis/apps/v1/namespaces/shop/deployments/web"
    pod = WorkloadKey("shop", "Pod", "p")
    assert inventory.workload_path(pod) == "/api/v1/namespaces/shop/pods/p/resize"
    with pytest.raises(errors.InputError, match="Job: change it at its source"):
        inventory.workload_path(WorkloadKey("shop", "Job", "once"))
