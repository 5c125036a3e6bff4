"""QoS classes and cgroup values, with the formulas of Schubert 2023, 1.4.1."""

from __future__ import annotations

import pytest

from kubestow.model import pods
from kubestow.model.requests import QosClass, qos_class
from kubestow.simulation.world import cgroups
from tests.model.make import amounts, container, pod


def limited(requests: dict[str, str], limits: dict[str, str]) -> pods.Container:
    return pods.Container("c", requests=amounts(**requests), limits=amounts(**limits))


EQUAL = limited({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"})


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        ((EQUAL,), QosClass.GUARANTEED),
        ((EQUAL, EQUAL), QosClass.GUARANTEED),
        ((EQUAL, container("x")), QosClass.BURSTABLE),
        (
            (limited({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "2Gi"}),),
            QosClass.BURSTABLE,
        ),
        ((limited({"cpu": "1"}, {"cpu": "1"}),), QosClass.BURSTABLE),
        ((container("a", cpu="1"),), QosClass.BURSTABLE),
        ((container("a"),), QosClass.BEST_EFFORT),
        ((container("a", cpu="0"),), QosClass.BEST_EFFORT),
    ],
)
def test_the_class_follows_from_requests_and_limits(
    containers: tuple[pods.Container, ...], expected: QosClass
) -> None:
    assert qos_class(pods.PodSpec(containers)) is expected


def test_the_thesis_example_pod_is_burstable() -> None:
    example = limited({"cpu": "500m", "memory": "128Mi"}, {"cpu": "700m", "memory": "256Mi"})
    assert qos_class(pods.PodSpec((example,))) is QosClass.BURSTABLE


def test_pod_level_values_decide_alone() -> None:
    both = amounts(cpu="1", memory="1Gi")
    spec = pods.PodSpec((container("a"),), pod_requests=both, pod_limits=both)
    assert qos_class(spec) is QosClass.GUARANTEED


def test_settings_of_a_guaranteed_container() -> None:
    # quota (1.14): 1000 m / 10 = 100 ms of 100 ms; weight 1 + (1024 - 2) * 9999 / 262142 = 39
    result = cgroups.container_settings(EQUAL, pods.PodSpec((EQUAL,)))
    assert result == cgroups.CgroupSettings(0, None, 2**30, 39, 100_000)


def test_memory_qos_protects_the_request_and_slows_before_the_limit() -> None:
    # high = 1Gi + 0.9 * (3Gi - 1Gi) = 2.8Gi, in whole pages
    burstable = limited({"memory": "1Gi"}, {"memory": "3Gi"})
    result = cgroups.container_settings(burstable, pods.PodSpec((burstable,)), memory_qos=True)
    assert result.memory_min_bytes == 2**30
    assert result.memory_high_bytes == int(2.8 * 2**30) // 4096 * 4096
    guaranteed = cgroups.container_settings(EQUAL, pods.PodSpec((EQUAL,)), memory_qos=True)
    assert guaranteed.memory_high_bytes is None


def test_without_a_limit_the_node_is_the_ceiling_of_memory_high() -> None:
    open_ended = container("a", memory="1Gi")
    spec = pods.PodSpec((open_ended,))
    result = cgroups.container_settings(
        open_ended, spec, memory_qos=True, node_memory_bytes=11 * 2**30
    )
    assert result.memory_high_bytes == 10 * 2**30
    assert result.memory_max_bytes is None
    assert result.cpu_quota_us is None


def test_settings_of_a_pod_are_sums() -> None:
    # (1.16) 2Gi, (1.18) 200 ms, weight of 2000 m: 1 + (2048 - 2) * 9999 / 262142 = 79
    result = cgroups.pod_settings(pod(EQUAL, EQUAL), memory_qos=True)
    assert result == cgroups.CgroupSettings(2 * 2**30, None, 2 * 2**30, 79, 200_000)


def test_a_pod_is_unlimited_if_one_container_is() -> None:
    result = cgroups.pod_settings(pod(EQUAL, container("x", cpu="1")))
    assert result.memory_max_bytes is None
    assert result.cpu_quota_us is None


def test_a_tiny_limit_gets_the_least_quota_the_kernel_takes() -> None:
    tiny = limited({"cpu": "1m"}, {"cpu": "1m"})
    result = cgroups.container_settings(tiny, pods.PodSpec((tiny,)))
    assert result.cpu_quota_us == 1000


def test_the_share_of_a_busy_node_follows_the_requests() -> None:
    assert cgroups.cpu_share(500, 2000) == 0.25  # (1.13)
    assert cgroups.cpu_share(0, 0) == 0.0
