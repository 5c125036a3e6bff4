"""Effective requests; each case shows its arithmetic."""

from __future__ import annotations

from dataclasses import replace

from kubestow.model import pods, requests
from kubestow.model.quantities import parse
from tests.model.make import amounts, container, pod


def sidecar(name: str, **wanted: str) -> pods.Container:
    return replace(container(name, **wanted), sidecar=True)


def test_the_larger_of_containers_and_init_containers_counts() -> None:
    # containers 1 + 2 = 3 cores, 3Gi; init containers peak at 4 cores, 1Gi
    result = requests.pod_requests(
        pod(
            container("a", cpu="1", memory="1Gi"),
            container("b", cpu="2", memory="2Gi"),
            init_containers=(container("i", cpu="4", memory="1Gi"),),
        )
    )
    assert result == {"cpu": parse("4"), "memory": parse("3Gi")}


def test_sidecars_count_for_good_and_for_every_later_init_container() -> None:
    # running: 1 + 2 = 3; while i1 starts: 5; while i2 starts: 2 (sidecar) + 4 = 6
    result = requests.pod_requests(
        pod(
            container("a", cpu="1"),
            init_containers=(
                container("i1", cpu="5"),
                sidecar("s", cpu="2"),
                container("i2", cpu="4"),
            ),
        )
    )
    assert result["cpu"] == parse("6")


def test_overhead_comes_on_top_and_pod_level_values_replace_sums() -> None:
    # containers 1 core; pod level says 3; overhead 250m
    made = pod(
        container(cpu="1", memory="1Gi"),
        overhead=amounts(cpu="250m"),
        pod_requests=amounts(cpu="3"),
    )
    assert requests.pod_requests(made) == {"cpu": parse("3250m"), "memory": parse("1Gi")}
    without = requests.RequestRules(pod_level=False)
    assert requests.pod_requests(made, without)["cpu"] == parse("1250m")


def test_a_container_that_states_nothing_is_assumed_to_need_a_little() -> None:
    # 100m and 200Mi for the second one; an explicit zero stays zero
    taken = requests.occupancy(
        pod(container("a", cpu="0", memory="1Gi"), container("b")),
        use_status=True,
        pod_level=True,
    )
    assert taken.amounts == {"cpu": 0, "memory": 2**30}
    assert taken.nonzero_cpu_m == 100
    assert taken.nonzero_memory_bytes == 2**30 + 200 * 2**20


def test_pod_level_values_leave_room_for_assumptions_only_where_nothing_is_said() -> None:
    # CPU is given for the pod, memory nowhere: only memory is assumed
    taken = requests.occupancy(
        pod(container(), pod_requests=amounts(cpu="2")), use_status=True, pod_level=True
    )
    assert taken.nonzero_cpu_m == 2000
    assert taken.nonzero_memory_bytes == 200 * 2**20


def resized(*statuses: pods.ContainerStatus, infeasible: bool = False) -> pods.Pod:
    made = pod(container("a", cpu="1"))
    return replace(made, status=pods.PodStatus(containers=statuses, resize_infeasible=infeasible))


def test_a_resize_under_way_counts_with_the_largest_value() -> None:
    status = pods.ContainerStatus("a", allocated=amounts(cpu="2"), actuated=amounts(cpu="3"))
    rules = requests.RequestRules(use_status=True)
    assert requests.pod_requests(resized(status), rules)["cpu"] == parse("3")
    assert requests.pod_requests(resized(status))["cpu"] == parse("1")


def test_an_infeasible_resize_does_not_count() -> None:
    status = pods.ContainerStatus("a", allocated=amounts(cpu="500m"))
    rules = requests.RequestRules(use_status=True)
    result = requests.pod_requests(resized(status, infeasible=True), rules)
    assert result["cpu"] == parse("500m")


def test_what_the_node_reports_for_the_whole_pod_counts() -> None:
    made = pod(container("a", cpu="1"), pod_requests=amounts(cpu="1"))
    made = replace(
        made, status=pods.PodStatus(allocated=amounts(cpu="2"), actuated=amounts(cpu="4"))
    )
    rules = requests.RequestRules(use_status=True)
    assert requests.pod_requests(made, rules)["cpu"] == parse("4")


def test_overhead_is_added_to_limits_that_are_set() -> None:
    limited = pods.Container("a", limits=amounts(memory="1Gi"))
    made = pod(limited, overhead=amounts(memory="100Mi", cpu="1"))
    assert requests.pod_limits(made) == {"memory": parse("1124Mi")}
