"""What a new pod gets, worked out by hand."""

from __future__ import annotations

import pytest

from kubestow.model import limit_ranges, quantities
from kubestow.model.resources import ContainerResources
from kubestow.policies.sizing import container_policies
from kubestow.policies.sizing.vpa.actuation import admission
from kubestow.policies.sizing.vpa.actuation.policies import UpdateMode
from kubestow.policies.sizing.vpa.capping.pod_limits import PodContainer
from kubestow.policies.sizing.vpa.recommendations import VpaRecommendation


def amounts(**given: str) -> dict[str, quantities.Quantity]:
    return {name: quantities.parse(text) for name, text in given.items()}


WEB = PodContainer(
    "web",
    ContainerResources(amounts(cpu="100m", memory="100Mi"), amounts(cpu="300m", memory="100Mi")),
)
PROXY = PodContainer("proxy", ContainerResources(amounts(cpu="50m")))
TARGET = (VpaRecommendation("web", amounts(cpu="250m", memory="200Mi")),)


def written(resources: ContainerResources) -> tuple[dict[str, str], dict[str, str]]:
    return (
        {name: str(amount) for name, amount in resources.requests.items()},
        {name: str(amount) for name, amount in resources.limits.items()},
    )


@pytest.mark.parametrize("mode", ["Initial", "Recreate", "InPlaceOrRecreate", "InPlace"])
def test_requests_become_the_target_and_limits_keep_their_proportion(mode: UpdateMode) -> None:
    got = admission.admit((WEB, PROXY), TARGET, mode=mode)
    # CPU limit 300 / 100 * 250 = 750 m; memory had limit = request and keeps it so.
    assert written(got["web"]) == (
        {"cpu": "250m", "memory": "200Mi"},
        {"cpu": "750m", "memory": "200Mi"},
    )
    assert written(got["proxy"]) == ({"cpu": "50m"}, {})


def test_off_leaves_the_pod_as_it_is() -> None:
    got = admission.admit((WEB,), TARGET, mode="Off")
    assert got["web"] == WEB.resources


def test_without_a_recommendation_the_pod_stays_as_it_is() -> None:
    assert admission.admit((WEB,), None)["web"] == WEB.resources


def test_requests_only_leaves_limits_and_stays_below_them() -> None:
    policy = container_policies.ContainerPolicy("web", controlled_values="RequestsOnly")
    got = admission.admit((WEB,), TARGET, (policy,))
    # 250 m fit under the limit of 300 m, 200 MiB do not fit under 100 MiB.
    assert written(got["web"]) == (
        {"cpu": "250m", "memory": "100Mi"},
        {"cpu": "300m", "memory": "100Mi"},
    )


def test_a_limit_range_bounds_the_limit_and_so_the_request() -> None:
    item = limit_ranges.LimitRangeItem("Container", maximum=amounts(cpu="600m"))
    got = admission.admit((WEB,), TARGET, ranges=limit_ranges.combine([item]))
    # The limit is three times the request, so 600 m allow a request of 200 m.
    requests, limits = written(got["web"])
    assert requests["cpu"] == "200m"
    assert limits["cpu"] == "600m"


def test_a_default_limit_counts_as_the_limit_of_a_container_without() -> None:
    item = limit_ranges.LimitRangeItem("Container", default=amounts(cpu="200m"))
    target = (VpaRecommendation("proxy", amounts(cpu="100m")),)
    got = admission.admit((PROXY,), target, ranges=limit_ranges.combine([item]))
    # 200 m are four times the request of 50 m.
    assert written(got["proxy"]) == ({"cpu": "100m"}, {"cpu": "400m"})


def test_limits_that_do_not_fit_into_64_bits_are_cut() -> None:
    # The limit is 8e18 times the request; ten times as much does not fit.
    huge = PodContainer("web", ContainerResources(amounts(cpu="1m"), amounts(cpu="8e15")))
    target = (VpaRecommendation("web", amounts(cpu="10m")),)
    got = admission.admit((huge,), target)
    assert got["web"].limits["cpu"].milli() == 2**63 - 1
