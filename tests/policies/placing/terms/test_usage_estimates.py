"""What a pod is expected to use."""

from __future__ import annotations

from kubestow.model import pods
from kubestow.policies.placing.terms import usage_estimates
from tests.model.make import amounts, container, pod

MIB = 1024 * 1024


def test_a_pod_uses_what_it_requests() -> None:
    assert usage_estimates.estimate_usage(pod(container(cpu="250m", memory="1Gi"))) == {
        "cpu": 250,
        "memory": 1024 * MIB,
    }


def test_a_container_without_requests_uses_a_core_and_200_mib() -> None:
    two = pod(container("a", cpu="250m", memory="1Gi"), container("b"))
    assert usage_estimates.estimate_usage(two) == {"cpu": 1250, "memory": 1224 * MIB}


def test_a_limit_stands_for_a_request() -> None:
    limited = pod(pods.Container("c", limits=amounts(cpu="300m")))
    assert usage_estimates.estimate_usage(limited) == {"cpu": 300, "memory": 200 * MIB}


def test_requests_of_the_whole_pod_and_overhead_count() -> None:
    whole = pod(container(), pod_requests=amounts(cpu="2"), overhead=amounts(cpu="100m"))
    assert usage_estimates.estimate_usage(whole)["cpu"] == 2100
    plain = pod(container(cpu="1"), overhead=amounts(cpu="100m"))
    assert usage_estimates.estimate_usage(plain)["cpu"] == 1100


def test_a_recommendation_counts_instead_of_the_request() -> None:
    sized = usage_estimates.estimate_usage(pod(container(cpu="1", memory="100Mi")), {"cpu": 120})
    assert sized == {"cpu": 120, "memory": 100 * MIB}
