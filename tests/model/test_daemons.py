"""Where DaemonSet pods run, and how each is bound to its node."""

from __future__ import annotations

import dataclasses

import pytest

from kubestow.model import clusters, daemons, states, taints
from kubestow.policies.placing import catalogs, schedulers, versions
from tests.model import make

SPEC = make.pod().spec


@pytest.mark.parametrize(
    ("key", "effect", "expected"),
    [
        ("node.kubernetes.io/memory-pressure", taints.NO_SCHEDULE, True),
        ("node.kubernetes.io/disk-pressure", taints.NO_SCHEDULE, True),
        ("node.kubernetes.io/unschedulable", taints.NO_SCHEDULE, True),
        (taints.UNREACHABLE, taints.NO_EXECUTE, True),
        (taints.UNREACHABLE, taints.NO_SCHEDULE, False),
        (taints.NOT_READY, taints.NO_EXECUTE, True),
        ("dedicated", taints.NO_SCHEDULE, False),
        ("dedicated", taints.NO_EXECUTE, False),
        ("dedicated", "PreferNoSchedule", True),
    ],
)
def test_daemons_bear_what_their_controller_lets_them_bear(
    key: str, effect: str, expected: bool
) -> None:
    node = dataclasses.replace(make.node("n", cpu="1"), taints=(taints.Taint(key, effect=effect),))
    assert daemons.runs_on(SPEC, node) is expected


def test_own_tolerations_and_selectors_count() -> None:
    tainted = dataclasses.replace(make.node("n", cpu="1"), taints=(taints.Taint("dedicated"),))
    bearing = make.pod(tolerations=(taints.Toleration("dedicated", "Exists", "", ""),)).spec
    assert daemons.runs_on(bearing, tainted)
    picky = make.pod(node_selector={"gpu": "yes"}).spec
    assert not daemons.runs_on(picky, make.node("n", cpu="1"))
    assert daemons.runs_on(picky, make.node("n", {"gpu": "yes"}, cpu="1"))


def test_a_cordon_does_not_keep_them_away() -> None:
    cordoned = dataclasses.replace(make.node("a", cpu="1"), unschedulable=True)
    assert daemons.runs_on(SPEC, cordoned)


def test_a_pinned_pod_fits_on_its_own_node_only() -> None:
    cordoned = dataclasses.replace(make.node("a", cpu="1"), unschedulable=True)
    state = states.from_cluster(clusters.Cluster(nodes=(cordoned, make.node("b", cpu="1"))))
    scheduler = schedulers.Scheduler(catalogs.profile("kube-scheduler"), versions.features("1.37"))
    pod = dataclasses.replace(make.pod(), spec=daemons.pinned(SPEC, "a"))
    assert scheduler.place(pod, state).node == "a"
