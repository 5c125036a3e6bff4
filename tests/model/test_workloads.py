"""Where DaemonSet pods run, and how each is bound to its node."""

from __future__ import annotations

import dataclasses

import pytest

from kubestow.model import clusters, nodes, states, workloads
from kubestow.policies.placing.profiles import catalog, versions
from kubestow.policies.placing.scheduler import scheduler as scheduler_scheduler
from tests.model import make

SPEC = make.pod().spec


@pytest.mark.parametrize(
    ("key", "effect", "expected"),
    [
        ("node.kubernetes.io/memory-pressure", nodes.NO_SCHEDULE, True),
        ("node.kubernetes.io/disk-pressure", nodes.NO_SCHEDULE, True),
        ("node.kubernetes.io/unschedulable", nodes.NO_SCHEDULE, True),
        (nodes.UNREACHABLE, nodes.NO_EXECUTE, True),
        (nodes.UNREACHABLE, nodes.NO_SCHEDULE, False),
        (nodes.NOT_READY, nodes.NO_EXECUTE, True),
        ("dedicated", nodes.NO_SCHEDULE, False),
        ("dedicated", nodes.NO_EXECUTE, False),
        ("dedicated", "PreferNoSchedule", True),
    ],
)
def test_daemons_bear_what_their_controller_lets_them_bear(
    key: str, effect: str, expected: bool
) -> None:
    node = dataclasses.replace(make.node("n", cpu="1"), taints=(nodes.Taint(key, effect=effect),))
    assert workloads.runs_on(SPEC, node) is expected


def test_own_tolerations_and_selectors_count() -> None:
    tainted = dataclasses.replace(make.node("n", cpu="1"), taints=(nodes.Taint("dedicated"),))
    bearing = make.pod(tolerations=(nodes.Toleration("dedicated", "Exists", "", ""),)).spec
    assert workloads.runs_on(bearing, tainted)
    picky = make.pod(node_selector={"gpu": "yes"}).spec
    assert not workloads.runs_on(picky, make.node("n", cpu="1"))
    assert workloads.runs_on(picky, make.node("n", {"gpu": "yes"}, cpu="1"))


def test_a_cordon_does_not_keep_them_away() -> None:
    cordoned = dataclasses.replace(make.node("a", cpu="1"), unschedulable=True)
    assert workloads.runs_on(SPEC, cordoned)


def test_a_pinned_pod_fits_on_its_own_node_only() -> None:
    cordoned = dataclasses.replace(make.node("a", cpu="1"), unschedulable=True)
    state = states.from_cluster(clusters.Cluster(nodes=(cordoned, make.node("b", cpu="1"))))
    scheduler = scheduler_scheduler.Scheduler(
        catalog.make_profile("kube-scheduler"), versions.scheduler_features("1.37")
    )
    pod = dataclasses.replace(make.pod(), spec=workloads.pinned(SPEC, "a"))
    assert scheduler.place(pod, state).node == "a"
